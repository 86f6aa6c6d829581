package rowdelta

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// deltaSeeds are real deltas of two layouts.
func deltaSeeds(t testing.TB) (seeds [][]byte) {
	t.Helper()
	for _, l := range fuzzLayouts(t) {
		rng := rand.New(rand.NewPCG(7, 7))
		e := NewEncoder(l)
		var d Delta
		var prev []byte
		cur := make([]byte, l.Size)
		for range 12 {
			e.Encode(prev, cur, &d, 0)
			seeds = append(seeds, d.Append(nil))
			prev, cur = cur, nextFrame(rng, l, cur)
		}
	}
	return seeds
}

func fuzzLayouts(t testing.TB) (all []*frame.Layout) {
	t.Helper()
	for _, p := range []frame.PixelFormat{frame.BGR4, frame.YU12} {
		f, err := frame.NewFormat(p, 66, 20)
		if err != nil {
			t.Fatal(err)
		}
		l, err := frame.NewLayout(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

func TestFuzzDeltaHasSeeds(t *testing.T) {
	if n := len(deltaSeeds(t)); n < 20 {
		t.Errorf("%d seeds", n)
	}
}

func FuzzDelta(f *testing.F) {
	for _, seed := range deltaSeeds(f) {
		f.Add(seed)
	}
	layouts := fuzzLayouts(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, l := range layouts {
			checkParse(t, l, src)
		}
	})
}

// checkParse expects a delta to be refused, or to be sound in every use.
func checkParse(t *testing.T, l *frame.Layout, src []byte) {
	var d, again Delta
	if d.Parse(src, l) != nil {
		return
	}
	wire := d.Append(nil)
	if err := again.Parse(wire, l); err != nil {
		t.Fatalf("what was parsed is not a delta when written again: %v", err)
	}
	if !bytes.Equal(again.Append(nil), wire) || again.Raw != d.Raw {
		t.Fatal("parse and append do not settle")
	}
	if len(d.Runs) > len(l.Rows) || len(d.Spans) > 2*MaxSpans*len(l.Rows) {
		t.Fatalf("%d runs and %d spans for %d rows", len(d.Runs), len(d.Spans), len(l.Rows))
	}
	raw := 0
	pix := make([]byte, l.Size)
	for _, b := range body(l, &d, pix) {
		raw += len(b)
	}
	if raw != d.Raw {
		t.Fatalf("blocks of %d bytes, want %d", raw, d.Raw)
	}
	var c frame.Change
	d.Change(&c)
	places := NewPlaces(l)
	places.Apply(&d, 0)
	places.Apply(&d, 1)
	for y := range l.Rows {
		checkPlace(t, places.Row(y), int32(l.Rows[y].Bytes))
	}
}

func checkPlace(t *testing.T, p *Place, length int32) {
	for i, q := range p.Pieces[:p.N] {
		end := length
		if i+1 < int(p.N) {
			end = p.Pieces[i+1].Start
		}
		if i == 0 && q.Start != 0 || end <= q.Start || q.Off < 0 {
			t.Fatalf("place %+v of a row of %d bytes", p, length)
		}
	}
}
