package strip

import (
	"crypto/sha256"
	"encoding/binary"
	"image"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestMergeIsOneAccount cuts random frames anywhere and holds the merged account against a single
// one.
func TestMergeIsOneAccount(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		n := rng.IntN(30)
		readings, changed, lost := make([]Reading, n), make([]bool, n), make([]bool, n)
		id := 0
		for i := range n {
			id = max(0, id+rng.IntN(4)-1)
			switch rng.IntN(8) {
			case 0:
				readings[i] = reading(-1, -1, -1, -1, -1)
			case 1:
				readings[i] = reading(id+1, id+1, id, id, -1)
			case 2:
				readings[i] = all(id)
				readings[i].Copies[4].Code.Free = 2 << 8
			default:
				readings[i] = all(id)
			}
			changed[i], lost[i] = rng.IntN(3) > 0, rng.IntN(5) == 0
		}
		single, merged := NewAccount(1), NewAccount(1)
		for at := 0; at < n || at == 0; {
			end := min(n, at+rng.IntN(8))
			part := NewAccount(1)
			for i := at; i < end; i++ {
				if lost[i] {
					single.Missing()
					part.Missing()
				}
				single.Add(i, changed[i], readings[i])
				part.Add(i, changed[i], readings[i])
			}
			before := part.Close(nil)
			merged.Merge(part)
			if after := part.Close(nil); !reflect.DeepEqual(before, after) {
				t.Fatalf("merging changed a part: %+v, was %+v", after, before)
			}
			if at = end; n == 0 {
				break
			}
		}
		drawn := []uint32{0, 1, 2, 3}
		if got, want := merged.Close(drawn), single.Close(drawn); !reflect.DeepEqual(got, want) {
			t.Fatalf("merged %+v\nsingle %+v", got, want)
		}
	}
}

// TestOverTheWrap tells a story twice, once with ids that begin a little before the greatest: apart
// from the ids the summaries are the same.
func TestOverTheWrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	crossed := 0
	for range 1000 {
		shift := uint32(Modulus - 1 - rng.IntN(30))
		moved := func(id uint32) uint32 { return (id + shift) % Modulus }
		plain, wrapped := NewAccount(1), NewAccount(1)
		id := 10
		for n := range 5 + rng.IntN(30) {
			var ids []int
			switch id = max(5, id+rng.IntN(5)-1); rng.IntN(4) {
			case 0:
				ids = []int{id + 1, id + 1, id, id, -1}
			case 1:
				ids = []int{id - 2, id - 2, id, id, id + 1}
			default:
				ids = []int{id, id, id, id, id}
			}
			r, changed := reading(ids...), rng.IntN(3) > 0
			plain.Add(n, changed, r)
			r.Copies = append([]Copy(nil), r.Copies...)
			for i := range r.Copies {
				if r.Copies[i].OK {
					r.Copies[i].Code.ID = moved(r.Copies[i].Code.ID)
				}
			}
			r.Code.ID = moved(r.Code.ID)
			wrapped.Add(n, changed, r)
		}
		drawn := []uint32{4, 6, 10, 11, 12}
		want := plain.Close(drawn)
		for i := range drawn {
			drawn[i] = moved(drawn[i])
		}
		got := wrapped.Close(drawn)
		back := func(list []uint32) {
			for i := range list {
				list[i] = (list[i] - shift) % Modulus
			}
			slices.Sort(list)
		}
		for i := range got.Sightings {
			if id := &got.Sightings[i].ID; i > 0 && got.Sightings[0].ID < *id-Modulus/2 && *id > Modulus/2 {
				crossed++
			}
			got.Sightings[i].ID = (got.Sightings[i].ID - shift) % Modulus
		}
		slices.SortFunc(got.Sightings, func(a, b Sighting) int { return int(a.ID) - int(b.ID) })
		for i := range got.Disagree {
			got.Disagree[i].ID = (got.Disagree[i].ID - shift) % Modulus
		}
		back(got.Runts)
		back(got.Unseen)
		back(got.Undrawn)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("from id %d on: %+v\nwant %+v", shift, got, want)
		}
	}
	if crossed < 100 {
		t.Errorf("only %d ids beyond the wrap", crossed)
	}
}

func TestMergeIsBounded(t *testing.T) {
	a, b := NewAccount(1), NewAccount(1)
	for n := range maxListed {
		a.Add(n, false, all(maxListed-n))
		b.Add(maxListed+n, false, all(2*maxListed-n))
	}
	a.Merge(b)
	if s := a.Close(nil); len(s.Sightings) != maxListed || len(s.OutOfOrder) != maxListed ||
		len(s.Disagree) != maxListed || !s.Truncated {
		t.Errorf("%d sightings, %d out of order, %d disagree, truncated %v", len(s.Sightings), len(s.OutOfOrder),
			len(s.Disagree), s.Truncated)
	}
}

// TestMarkerCode holds the code against one that is put together bit by bit.
func TestMarkerCode(t *testing.T) {
	sum := sha256.Sum256([]byte("ABC"))
	all := binary.BigEndian.Uint64(sum[:8])
	want := Code{ID: uint32(all >> 40), Clock: uint32(all >> 16 & 0xffffff), Free: 0x0702}
	got := MarkerCode("ABC", 7, Red)
	if got != want || got.ID != 0xb5d404 || got.Page() != 7 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, tc := range []struct {
		nonce string
		m     Marker
		want  bool
	}{{"ABC", Red, true}, {"ABC", Green, false}, {"ABD", Red, false}} {
		if got.IsMarker(tc.nonce, tc.m) != tc.want {
			t.Errorf("%q %v: not %v", tc.nonce, tc.m, tc.want)
		}
	}
}

func TestDrawCopy(t *testing.T) {
	l := layout(t, frame.NV12, 1280, 720)
	img := l.View(grey(l, 90))
	want := MarkerCode("run", 3, Green)
	analyzetest.Check(t, DrawCopy(img, image.Rectangle{}, 0, want))
	d := decoder(t, l, image.Rectangle{})
	if r := d.Read(img); r.State != Partial || r.Code != want || !r.Copies[0].OK || r.Copies[1].OK {
		t.Errorf("read %+v", r)
	}
	if c := d.ReadCopy(img, 0); !c.OK || c.Code != want {
		t.Errorf("read %+v", c)
	}
	if err := DrawCopy(img, image.Rectangle{}, Copies, want); err == nil {
		t.Error("a copy was drawn that there is not")
	}
}

// FuzzFind gives a finder, and a decoder placed by it, whatever bytes there are.
func FuzzFind(f *testing.F) {
	l := layout(f, frame.GREY, 200, 20)
	good := grey(l, 0)
	analyzetest.Check(f, Draw(l.View(good), image.Rect(4, 2, 198, 19), Code{ID: 3}))
	f.Add(good, 200)
	f.Add(good[:1003], 100)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, pix []byte, rowBytes int) {
		var rows [][]byte // whatever their number and length
		for len(pix) > 0 {
			n := min(len(pix), max(1, rowBytes))
			rows = append(rows, pix[:n])
			pix = pix[n:]
		}
		img := frame.Image{Layout: l, Rows: rows}
		finder := analyzetest.Must(NewFinder(l))(t)
		lines := finder.Find(img)
		if placed, err := NewPlaced(l, lines); err == nil {
			placed.Read(img)
		}
	})
}
