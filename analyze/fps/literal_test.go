package fps_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// literalFPS has a window's frames one by one, those that were lost among them.
type literalFPS struct {
	changed []bool // of each frame from s to e, and the lost ones before r
	stored  []bool
	gaps    [][2]int // frames of which the last was stored and the others were lost
	ends    int      // frames from s to e; what follows was lost before r
	period  time.Duration
}

func newLiteralFPS(m *filmtest.Film, w measure.Window, a *measure.Area, tau int) *literalFPS {
	l := &literalFPS{period: m.Period}
	for n := w.Start; n <= w.End; n++ {
		lost := 0
		if n > w.Start {
			lost = int(m.Metas[n].Sequence - m.Metas[n-1].Sequence - 1)
		}
		for range lost {
			l.changed, l.stored = append(l.changed, false), append(l.stored, false)
		}
		if lost > 0 {
			l.gaps = append(l.gaps, [2]int{len(l.changed) - lost, len(l.changed)})
		}
		l.changed = append(l.changed, n == w.Start || m.LiteralEqual(a, n-1, n, tau) < a.Pixels)
		l.stored = append(l.stored, true)
	}
	l.ends = len(l.changed)
	if w.Red != measure.None {
		for range m.Metas[w.Red].Sequence - m.Metas[w.End].Sequence - 1 {
			l.changed, l.stored = append(l.changed, false), append(l.stored, false)
		}
	}
	return l
}

// another is a way in which it may have been.
func (l *literalFPS) another(rng *rand.Rand, before int) *literalFPS {
	o := &literalFPS{stored: slices.Clone(l.stored), changed: slices.Clone(l.changed), ends: l.ends, period: l.period}
	density := rng.Float64()
	for _, g := range l.gaps {
		if density < 0.1 && !l.changed[g[1]] {
			continue
		}
		any := false
		for i := g[0]; i <= g[1]; i++ {
			o.changed[i] = rng.Float64() < density
			any = any || o.changed[i]
		}
		if !any && l.changed[g[1]] {
			o.changed[g[0]+rng.IntN(g[1]-g[0]+1)] = true
		}
	}
	cut := rng.IntN(len(l.changed) - l.ends + 1) // red came that much earlier
	o.changed, o.stored = o.changed[:len(o.changed)-cut], o.stored[:len(o.stored)-cut]
	for i := o.ends; i < len(o.changed); i++ {
		o.changed[i] = rng.Float64() < density
	}
	early := make([]bool, rng.IntN(before+1)) // content came that much earlier
	for i := range early {
		early[i] = i == 0 || rng.Float64() < density
	}
	if len(early) > 0 && rng.IntN(2) == 0 {
		o.changed[0] = false
	}
	o.changed = append(early, o.changed...)
	o.stored = append(make([]bool, len(early)), o.stored...)
	o.ends = len(o.changed)
	return o
}

// figures are computed as the definitions say, word for word.
func (l *literalFPS) figures() map[string]float64 {
	found := map[string]float64{}
	var times []float64 // ms
	last := 0
	for i := 1; i <= len(l.changed); i++ {
		if i == len(l.changed) || l.changed[i] {
			times = append(times, measure.MS(time.Duration(i-last)*l.period))
			last = i
		}
	}
	found["unique_frames"] = float64(len(times))
	found["longest_freeze"] = slices.Max(times)
	slices.Sort(times)
	median := times[len(times)/2]
	found["median_frame_time"] = median
	long := 0
	for _, d := range times {
		if d > 2.01*median {
			long++
		}
	}
	found["long_frames"] = float64(long)
	if n := len(times); n >= 100 {
		k := int(math.Ceil(float64(n) / 100))
		sum := 0.0
		for _, d := range times[n-k:] {
			sum += d
		}
		found["slowest_1pct_fps"] = 1000 * float64(k) / sum
		found["p99_fps"] = 1000 / times[int(math.Ceil(0.99*float64(n)))-1]
	}
	l.unchanged(found, int(math.Round(float64(time.Second)/float64(l.period))))
	return found
}

func (l *literalFPS) unchanged(found map[string]float64, n int) {
	var shares []float64
	for i := n - 1; i < l.ends; i++ {
		count := 0
		for _, changed := range l.changed[i-n+1 : i+1] {
			if !changed {
				count++
			}
		}
		shares = append(shares, float64(count)/float64(n))
	}
	if len(shares) == 0 {
		return
	}
	sum := 0.0
	var bins [101]int
	for _, s := range shares {
		sum += s
		bins[int(math.Round(100*s))]++
	}
	found["unchanged_mean"] = sum / float64(len(shares))
	found["unchanged_worst"] = slices.Max(shares)
	percentile := 0.95
	at, counted, wanted := 100, bins[100], (1-percentile)*float64(len(shares))
	for at > 0 && float64(counted) < wanted {
		at--
		counted += bins[at]
	}
	found["unchanged_p95"] = float64(at) / 100
}

func TestFPSLiteral(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.BGR3, frame.YUYV, frame.NV12, frame.P010, frame.YU12}
	for seed := range analyzetest.Seeds(uint64(120)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		frames := 10 + rng.IntN(240)
		m := filmtest.Glimmer(t, rng, formats[seed%uint64(len(formats))], frames,
			time.Second/time.Duration(4+rng.IntN(20)))
		o := filmtest.RandomLook(rng, m.Layout)
		from := rng.IntN(4)
		w := measure.Window{Kind: measure.ByMarkers, Green: from, Start: from + 1, End: frames - 2, Red: frames - 1}
		t.Run(fmt.Sprintf("%d/%v", seed, m.Layout.Format.Pixel), func(t *testing.T) {
			area := analyzetest.Must(measure.NewArea(m.Layout, o.Region, o.Masks))(t)
			l := newLiteralFPS(m, w, area, o.Tolerance)
			r := filmtest.One(t, m, w, o, "fps")
			checkFigures(t, r, l.figures())
			before := int(m.Metas[w.Start].Sequence - m.Metas[w.Green].Sequence - 1)
			if len(l.gaps) == 0 && before == 0 && l.ends == len(l.changed) {
				for _, v := range r.Values {
					if v.State != measure.Exact {
						t.Errorf("%s is %v without lost frames", v.Name, v.State)
					}
				}
				return
			}
			for range 40 {
				checkBounds(t, r, l.another(rng, before).figures())
			}
		})
	}
}

func checkFigures(t *testing.T, r measure.Result, want map[string]float64) {
	t.Helper()
	for name, x := range want {
		if v, ok := r.Find(name); !ok || math.Abs(v.Value-x) > 1e-6*math.Max(1, x) {
			t.Errorf("%s is %v, want %v", name, v.Value, x)
		}
	}
}

func checkBounds(t *testing.T, r measure.Result, may map[string]float64) {
	t.Helper()
	for name, x := range may {
		slack := 1e-6 * math.Max(1, x)
		if v, ok := r.Find(name); ok && (x < v.Low-slack || x > v.High+slack) {
			t.Errorf("%s may be %v, and is said to lie between %v and %v", name, x, v.Low, v.High)
		}
	}
}
