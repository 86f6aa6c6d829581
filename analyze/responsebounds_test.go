package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestResponseBoundsHoldTheTruth measures random films, and the same ones without some of their
// frames. The values of the first must be within the bounds of the second.
func TestResponseBoundsHoldTheTruth(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(600)) {
		rng := rand.New(rand.NewPCG(seed, 41))
		f, _ := frame.NewFormat(frame.BGR4, 64, 8)
		full, cut := newFilm(t, f), newFilm(t, f)
		pix := make([]byte, full.layout.Size)
		lost, losing, lively := 0, rng.Float64()/2, rng.Float64()/3
		ends := 30 + rng.IntN(30) // the window of the cut film
		for i := range 80 {
			if rng.Float64() < lively {
				v := byte(rng.IntN(3))
				for k := range pix {
					pix[k] = v * 100
				}
			}
			full.shoot(pix, 0)
			if i > 0 && i < ends && rng.Float64() < losing {
				lost++
				continue
			}
			if i <= ends {
				cut.shoot(pix, lost)
				lost = 0
			}
		}
		for at := timeline.Time(0); at < timeline.Time(ends)*timeline.Time(full.period); at += timeline.Time(rng.Int64N(
			15 * int64(full.period))) {
			full.events = append(full.events, timeline.Event{At: at, Kind: "ping"})
		}
		cut.events = full.events
		o := Options{Response: ResponseOptions{Limit: full.period * 8,
			ScanOut: time.Duration(rng.IntN(2)) * full.period}}
		if seed%2 == 0 {
			o.Response.Colour = &Colour{200, 200, 200}
		}
		truth := one(t, full, FramesWindow(full, 0, 80), o, "response")
		wantValue(t, truth, "unfinished", 0)
		// by the end of the shorter one
		truth.Values = slices.DeleteFunc(truth.Values, func(v Value) bool { return v.Name == "unfinished" })
		holdsTruth(t, seed, one(t, cut, FramesWindow(cut, 0, len(cut.metas)), o, "response"), truth)
	}
}

// TestDamagedAnswers: frames that cannot be read widen latencies as lost ones do.
func TestDamagedAnswers(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(20)) {
		rng := rand.New(rand.NewPCG(seed, 43))
		m := &ruin{glimmer(t, rng, frame.BGR4, 60, time.Second/10), map[int]bool{}, 1}
		for range 1 + rng.IntN(5) {
			m.damaged[5+rng.IntN(50)] = true
		}
		whole := m.without()
		for range 8 {
			m.events = append(m.events, timeline.Event{At: timeline.Time(rng.Int64N(60 * int64(m.period))),
				Kind: "ping"})
		}
		whole.events = m.events
		got := one(t, m, FramesWindow(m, 0, 60), Options{}, "response")
		sameNumbers(t, got, one(t, whole, FramesWindow(whole, 0, len(whole.metas)), Options{}, "response"))
	}
}

// holdsTruth fails the test if a true value is outside a value's bounds.
func holdsTruth(t *testing.T, seed uint64, said, truth Result) {
	t.Helper()
	for _, v := range said.Values {
		x, ok := truth.Find(v.Name)
		if slack := 1e-6 * max(1, math.Abs(x.Value)); ok && (x.Value < v.Low-slack || x.Value > v.High+slack) {
			t.Errorf("seed %d: %s %s is %v, and is said to be %v, between %v and %v", seed, said.Measure, v.Name,
				x.Value, v.Value, v.Low, v.High)
		}
	}
}

// TestLeast holds the least of a percentile against all there can be.
func TestLeast(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(300)) {
		rng := rand.New(rand.NewPCG(seed, 42))
		list := func(n int) (s []float64) {
			for range n {
				s = append(s, float64(rng.IntN(9)))
			}
			slices.Sort(s)
			return s
		}
		sure := list(rng.IntN(6))
		more := list(rng.IntN(6) + 1)
		percent := []int{0, 50, 95, 100}[rng.IntN(4)]
		most := func(n int) int { return n - 1 - nearestRank(percent, n) }
		for i, place := range []func(int) int{func(n int) int { return nearestRank(percent, n) }, most} {
			want, wantMean := math.Inf(1), math.Inf(1)
			for some := range 1 << len(more) {
				all := slices.Clone(sure)
				for k, x := range more {
					if some>>k&1 != 0 {
						all = append(all, x)
					}
				}
				if len(all) > 0 {
					slices.Sort(all)
					want, wantMean = min(want, all[place(len(all))]), min(wantMean, mean(all))
				}
			}
			if got := least(sure, more, place); got != want {
				t.Errorf("seed %d: the least of place %d of %v and any of %v is %v, want %v", seed, i, sure, more, got,
					want)
			}
			if got := minMean(sure, more); math.Abs(got-wantMean) > 1e-9 {
				t.Errorf("seed %d: the least mean of %v and any of %v is %v, want %v", seed, sure, more, got, wantMean)
			}
		}
	}
}
