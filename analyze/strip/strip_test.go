package strip

import (
	"encoding/json"
	"errors"
	"image"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

func layout(t testing.TB, p frame.PixelFormat, w, h int) *frame.Layout {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, w, h))(t)
	l := analyzetest.Must(frame.NewLayout(f))(t)
	return l
}

// grey returns a frame full of one byte value.
func grey(l *frame.Layout, v byte) []byte {
	pix := make([]byte, l.Size)
	for i := range pix {
		pix[i] = v
	}
	return pix
}

func decoder(t testing.TB, l *frame.Layout, r image.Rectangle) *Decoder {
	t.Helper()
	d := analyzetest.Must(NewDecoder(l, r))(t)
	return d
}

func draw(t testing.TB, img frame.Image, c Code) {
	t.Helper()
	analyzetest.Check(t, Draw(img, image.Rectangle{}, c))
}

// TestCRC holds the CRC against the check value of CRC-16/CCITT-FALSE for "123456789" less its last
// digit.
func TestCRC(t *testing.T) {
	// Independent: one bit at a time over the text.
	slow := func(s string) uint16 {
		crc := uint32(0xffff)
		for _, c := range []byte(s) {
			for i := 7; i >= 0; i-- {
				top := crc>>15&1 ^ uint32(c)>>i&1
				crc = crc << 1 & 0xffff
				if top != 0 {
					crc ^= 0x1021
				}
			}
		}
		return uint16(crc)
	}
	if got := slow("123456789"); got != 0x29b1 {
		t.Fatalf("the slow CRC itself gives %#x for the check text", got)
	}
	if got, want := crc16(0x3132333435363738), slow("12345678"); got != want {
		t.Errorf("crc %#x, want %#x", got, want)
	}
}

func TestEncodeDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		want := Code{ID: rng.Uint32() % Modulus, Clock: rng.Uint32() % Modulus, Free: uint16(rng.Uint32())}
		b := encode(want)
		if got, ok := decode(b); !ok || got != want {
			t.Fatalf("got %+v %v, want %+v", got, ok, want)
		}
		for i := range Cells { // any one wrong cell is noticed
			f := b
			if f.cell(i) {
				if i < 64 {
					f.hi &^= 1 << (63 - i)
				} else {
					f.lo &^= 1 << (95 - i)
				}
			} else {
				f.set(i)
			}
			if _, ok := decode(f); ok {
				t.Fatalf("cell %d flipped and nobody noticed", i)
			}
		}
	}
}

func TestReadsWhatWasDrawn(t *testing.T) {
	want := Code{ID: 0xabcdef, Clock: 1234567, Free: 3<<8 | 5}
	for _, p := range frame.PixelFormats() {
		for _, size := range []image.Point{{1280, 720}, {1920, 1080}, {192, 10}, {640, 360}, {800, 600}} {
			t.Run(p.String()+"/"+size.String(), func(t *testing.T) {
				l := layout(t, p, size.X, size.Y)
				img := l.View(grey(l, 100))
				draw(t, img, want)
				r := decoder(t, l, image.Rectangle{}).Read(img)
				if r.State != Whole || r.Code != want {
					t.Errorf("read %+v, want %+v", r, want)
				}
			})
		}
	}
}

func TestReadsInARegion(t *testing.T) {
	l := layout(t, frame.BGR3, 1000, 500)
	img := l.View(grey(l, 0))
	region := image.Rect(31, 77, 931, 500)
	want := Code{ID: 7, Free: 256}
	analyzetest.Check(t, Draw(img, region, want))
	if r := decoder(t, l, region).Read(img); r.State != Whole || r.Code != want {
		t.Errorf("read %+v", r)
	}
	if r := decoder(t, l, image.Rectangle{}).Read(img); r.State != None {
		t.Errorf("read %+v where there is no strip", r)
	}
}

func TestSurvivesRangeAndNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, tc := range []struct {
		name       string
		passes     int // through a range compression
		noise      int
		wantUnread bool
	}{
		{"full", 0, 0, false}, {"limited", 1, 0, false}, {"twice limited", 2, 0, false},
		{"noise", 0, 6, false}, {"twice limited, noise", 2, 6, false}, {"twice limited, strong noise", 2, 40, false},
		{"no contrast left", 10, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := layout(t, frame.BGR4, 1280, 720)
			pix := grey(l, 128)
			draw(t, l.View(pix), Code{ID: 99})
			for i, v := range pix {
				x := int(v)
				for range tc.passes {
					x = 16 + x*219/255
				}
				if tc.noise > 0 {
					x += rng.IntN(2*tc.noise+1) - tc.noise
				}
				pix[i] = byte(min(255, max(0, x)))
			}
			r := decoder(t, l, image.Rectangle{}).Read(l.View(pix))
			if tc.wantUnread != (r.State == None) || !tc.wantUnread && (r.State != Whole || r.Code.ID != 99) {
				t.Errorf("read %+v", r)
			}
		})
	}
}

func TestStates(t *testing.T) {
	l := layout(t, frame.BGR4, 1280, 720)
	d := decoder(t, l, image.Rectangle{})
	half := func(upper, lower []byte, row int) frame.Image {
		pix := append([]byte(nil), upper...)
		copy(pix[row*l.Format.Stride:], lower[row*l.Format.Stride:])
		return l.View(pix)
	}
	blank, one, two := grey(l, 60), grey(l, 60), grey(l, 60)
	draw(t, l.View(one), Code{ID: 1})
	draw(t, l.View(two), Code{ID: 2})
	for _, tc := range []struct {
		name  string
		img   frame.Image
		state State
		id    uint32
		good  int
	}{
		{"no strip", l.View(blank), None, 0, 0},
		{"whole", l.View(one), Whole, 1, 5},
		{"tear in the middle", half(two, one, 300), Torn, 2, 5},
		{"tear in the last copy", half(two, one, 719), Whole, 2, 5},
		{"strip only above", half(one, blank, 300), Partial, 1, 2},
		{"strip only below", half(blank, one, 300), Partial, 1, 3},
		{"no rows", frame.Image{Layout: l}, None, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := d.Read(tc.img)
			good := 0
			for _, c := range r.Copies {
				if c.OK {
					good++
				}
			}
			if r.State != tc.state || r.Code.ID != tc.id || good != tc.good {
				t.Errorf("read %v, id %d, %d copies, want %+v", r.State, r.Code.ID, good, tc)
			}
		})
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	l := layout(t, frame.BGR4, 1280, 720)
	img := l.View(grey(l, 0))
	draw(t, img, Code{ID: 5})
	d := decoder(t, l, image.Rectangle{})
	if a := testing.AllocsPerRun(50, func() { d.Read(img) }); a != 0 {
		t.Errorf("%v allocations a frame", a)
	}
}

func TestRefusesWhatCannotBe(t *testing.T) {
	l := layout(t, frame.BGR4, 1280, 720)
	for _, tc := range []struct {
		name   string
		region image.Rectangle
		small  bool
	}{
		{"too narrow", image.Rect(0, 0, 191, 100), true},
		{"too low", image.Rect(0, 0, 1280, 39), true},
		{"outside", image.Rect(1000, 0, 1281, 720), false},
		{"negative", image.Rect(-1, 0, 1280, 720), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := NewDecoder(l, tc.region); err == nil || errors.Is(err, errTooSmall) != tc.small {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestGeometryTouchesBothEdges(t *testing.T) {
	for _, r := range []image.Rectangle{image.Rect(0, 0, 1280, 720), image.Rect(3, 5, 1369, 773),
		image.Rect(0, 0, 192, 10)} {
		g := analyzetest.Must(NewGeometry(r))(t)
		b := g.Bounds()
		if b[0].Min.Y != r.Min.Y || b[Copies-1].Max.Y != r.Max.Y {
			t.Errorf("%v: first copy %v, last %v", r, b[0], b[Copies-1])
		}
		for i, c := range b {
			if !c.In(r) || i > 0 && c.Overlaps(b[i-1]) {
				t.Errorf("%v: copy %d lies at %v", r, i, c)
			}
		}
	}
}

func TestSpecIsJSON(t *testing.T) {
	var s spec
	analyzetest.Check(t, json.Unmarshal(Spec(), &s))
	if s.Cells != 96 || s.Lead != "10110010" || s.Tail != "01001101" ||
		len(s.Lead)+s.IDBits+s.ClockBits+s.FreeBits+s.CRCBits+len(s.Tail) != s.Cells {
		t.Errorf("spec %+v", s)
	}
}

// reading makes a reading whose copies say these ids; -1 for a copy that cannot be read.
func reading(ids ...int) Reading {
	r := Reading{}
	good := 0
	for _, id := range ids {
		c := Copy{OK: id >= 0}
		if c.OK {
			c.Code = Code{ID: uint32(id), Free: 1 << 8}
			if good == 0 {
				r.Code, r.State = c.Code, Partial
			} else if c.Code != r.Code {
				r.State = Torn
			}
			good++
		}
		r.Copies = append(r.Copies, c)
	}
	if good == len(ids) && r.State == Partial {
		r.State = Whole
	}
	return r
}

func all(id int) Reading { return reading(id, id, id, id, id) }

func TestAccount(t *testing.T) {
	a := NewAccount(1)
	foreign := all(9)
	foreign.Copies[0].Code.Free = 2 << 8
	frames := []struct {
		changed bool
		r       Reading
	}{
		0: {true, all(0)},
		1: {false, all(0)},                 // repeated
		2: {true, all(2)},                  // 1 never shown
		3: {true, reading(3, 3, 2, 2, 2)},  // torn; 3 is a runt, for next comes
		4: {true, all(4)},                  //
		5: {true, all(2)},                  // out of order
		6: {true, reading(5, 5, -1, 5, 5)}, // partial
		7: {true, reading(-1, -1, -1, -1, -1)},
		8: {true, foreign},
		9: {true, all(5)}, // pixels changed, id did not
	}
	for n, f := range frames {
		a.Add(n, f.changed, f.r)
	}
	got := a.Close([]uint32{0, 1, 2, 3, 4, 6})
	got.Sightings = nil
	want := Summary{
		Page: 1, Frames: 10, Changed: 9, Whole: 7, Partial: 1, Torn: 1, Unreadable: 1, Foreign: 1,
		Repeated: 2, Unsure: 1, Distinct: 5, Drawn: 6, Runts: []uint32{3}, Unseen: []uint32{1, 6}, Undrawn: []uint32{5},
		OutOfOrder: []int{5}, Disagree: []Disagreement{{Frame: 9, Changed: true, ID: 5}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAccountIsBounded(t *testing.T) {
	a := NewAccount(1)
	for n := range maxListed + 50 {
		a.Add(n, true, all(n))
	}
	if s := a.Close(nil); s.Distinct != maxListed || !s.Truncated || s.Unseen == nil {
		t.Errorf("%d distinct, truncated %v", s.Distinct, s.Truncated)
	}
}

func FuzzRead(f *testing.F) {
	l := layout(f, frame.GREY, 192, 20)
	good := grey(l, 0)
	draw(f, l.View(good), Code{ID: 3})
	f.Add(good, 192)
	f.Add(good[:1000], 100)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, pix []byte, rowBytes int) {
		var rows [][]byte // whatever their number and length
		for len(pix) > 0 {
			n := min(len(pix), max(1, rowBytes))
			rows = append(rows, pix[:n])
			pix = pix[n:]
		}
		r := decoder(t, l, image.Rectangle{}).Read(frame.Image{Layout: l, Rows: rows})
		a := NewAccount(0)
		a.Add(0, true, r)
		if s := a.Close(nil); s.Frames != 1 {
			t.Error("a frame was not counted")
		}
	})
}
