package analyze_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/checkerboard"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// bereft is a film of boxes drawn over each other, and the same film with lost frames. Each has its
// window.
type bereft struct {
	full, cut   *filmtest.Film
	whole, left measure.Window
}

// newBereft loses frames anywhere between g and r: content, frames beside it, and frames before a
// half-drawn red.
func newBereft(t testing.TB, seed uint64) *bereft {
	rng := rand.New(rand.NewPCG(seed, 77))
	const width, height = 48, 24
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, width, height))(t)
	b := &bereft{full: filmtest.New(t, f), cut: filmtest.New(t, f)}
	b.full.Period = time.Second / time.Duration(5+rng.IntN(8))
	b.cut.Period = b.full.Period
	n := 30 + rng.IntN(30)
	s := 1 + rng.IntN(2)
	r := n - 3
	e := r - 1 - rng.IntN(3) // the others are torn
	atStart, atEnd, lossy := rng.IntN(4)*rng.IntN(2), rng.IntN(4)*rng.IntN(2), rng.Float64()*0.1
	canvas := make([]byte, b.full.Layout.Size)
	busy, lost := rng.Float64(), 0
	var kept []int
	for i := range n {
		switch {
		case i > e:
			filmtest.Fill(canvas[:len(canvas)*min(r-e, i-e)/(r-e)], 211)
		case i == s, i > s && rng.Float64() < busy:
			for range 1 + rng.IntN(3) {
				x, y := rng.IntN(width), rng.IntN(height)
				w, h, v := 1+rng.IntN(width-x), 1+rng.IntN(height-y), byte(rng.IntN(4)*80)
				for k := y; k < y+h; k++ {
					filmtest.Fill(canvas[4*(k*width+x):4*(k*width+x+w)], v)
				}
			}
		}
		b.full.Shoot(canvas, 0)
		if i > s && i < e && rng.Float64() < lossy || i >= s && i < s+atStart || i < e && i >= e-atEnd/2 || i > e &&
			i < r && rng.IntN(4) == 0 || atEnd == 3 && i == e {
			lost++
			continue
		}
		b.cut.Shoot(canvas, lost)
		kept, lost = append(kept, i), 0
	}
	number := func(i int) int { // of the first one left from i on
		k := 0
		for kept[k] < i {
			k++
		}
		return k
	}
	b.whole = measure.Window{Kind: measure.ByMarkers, Green: s - 1, Start: s, End: e, Red: r, T0: &measure.Moment{}}
	b.left = measure.Window{Kind: measure.ByMarkers, Green: number(s) - 1, Start: number(s), End: number(e+1) - 1,
		Red: number(r),
		T0:  &measure.Moment{}}
	return b
}

// TestBoundsHoldTheTruth measures films of which frames are lost. What the complete film says lies
// within the bounds.
func TestBoundsHoldTheTruth(t *testing.T) {
	looked, compared := 0, map[string]int{}
	for seed := range analyzetest.Seeds(uint64(200)) {
		b := newBereft(t, seed)
		if len(b.cut.Metas) == len(b.full.Metas) || b.left.Start > b.left.End {
			continue
		}
		looked++
		o := analyze.Options{Measures: []string{"fps", "loadhist", "heatmap", "tearing", "checkerboard", "speedindex",
			"windowopen"}, Load: load.Options{Variants: []string{"pixel"}},
			Checkerboard: checkerboard.Options{Colours: []uint32{0x505050}}}
		truth := analyzetest.Must(analyze.Analyze(t.Context(), b.full, b.whole, o))(t)
		said := analyzetest.Must(analyze.Analyze(t.Context(), b.cut, b.left, o))(t)
		for i, r := range said.Results {
			compared[r.Measure] += len(r.Values)
			for _, v := range r.Values {
				if v.Name == "frames" {
					continue // stored ones
				}
				if want, ok := truth.Results[i].Find(v.Name); ok {
					filmtest.WantHeld(t, fmt.Sprintf("seed %d: %s %s", seed, r.Measure, v.Name), v, want.Value)
				}
			}
		}
	}
	if looked < int(analyzetest.Seeds(uint64(200)))/2 {
		t.Errorf("only %d films have lost frames", looked)
	}
	for name, values := range compared {
		if values < looked {
			t.Errorf("%s has %d values in %d films", name, values, looked)
		}
	}
}
