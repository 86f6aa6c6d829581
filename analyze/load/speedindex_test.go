package load_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// literalFigures computes Speed Index and visually complete as the definitions say, frame by frame,
// from progresses of all frames.
func literalFigures(m *filmtest.Film, w measure.Window, t0 float64, p []float64) (index float64, complete,
	crossed [4]float64) {
	at := func(n int) float64 { return measure.MS(time.Duration(m.Metas[n].Sampled.Mid())) }
	from := t0
	for n := w.Start; n <= w.End; n++ {
		before := p[0]
		if n > w.Start {
			before = p[n-w.Start-1]
		}
		index += (at(n) - from) * (1 - before)
		from = at(n)
	}
	for i, level := range visual.Levels() {
		complete[i], crossed[i] = math.NaN(), math.NaN()
		for n := w.End; n >= w.Start && p[n-w.Start] >= level; n-- {
			complete[i] = at(n) - t0
		}
		for n := w.End; n >= w.Start; n-- {
			if p[n-w.Start] >= level {
				crossed[i] = at(n) - t0
			}
		}
	}
	return index, complete, crossed
}

// TestLoadFiguresLiteral holds the figures by pixels and by histogram against the formulas, with
// T0, on random films.
func TestLoadFiguresLiteral(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		m := filmtest.Scribble(t, rng, []frame.PixelFormat{frame.BGR4, frame.NV12, frame.RGB3}[seed%3])
		o := filmtest.RandomLook(rng, m.Layout)
		o.Load.Variants = []string{"pixel", "histogram"}
		w := measure.FramesWindow(m, 2, 24)
		w.Red = measure.None
		t0 := m.Metas[2].Sampled.Mid()
		w.T0 = &measure.Moment{At: t0}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := filmtest.One(t, m, w, o, "speedindex")
			if r.State == measure.Refused {
				t.Fatal(r.Refusal)
			}
			area := analyzetest.Must(measure.NewArea(m.Layout, o.Region, o.Masks))(t)
			var pixel, hist []float64
			first, last := literalHistogram(m, area, w.Start), literalHistogram(m, area, w.End)
			for n := w.Start; n <= w.End; n++ {
				pixel = append(pixel, float64(m.LiteralEqual(area, n, w.End, o.Tolerance))/float64(area.Pixels))
				h := literalHistogram(m, area, n)
				hist = append(hist, visual.HistogramProgress(h, first, last).Fraction())
			}
			for name, p := range map[string][]float64{"pixel": pixel, "histogram": hist} {
				index, complete, crossed := literalFigures(m, w, measure.MS(time.Duration(t0)), p)
				nearly(t, r, name+".speed_index", index)
				for i, level := range visual.Levels() {
					nearly(t, r, fmt.Sprintf("%s.complete_%.0f", name, 100*level), complete[i])
					nearly(t, r, fmt.Sprintf("%s.crossed_%.0f", name, 100*level), crossed[i])
				}
			}
		})
	}
}

func literalHistogram(m *filmtest.Film, a *measure.Area, n int) *visual.Histogram {
	var h visual.Histogram
	conv := frame.NewConverter(m.Layout)
	var p [4]byte
	for y := range m.Layout.Format.Height {
		for x := range m.Layout.Format.Width {
			if a.Holds(x, y) {
				conv.RGBARow(p[:], m.Layout.View(m.Pix[n]), y, x, x+1)
				h.Add(p[:], 4)
			}
		}
	}
	return &h
}

// nearly fails the test if a value is off by more than the rounding of a sum; NaN is a value that
// there must not be.
func nearly(t *testing.T, r measure.Result, name string, want float64) {
	t.Helper()
	v, ok := r.Find(name)
	if math.IsNaN(want) {
		if ok {
			t.Errorf("%s is %v, want none", name, v.Value)
		}
		return
	}
	if !ok || math.Abs(v.Value-want) > 1e-6*(1+math.Abs(want)) {
		t.Errorf("%s is %v (%v), want %v", name, v.Value, ok, want)
	}
	if v.Low > v.Value || v.High < v.Value {
		t.Errorf("%s: %v is not within %v to %v", name, v.Value, v.Low, v.High)
	}
}

// TestLoadTruth holds the figures of scene page against its list of blocks: it is complete when the
// last of them has come and the spinner has gone.
func TestLoadTruth(t *testing.T) {
	for seed := range analyzetest.Seeds(100) {
		size := []string{"320x180", "240x136", "400x120"}[seed%3]
		m, truth := filmtest.Scene(t, "page", fmt.Sprintf("size=%s&frames=240&markers=1&seed=%d", size, seed), nil)
		scrolled, last := truth.Scroll.Frames[0].First, truth.Spinner.Shown.End
		if scrolled > truth.Content.End || len(truth.Load) < 2 {
			t.Fatalf("seed %d: the scene scrolls from frame %d on, and has %d blocks", seed, scrolled, len(truth.Load))
		}
		first := truth.Content.First
		w := measure.FramesWindow(m, int(first), int(scrolled))
		w.T0 = &measure.Moment{At: m.Metas[first].Sampled.Mid()}
		r := filmtest.One(t, m, w, analyze.Options{}, "speedindex")
		appeared := truth.Spinner.Shown.First
		for _, b := range truth.Load {
			last = max(last, b.Frame)
			if b.Frame > first {
				appeared = min(appeared, b.Frame)
			}
		}
		at := func(n uint64) float64 { return measure.MS(time.Duration(n-first) * m.Period) }
		filmtest.WantValue(t, r, "pixel.complete_100", at(last))
		filmtest.WantValue(t, r, "last_visual_change", at(last))
		filmtest.WantValue(t, r, "first_visual_change", at(appeared))
	}
}

// TestLoadFromGreen: a page that is there at once.
func TestLoadFromGreen(t *testing.T) {
	for seed := range analyzetest.Seeds(10) {
		m, truth := filmtest.Scene(t, "static", fmt.Sprintf("size=320x180&frames=60&markers=1&seed=%d", seed), nil)
		w := m.Content(truth)
		w.T0 = &measure.Moment{At: m.Metas[w.Green].Sampled.Mid()}
		r := filmtest.One(t, m, w, analyze.Options{}, "speedindex")
		// One change, a frame after T0: from green, of which nothing is equal, to all of it.
		filmtest.WantValue(t, r, "pixel.complete_100", measure.MS(m.Period))
		filmtest.WantValue(t, r, "first_visual_change", measure.MS(m.Period))
		filmtest.WantValue(t, r, "last_visual_change", measure.MS(m.Period))
	}
}

// TestRoundTripsCount: the same page has pictures that begin three round trips after the command,
// with 20 and with 300 ms. From the command, every figure differs by these. From the first change,
// none does.
func TestRoundTripsCount(t *testing.T) {
	const period = 20 * time.Millisecond
	page := func(trip time.Duration, command bool) measure.Result {
		f, _ := frame.NewFormat(frame.BGR4, 128, 96)
		m := filmtest.New(t, f)
		m.Period = period
		pix := bytes.Repeat([]byte{0, 255, 0, 0}, 128*96)
		wait := int(3 * trip / period)
		for n := range wait + 40 {
			// After the page has come, a tenth of it appears in every fourth frame.
			for y := range min(96, max(0, n-wait+4)/4*10) {
				for x := range 4 * 128 {
					pix[4*128*y+x] = byte(40 + y + x%4*30)
				}
			}
			m.Shoot(pix, 0)
		}
		w := measure.FramesWindow(m, 0, len(m.Metas))
		if command {
			w.T0 = &measure.Moment{At: m.Metas[0].Sampled.Mid()}
		}
		// perceptual finds green already like the page
		return filmtest.One(t, m, w, analyze.Options{Load: load.Options{Variants: []string{"pixel", "histogram",
			"contentful"}}},
			"speedindex")
	}
	for _, command := range []bool{true, false} {
		near, far := page(20*time.Millisecond, command), page(300*time.Millisecond, command)
		want := 0.0
		if command {
			want = 3 * 280
		}
		if len(near.Values) < 15 || len(near.Values) != len(far.Values) {
			t.Fatalf("%d and %d figures", len(near.Values), len(far.Values))
		}
		for i, v := range near.Values {
			if v.Unit == "ms" && math.Abs(far.Values[i].Value-v.Value-want) > 1e-6 {
				t.Errorf("%s is %v behind 20 ms and %v behind 300, want %v more", v.Name, v.Value, far.Values[i].Value,
					want)
			}
		}
	}
}

// TestAllVariants looks at every variant, over shares of a few frames and in one: they must be the
// same to the last bit.
func TestAllVariants(t *testing.T) {
	m, truth := filmtest.Scene(t, "page", "size=240x136&frames=90&markers=1&seed=3",
		func(n uint64) bool { return n%17 == 5 })
	w := m.Content(truth)
	var first measure.Result
	for i, share := range []int{0, 7} {
		r := filmtest.One(t, m, w, analyze.Options{Load: load.Options{Variants: load.AllVariants()}, MinShare: share},
			"speedindex")
		if i == 0 {
			first = r
			for _, name := range []string{"pixel", "histogram", "perceptual", "contentful"} {
				if _, ok := r.Find("from_first_change." + name + ".speed_index"); !ok {
					t.Errorf("no Speed Index by %s: %+v", name, r)
				}
			}
			continue
		}
		for k, v := range r.Values {
			if v.Value != first.Values[k].Value || v.Name != first.Values[k].Name {
				t.Errorf("in shares %s is %v, in one %s is %v", v.Name, v.Value, first.Values[k].Name,
					first.Values[k].Value)
			}
		}
	}
}

// TestWindowOpenNeedsACommand is refused without T0, and counts from it else.
func TestWindowOpenNeedsACommand(t *testing.T) {
	m, truth := filmtest.Scene(t, "static", "size=64x64&frames=10&markers=1", nil)
	w := m.Content(truth)
	if r := filmtest.One(t, m, w, analyze.Options{}, "windowopen"); r.State != measure.Refused {
		t.Errorf("without a command: %+v", r)
	}
	w.T0 = &measure.Moment{At: m.Metas[w.Green].Sampled.Mid().Add(-time.Second), Uncertainty: time.Millisecond}
	r := filmtest.One(t, m, w, analyze.Options{}, "windowopen")
	v, _ := r.Find("first_visual_change")
	if want := 1000 + measure.MS(m.Period); v.Value != want || v.Low != want-1 || v.High != want+1 {
		t.Errorf("first change after %v (%v to %v), want %v ± 1", v.Value, v.Low, v.High, want)
	}
}

// TestPicturesWithTimes holds the figures of a few pictures at uneven times against numbers worked
// by hand: a quarter, a half and all of the last picture after 500, 920 and 2000 ms; at 1500 ms
// nothing changes.
//
//	Speed Index = 500·1 + 420·¾ + 1080·½ = 1355
func TestPicturesWithTimes(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR3, 100, 100)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for i, p := range []struct{ ms, columns int }{{0, 0}, {500, 25}, {920, 50}, {1500, 50}, {2000, 100}} {
		for y := range 100 {
			row := m.Layout.Row(pix, y)
			for x := range 100 {
				c := []byte{200, 200, 200}
				if x < p.columns {
					c = []byte{60, 40, 20}
				}
				copy(row[3*x:], c)
			}
		}
		m.Shoot(pix, 0)
		m.Metas[i].Sampled = timeline.At(timeline.Time(p.ms) * 1e6)
	}
	w := measure.FramesWindow(m, 0, 5)
	w.T0 = &measure.Moment{At: 0}
	r := filmtest.One(t, m, w, analyze.Options{OwnClock: true, Load: load.Options{Variants: load.AllVariants()}},
		"speedindex")
	for name, want := range map[string]float64{
		"pixel.speed_index": 1355, "histogram.speed_index": 1355, "first_visual_change": 500,
		"last_visual_change": 2000,
		"pixel.complete_85":  2000, "pixel.complete_100": 2000,
		"script.first_visual_change": 500, "script.last_visual_change": 2000, "script.speed_index": 1355,
	} {
		filmtest.WantValue(t, r, name, want)
	}
}
