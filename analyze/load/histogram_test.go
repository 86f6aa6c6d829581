package load_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

func TestLoadHistogramLiteral(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.BGR3, frame.YUYV, frame.NV12, frame.P010, frame.YU12}
	for seed := range analyzetest.Seeds(uint64(60)) {
		rng := rand.New(rand.NewPCG(seed, 4))
		m := filmtest.Scribble(t, rng, formats[seed%uint64(len(formats))])
		o := filmtest.RandomLook(rng, m.Layout)
		w := measure.FramesWindow(m, rng.IntN(4), 24-rng.IntN(4))
		t.Run(fmt.Sprintf("%d/%v", seed, m.Layout.Format.Pixel), func(t *testing.T) {
			area := analyzetest.Must(measure.NewArea(m.Layout, o.Region, o.Masks))(t)
			r := filmtest.One(t, m, w, o, "loadhist")
			pixels := r.Series[1]
			for n := w.Start; n <= w.End; n++ {
				i, exact := slices.BinarySearch(pixels.Frames, n)
				if !exact {
					i--
				}
				if want := m.LiteralEqual(area, n, w.End, o.Tolerance); pixels.Values[i] != float64(want) {
					t.Fatalf("H of frame %d is %v, want %d", n, pixels.Values[i], want)
				}
			}
		})
	}
}

// TestLoadHistogramLost: half of the picture is what it will be, from the start; frames are lost at
// three places. Behind e there may be another fe, of which nobody knows how much was there.
func TestLoadHistogramLost(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 32)
	for _, tc := range []struct {
		name      string
		before    int // the stored frame that frames are lost before
		low, high float64
		state     measure.State
	}{
		{"nowhere", measure.None, 0.5, 0.5, measure.Exact},
		{"before s", 2, 0.5, 0.5, measure.Bounded},
		{"inside", 4, 0.5, 0.5, measure.Bounded},
		{"before a torn red", 8, 0, 1, measure.Bounded},
		{"before r", 9, 0, 1, measure.Bounded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			pix := make([]byte, m.Layout.Size)
			for n := range 12 {
				switch {
				case n == 2:
					filmtest.Fill(pix[:len(pix)/2], 100)
				case n == 8:
					filmtest.Fill(pix[:len(pix)/4], 211)
				case n == 9:
					filmtest.Fill(pix, 211)
				}
				lost := 0
				if n == tc.before {
					lost = 3
				}
				m.Shoot(pix, lost)
			}
			r := filmtest.One(t, m, measure.Window{Kind: measure.ByMarkers, Green: 1, Start: 2, End: 7, Red: 9},
				analyze.Options{},
				"loadhist")
			if v, _ := r.Find("equal_at_start"); v.Value != 0.5 || v.Low != tc.low || v.High != tc.high {
				t.Errorf("equal at the start is %v, %v to %v, want 0.5, %v to %v", v.Value, v.Low, v.High, tc.low,
					tc.high)
			}
			if r.State != tc.state || (len(r.Warnings) > 0) != (tc.state != measure.Exact) {
				t.Errorf("it is %s, and warns %q; want %s", r.State, r.Warnings, tc.state)
			}
		})
	}
}
