package response_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestResponseBoundsHoldTheTruth measures random films, and the same ones without some of their
// frames. The values of the first must be within the bounds of the second.
func TestResponseBoundsHoldTheTruth(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(600)) {
		rng := rand.New(rand.NewPCG(seed, 41))
		f, _ := frame.NewFormat(frame.BGR4, 64, 8)
		full, cut := filmtest.New(t, f), filmtest.New(t, f)
		pix := make([]byte, full.Layout.Size)
		lost, losing, lively := 0, rng.Float64()/2, rng.Float64()/3
		ends := 30 + rng.IntN(30) // the window of the cut film
		for i := range 80 {
			if rng.Float64() < lively {
				v := byte(rng.IntN(3))
				for k := range pix {
					pix[k] = v * 100
				}
			}
			full.Shoot(pix, 0)
			if i > 0 && i < ends && rng.Float64() < losing {
				lost++
				continue
			}
			if i <= ends {
				cut.Shoot(pix, lost)
				lost = 0
			}
		}
		for at := timeline.Time(0); at < timeline.Time(ends)*timeline.Time(full.Period); at += timeline.Time(rng.Int64N(
			15 * int64(full.Period))) {
			full.Log = append(full.Log, timeline.Event{At: at, Kind: "ping"})
		}
		cut.Log = full.Log
		o := analyze.Options{Response: response.Options{Limit: full.Period * 8,
			ScanOut: time.Duration(rng.IntN(2)) * full.Period}}
		if seed%2 == 0 {
			o.Response.Colour = &response.Colour{200, 200, 200}
		}
		truth := filmtest.One(t, full, measure.FramesWindow(full, 0, 80), o, "response")
		filmtest.WantValue(t, truth, "unfinished", 0)
		// by the end of the shorter one
		truth.Values = slices.DeleteFunc(truth.Values, func(v measure.Value) bool { return v.Name == "unfinished" })
		filmtest.HoldsTruth(t, seed, filmtest.One(t, cut, measure.FramesWindow(cut, 0, len(cut.Metas)), o, "response"),
			truth)
	}
}

// TestDamagedAnswers: frames that cannot be read widen latencies as lost ones do.
func TestDamagedAnswers(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(20)) {
		rng := rand.New(rand.NewPCG(seed, 43))
		m := filmtest.Damage(filmtest.Glimmer(t, rng, frame.BGR4, 60, time.Second/10), map[int]bool{}, 1)
		for range 1 + rng.IntN(5) {
			m.Damaged[5+rng.IntN(50)] = true
		}
		whole := m.Without()
		for range 8 {
			m.Log = append(m.Log, timeline.Event{At: timeline.Time(rng.Int64N(60 * int64(m.Period))),
				Kind: "ping"})
		}
		whole.Log = m.Log
		got := filmtest.One(t, m, measure.FramesWindow(m, 0, 60), analyze.Options{}, "response")
		filmtest.SameNumbers(t, got, filmtest.One(t, whole, measure.FramesWindow(whole, 0, len(whole.Metas)),
			analyze.Options{}, "response"))
	}
}
