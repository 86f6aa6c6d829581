package load_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// lossyPair is a random film between two markers, and the same one without some of its frames; with
// their windows.
func lossyPair(t *testing.T, rng *rand.Rand) (full, cut *filmtest.Film, whole, holed measure.Window) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 32)
	full, cut = filmtest.New(t, f), filmtest.New(t, f)
	full.Period, cut.Period = time.Second/10, time.Second/10
	n := 20 + rng.IntN(20)
	end := n - 4 // the red
	canvas := make([]byte, full.Layout.Size)
	busy, losing := rng.Float64(), rng.Float64()/4
	loseStart, loseEnd := rng.IntN(3) == 0, rng.IntN(3) == 0
	var kept []int
	lost := 0
	for i := range n {
		if i == end {
			for k := range canvas {
				canvas[k] = 211
			}
		}
		if i == 1 || i > 1 && i < end && rng.Float64() < busy {
			for range 1 + rng.IntN(3) {
				x, y := rng.IntN(64), rng.IntN(32)
				w, h := 1+rng.IntN(64-x), 1+rng.IntN(32-y)
				colour := byte(rng.IntN(4) * 80)
				for line := y; line < y+h; line++ {
					for k := 4 * (64*line + x); k < 4*(64*line+x+w); k++ {
						canvas[k] = colour
					}
				}
			}
		}
		full.Shoot(canvas, 0)
		inside := i > 1 && i < end-1 && rng.Float64() < losing
		if inside || loseStart && (i == 1 || i == 2) || loseEnd && i >= end-2 && i <= end {
			lost++
			continue
		}
		cut.Shoot(canvas, lost)
		lost, kept = 0, append(kept, i)
	}
	at := func(i int) int {
		for k, x := range kept {
			if x >= i {
				return k
			}
		}
		panic("no frame is left")
	}
	whole = measure.Window{Kind: measure.ByMarkers, Green: 0, Start: 1, End: end - 1, Red: end}
	holed = measure.Window{Kind: measure.ByMarkers, Green: 0, Start: at(1), End: at(end) - 1, Red: at(end)}
	return full, cut, whole, holed
}

// TestLoadBoundsHoldTheTruth measures random films, and the same ones without some of their frames.
// The values of the first must be within the bounds of the second.
func TestLoadBoundsHoldTheTruth(t *testing.T) {
	told := 0
	for seed := range analyzetest.Seeds(uint64(100)) {
		rng := rand.New(rand.NewPCG(seed, 51))
		full, cut, whole, holed := lossyPair(t, rng)
		if rng.IntN(2) == 0 {
			t0 := &measure.Moment{At: timeline.Time(-rng.Int64N(1e9))}
			whole.T0, holed.T0 = t0, t0
		}
		o := analyze.Options{Load: load.Options{Variants: load.AllVariants()[:4]}}
		if seed%10 == 0 {
			o.Load.Variants = load.AllVariants() // script is slow
		}
		if len(cut.Metas) == len(full.Metas) {
			continue
		}
		truth, said := filmtest.One(t, full, whole, o, "speedindex"), filmtest.One(t, cut, holed, o, "speedindex")
		filmtest.HoldsTruth(t, seed, said, truth)
		if said.State == measure.Exact && said.Refusal == "" {
			t.Errorf("seed %d: frames are lost and all is exact", seed)
		}
		told += len(said.Values)
	}
	if told == 0 {
		t.Error("nothing was told")
	}
}

// TestLoadWithoutLossIsExact: with exact stamps and no losses, values are exact.
func TestLoadWithoutLossIsExact(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(10)) {
		full, _, whole, _ := lossyPair(t, rand.New(rand.NewPCG(seed, 52)))
		if seed%2 == 0 {
			whole.T0 = &measure.Moment{}
		}
		o := analyze.Options{Load: load.Options{Variants: load.AllVariants()}}
		if r := filmtest.One(t, full, whole, o, "speedindex"); r.State != measure.Exact {
			t.Errorf("seed %d: %+v", seed, r)
		}
	}
}

// TestLostChange holds bounds against a case worked by hand: at 10 frames a second, two halves of
// the picture come with frames 3 and 6; frames 4 and 5 are lost in the second case, and frame 8 in
// the third.
func TestLostChange(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 32)
	for _, tc := range []struct {
		name                               string
		lost                               []int
		indexLow, indexHigh                float64
		firstLow, lastLow, lastHigh        float64
		completeLow, completeHigh, crossed float64
	}{
		{"nothing", nil, 450, 450, 300, 600, 600, 600, 600, 600},
		// Half of the picture is there from 300 on; from 400 to 600 anything may be.
		{"before the last change", []int{4, 5}, 350, 550, 300, 400, 600, 400, 600, 400},
		{"after it", []int{8}, 450, 550, 300, 600, 900, 600, 900, 600},
		{"before the first", []int{1}, 350, 450, 100, 600, 600, 600, 600, 100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			m.Period = time.Second / 10
			pix := make([]byte, m.Layout.Size)
			lost := 0
			for i := range 12 {
				for k := range pix {
					half := k >= len(pix)/2
					if i >= 3 && !half || i >= 6 {
						pix[k] = 200
					}
				}
				skip := false
				for _, n := range tc.lost {
					skip = skip || n == i
				}
				if skip {
					lost++
					continue
				}
				m.Shoot(pix, lost)
				lost = 0
			}
			w := measure.FramesWindow(m, 0, len(m.Metas))
			w.T0 = &measure.Moment{}
			r := filmtest.One(t, m, w, analyze.Options{Load: load.Options{Variants: []string{"pixel"}}}, "speedindex")
			want := func(name string, low, high float64) {
				t.Helper()
				if v, _ := r.Find(name); v.Low != low || v.High != high {
					t.Errorf("%s is %v, between %v and %v, want between %v and %v", name, v.Value, v.Low, v.High, low,
						high)
				}
			}
			want("pixel.speed_index", tc.indexLow, tc.indexHigh)
			want("first_visual_change", tc.firstLow, 300)
			want("last_visual_change", tc.lastLow, tc.lastHigh)
			want("pixel.complete_100", tc.completeLow, tc.completeHigh)
			want("pixel.crossed_100", tc.crossed, 600)
		})
	}
}

// TestNoiseIsNoChange: a difference of at most τ is not a visual change, and does not affect the
// histogram.
func TestNoiseIsNoChange(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 32)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for i := range 30 {
		v := byte(10 + i%2)
		if i >= 12 {
			v += 90
		}
		if i >= 20 {
			v += 90
		}
		for k := range pix {
			pix[k] = v
		}
		m.Shoot(pix, 0)
	}
	for _, command := range []*measure.Moment{{}, nil} {
		w := measure.FramesWindow(m, 0, 30)
		w.T0 = command
		r := filmtest.One(t, m, w, analyze.Options{Tolerance: 8}, "speedindex")
		prefix, zero := "", 0
		if command == nil {
			prefix, zero = "from_first_change.", 12
		}
		at := func(n int) float64 { return measure.MS(time.Duration(n-zero) * m.Period) }
		filmtest.WantValue(t, r, prefix+"first_visual_change", at(12))
		filmtest.WantValue(t, r, prefix+"last_visual_change", at(20))
		filmtest.WantValue(t, r, prefix+"pixel.complete_100", at(20))
		filmtest.WantValue(t, r, prefix+"pixel.speed_index", at(20))
		if _, ok := r.Find(prefix + "histogram.speed_index"); ok {
			t.Error("a histogram of noise came unasked")
		}
		r = filmtest.One(t, m, w, analyze.Options{Tolerance: 8, Load: load.Options{Variants: []string{"histogram"}}},
			"speedindex")
		if _, ok := r.Find(prefix + "histogram.speed_index"); !ok {
			t.Errorf("a histogram was asked for: %+v", r)
		}
	}
}

// TestScriptTimes: of a file the script cuts each time to whole milliseconds before it takes their
// difference.
func TestScriptTimes(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 128, 96)
	for _, tc := range []struct {
		name  string
		own   bool
		times []timeline.Time // ns
		want  float64
	}{
		{"a file on its beat", true, []timeline.Time{16_683_333, 33_366_667, 50_050_000}, 34},
		{"a file off its beat", true, []timeline.Time{900_000, 33_366_667, 50_050_000}, 50},
		{"a signal", false, []timeline.Time{16_683_333, 33_366_667, 50_050_000}, 33},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			m.Period = 16_683_333
			pix := make([]byte, m.Layout.Size)
			for i, at := range tc.times {
				for k := range pix {
					pix[k] = byte(90*i + k/4%40)
				}
				m.Shoot(pix, 0)
				m.Metas[i].Sampled = timeline.At(at)
			}
			w := measure.FramesWindow(m, 0, len(m.Metas))
			w.T0 = &measure.Moment{}
			r := filmtest.One(t, m, w, analyze.Options{OwnClock: tc.own,
				Load: load.Options{Variants: []string{"script"}}}, "speedindex")
			filmtest.WantValue(t, r, "script.last_visual_change", tc.want)
			if v, _ := r.Find("script.last_visual_change"); v.Note == "" {
				t.Error("it is not said from when it counts")
			}
		})
	}
}
