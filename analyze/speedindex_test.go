package analyze

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// literalFigures computes Speed Index and visually complete as the definitions say, frame by frame,
// from progresses of all frames.
func literalFigures(m *film, w Window, t0 float64, p []float64) (index float64, complete, crossed [4]float64) {
	at := func(n int) float64 { return ms(time.Duration(m.metas[n].Sampled.Mid())) }
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
		m := scribble(t, rng, []frame.PixelFormat{frame.BGR4, frame.NV12, frame.RGB3}[seed%3])
		o := randomLook(rng, m.layout)
		o.Load.Variants = []string{"pixel", "histogram"}
		w := FramesWindow(m, 2, 24)
		w.Red = None
		t0 := m.metas[2].Sampled.Mid()
		w.T0 = &Moment{At: t0}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := one(t, m, w, o, "speedindex")
			if r.State == Refused {
				t.Fatal(r.Refusal)
			}
			area, err := NewArea(m.layout, o.Region, o.Masks)
			if err != nil {
				t.Fatal(err)
			}
			var pixel, hist []float64
			first, last := m.literalHistogram(area, w.Start), m.literalHistogram(area, w.End)
			for n := w.Start; n <= w.End; n++ {
				pixel = append(pixel, float64(m.literalEqual(area, n, w.End, o.Tolerance))/float64(area.Pixels))
				h := m.literalHistogram(area, n)
				hist = append(hist, visual.HistogramProgress(h, first, last).Fraction())
			}
			for name, p := range map[string][]float64{"pixel": pixel, "histogram": hist} {
				index, complete, crossed := literalFigures(m, w, ms(time.Duration(t0)), p)
				nearly(t, r, name+".speed_index", index)
				for i, level := range visual.Levels() {
					nearly(t, r, fmt.Sprintf("%s.complete_%.0f", name, 100*level), complete[i])
					nearly(t, r, fmt.Sprintf("%s.crossed_%.0f", name, 100*level), crossed[i])
				}
			}
		})
	}
}

func (m *film) literalHistogram(a *Area, n int) *visual.Histogram {
	var h visual.Histogram
	conv := frame.NewConverter(m.layout)
	var p [4]byte
	for y := range m.layout.Format.Height {
		for x := range m.layout.Format.Width {
			if a.Holds(x, y) {
				conv.RGBARow(p[:], m.layout.View(m.pix[n]), y, x, x+1)
				h.Add(p[:], 4)
			}
		}
	}
	return &h
}

// nearly fails the test if a value is off by more than the rounding of a sum; NaN is a value that
// there must not be.
func nearly(t *testing.T, r Result, name string, want float64) {
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
		m, truth := filmScene(t, "page", fmt.Sprintf("size=%s&frames=240&markers=1&seed=%d", size, seed), nil)
		scrolled, last := truth.Scroll.Frames[0].First, truth.Spinner.Shown.End
		if scrolled > truth.Content.End || len(truth.Load) < 2 {
			t.Fatalf("seed %d: the scene scrolls from frame %d on, and has %d blocks", seed, scrolled, len(truth.Load))
		}
		first := truth.Content.First
		w := FramesWindow(m, int(first), int(scrolled))
		w.T0 = &Moment{At: m.metas[first].Sampled.Mid()}
		r := one(t, m, w, Options{}, "speedindex")
		appeared := truth.Spinner.Shown.First
		for _, b := range truth.Load {
			last = max(last, b.Frame)
			if b.Frame > first {
				appeared = min(appeared, b.Frame)
			}
		}
		at := func(n uint64) float64 { return ms(time.Duration(n-first) * m.period) }
		wantValue(t, r, "pixel.complete_100", at(last))
		wantValue(t, r, "last_visual_change", at(last))
		wantValue(t, r, "first_visual_change", at(appeared))
	}
}

// TestLoadFromGreen: a page that is there at once.
func TestLoadFromGreen(t *testing.T) {
	for seed := range analyzetest.Seeds(10) {
		m, truth := filmScene(t, "static", fmt.Sprintf("size=320x180&frames=60&markers=1&seed=%d", seed), nil)
		w := m.content(truth)
		w.T0 = &Moment{At: m.metas[w.Green].Sampled.Mid()}
		r := one(t, m, w, Options{}, "speedindex")
		// One change, a frame after T0: from green, of which nothing is equal, to all of it.
		wantValue(t, r, "pixel.complete_100", ms(m.period))
		wantValue(t, r, "first_visual_change", ms(m.period))
		wantValue(t, r, "last_visual_change", ms(m.period))
	}
}

// TestRoundTripsCount: the same page has pictures that begin three round trips after the command,
// with 20 and with 300 ms. From the command, every figure differs by these. From the first change,
// none does.
func TestRoundTripsCount(t *testing.T) {
	const period = 20 * time.Millisecond
	page := func(trip time.Duration, command bool) Result {
		f, _ := frame.NewFormat(frame.BGR4, 128, 96)
		m := newFilm(t, f)
		m.period = period
		pix := bytes.Repeat([]byte{0, 255, 0, 0}, 128*96)
		wait := int(3 * trip / period)
		for n := range wait + 40 {
			// After the page has come, a tenth of it appears in every fourth frame.
			for y := range min(96, max(0, n-wait+4)/4*10) {
				for x := range 4 * 128 {
					pix[4*128*y+x] = byte(40 + y + x%4*30)
				}
			}
			m.shoot(pix, 0)
		}
		w := FramesWindow(m, 0, len(m.metas))
		if command {
			w.T0 = &Moment{At: m.metas[0].Sampled.Mid()}
		}
		// perceptual finds green already like the page
		return one(t, m, w, Options{Load: LoadOptions{Variants: []string{"pixel", "histogram", "contentful"}}},
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
	m, truth := filmScene(t, "page", "size=240x136&frames=90&markers=1&seed=3",
		func(n uint64) bool { return n%17 == 5 })
	w := m.content(truth)
	var first Result
	for i, share := range []int{0, 7} {
		r := one(t, m, w, Options{Load: LoadOptions{Variants: variantNames()}, share: share}, "speedindex")
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
	m, truth := filmScene(t, "static", "size=64x64&frames=10&markers=1", nil)
	w := m.content(truth)
	if r := one(t, m, w, Options{}, "windowopen"); r.State != Refused {
		t.Errorf("without a command: %+v", r)
	}
	w.T0 = &Moment{At: m.metas[w.Green].Sampled.Mid().Add(-time.Second), Uncertainty: time.Millisecond}
	r := one(t, m, w, Options{}, "windowopen")
	v, _ := r.Find("first_visual_change")
	if want := 1000 + ms(m.period); v.Value != want || v.Low != want-1 || v.High != want+1 {
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
	m := newFilm(t, f)
	pix := make([]byte, m.layout.Size)
	for i, p := range []struct{ ms, columns int }{{0, 0}, {500, 25}, {920, 50}, {1500, 50}, {2000, 100}} {
		for y := range 100 {
			row := m.layout.Row(pix, y)
			for x := range 100 {
				c := []byte{200, 200, 200}
				if x < p.columns {
					c = []byte{60, 40, 20}
				}
				copy(row[3*x:], c)
			}
		}
		m.shoot(pix, 0)
		m.metas[i].Sampled = timeline.At(timeline.Time(p.ms) * 1e6)
	}
	w := FramesWindow(m, 0, 5)
	w.T0 = &Moment{At: 0}
	r := one(t, m, w, Options{OwnClock: true, Load: LoadOptions{Variants: variantNames()}}, "speedindex")
	for name, want := range map[string]float64{
		"pixel.speed_index": 1355, "histogram.speed_index": 1355, "first_visual_change": 500,
		"last_visual_change": 2000,
		"pixel.complete_85":  2000, "pixel.complete_100": 2000,
		"script.first_visual_change": 500, "script.last_visual_change": 2000, "script.speed_index": 1355,
	} {
		wantValue(t, r, name, want)
	}
}
