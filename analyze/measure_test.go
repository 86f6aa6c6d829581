package analyze_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/checkerboard"
	"github.com/eideticker/eideticker/analyze/fps"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// wild gives a film's frames stamps that are wide, jitter or repeat, and go back or leap.
func wild(m *filmtest.Film, rng *rand.Rand) {
	leap := []time.Duration{0, 1, time.Millisecond, m.Period, time.Second, 1e15, -time.Second, -m.Period, 1 << 61}
	leap = leap[:3+rng.IntN(len(leap)-2)]
	wide := []time.Duration{1, time.Millisecond, 20 * time.Millisecond, time.Hour}[rng.IntN(4)]
	at := timeline.Time(0)
	for i := range m.Metas {
		at = at.Add(leap[rng.IntN(len(leap))])
		m.Metas[i].Sampled = timeline.Interval{Earliest: at, Latest: at.Add(time.Duration(rng.Int64N(int64(wide))))}
	}
}

// TestNoResultBreaksAReport takes every measure over films with stamps as no clock would make them.
// Each result must be one that can be written.
func TestNoResultBreaksAReport(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 31))
		m := filmtest.Scribble(t, rng, []frame.PixelFormat{frame.BGR4, frame.NV12, frame.RGB3}[seed%3])
		m.Period = []time.Duration{1, time.Millisecond, time.Second / 60, time.Hour}[rng.IntN(4)]
		wild(m, rng)
		from := rng.IntN(10)
		w := measure.FramesWindow(m, from, from+2+rng.IntN(12))
		if rng.IntN(2) == 0 {
			w = measure.Window{Kind: measure.ByMarkers, Green: from, Start: from + 1, End: w.End, Red: w.End + 1}
		}
		at := m.Metas[from+rng.IntN(3)].Sampled.Earliest
		if rng.IntN(3) > 0 {
			w.T0 = &measure.Moment{At: at, Uncertainty: time.Duration(rng.IntN(1e9))}
		}
		m.Log = []timeline.Event{{At: at, Kind: "ping", Uncertainty: time.Duration(rng.IntN(1e8))},
			{At: at.Add(m.Period), Kind: "ping"}}
		o := analyze.Options{Measures: analyze.Names(), OwnClock: rng.IntN(2) == 0, FPS: fps.Options{Cadence: 60},
			Checkerboard: checkerboard.Options{Colours: []uint32{0x404040}}}
		o.Response.Delay, o.Response.ScanOut = time.Duration(rng.IntN(1e8)), time.Duration(rng.IntN(1e8))
		found, err := analyze.Analyze(t.Context(), m, w, o)
		if err != nil {
			t.Fatal(seed, err)
		}
		filmtest.WantDeclared(t, found.Results...)
		for _, r := range found.Results {
			for _, v := range r.Values {
				if !(v.Low <= v.Value && v.Value <= v.High) || v.State == measure.Exact && v.Low < v.High {
					t.Errorf("seed %d: %s.%s is %v, between %v and %v, %s", seed, r.Measure, v.Name, v.Value, v.Low,
						v.High, v.State)
				}
			}
		}
		if _, err := json.Marshal(found.Results); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
