package fps_test

import (
	"image"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/fps"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// score is a film of one letter per frame. g is the held green, U a new frame, and - one like
// before. x is a lost frame and r is red.
func score(t testing.TB, period time.Duration, notes string) (*filmtest.Film, measure.Window) {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 16, 16))(t)
	m := filmtest.New(t, f)
	m.Period = period
	pix := make([]byte, m.Layout.Size)
	w := measure.Window{Kind: measure.ByMarkers, Green: measure.None, Start: measure.None, Red: measure.None}
	lost, news := 0, byte(0)
	for _, note := range notes {
		n := len(m.Metas)
		switch note {
		case 'x':
			lost++
			continue
		case 'g':
			w.Green = n
		case 'r':
			w.Red, pix[1] = n, 255
		case 'U':
			news++
			pix[0] = news
		}
		if note != 'g' && note != 'r' {
			if w.Start == measure.None {
				w.Start = n
			}
			w.End = n
		}
		m.Shoot(pix, lost)
		lost = 0
	}
	return m, w
}

// TestFPSByHand has cases small enough to be counted out. Frames are 100 ms apart.
func TestFPSByHand(t *testing.T) {
	type bounds map[string][3]float64 // value, low, high
	cases := []struct {
		name, notes string
		want        bounds
	}{
		{"all are new", "gUUUUr", bounds{
			"unique_frames": {4, 4, 4}, "framerate": {10, 10, 10}, "longest_freeze": {100, 100, 100},
			"long_frames": {0, 0, 0}}},
		{"a freeze", "gUU---Ur", bounds{
			"unique_frames": {3, 3, 3}, "framerate": {5, 5, 5}, "longest_freeze": {400, 400, 400},
			"median_frame_time": {100, 100, 100}, "long_frames": {1, 1, 1}}},
		// The lost frame may have been new, and U came in the next: 100+100 for 200, or 100 and
		// then 200 for 100.
		{"one lost before a new one", "gUxUr", bounds{
			"unique_frames": {2, 2, 3}, "framerate": {2 / 0.3, 2 / 0.3, 10}, "longest_freeze": {200, 100, 200}}},
		{"one lost before one that is the same", "gUx-Ur", bounds{
			"unique_frames": {2, 2, 4}, "framerate": {5, 5, 10}, "longest_freeze": {300, 100, 300}}},
		{"two lost in a freeze", "gUU-xx--Ur", bounds{
			"unique_frames": {3, 3, 6}, "longest_freeze": {600, 200, 600}, "long_frames": {1, 0, 2}}},
		// s may have come with a lost frame, 200 ms earlier. That frame or two of them may be
		// content.
		{"two lost between g and s", "gxxU-Ur", bounds{
			"unique_frames": {2, 2, 4}, "framerate": {2 / 0.3, 4, 4 / 0.3}, "longest_freeze": {200, 200, 400}}},
		// r may have come with the lost frame, or that one was content.
		{"one lost between e and r", "gUUxr", bounds{
			"unique_frames": {2, 2, 3}, "framerate": {2 / 0.3, 2 / 0.3, 3 / 0.2}, "longest_freeze": {200, 100, 200}}},
		// Of s U – – U U U U at 4 frames a second, here at 10: see the definition.
		{"seconds", "gU" + strings.Repeat("U", 4) + "-----" + "UUUUU" + "r", bounds{
			"unchanged_mean": {0.5, 0.5, 0.5}, "unchanged_worst": {0.5, 0.5, 0.5}, "unchanged_p95": {0.5, 0.5, 0.5}}},
		// The lost frame is in all three windows. It and the one behind it may both have been new,
		// or the other one alone.
		{"seconds with a lost frame", "gUUUUUUUUUxUUr", bounds{
			"unchanged_mean": {0.1, 0, 0.1}, "unchanged_worst": {0.1, 0, 0.1}, "unchanged_p95": {0.1, 0, 0.1}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, w := score(t, 100*time.Millisecond, c.notes)
			filmtest.CheckValues(t, filmtest.One(t, m, w, analyze.Options{}, "fps"), c.want)
		})
	}
}

// TestUnchangedByHand is the example of the definition: five windows of 4 frames with 2, 2, 2, 1
// and 0 unchanged ones.
func TestUnchangedByHand(t *testing.T) {
	m, w := score(t, 250*time.Millisecond, "gUU--UUUUr")
	filmtest.CheckValues(t, filmtest.One(t, m, w, analyze.Options{}, "fps"), map[string][3]float64{
		"unchanged_mean": {0.35, 0.35, 0.35}, "unchanged_worst": {0.5, 0.5, 0.5}, "unchanged_p95": {0.5, 0.5, 0.5}})
}

// TestSlowestByHand is the example of the definition: 150 frame times, two of them long.
func TestSlowestByHand(t *testing.T) {
	m, w := score(t, 10*time.Millisecond, "g"+strings.Repeat("U", 100)+"---"+strings.Repeat("U", 49)+"U-----r")
	r := filmtest.One(t, m, w, analyze.Options{}, "fps")
	filmtest.CheckValues(t, r, map[string][3]float64{
		"unique_frames": {150, 150, 150}, "slowest_1pct_fps": {20, 20, 20}, "p99_fps": {25, 25, 25},
		"long_frames": {2, 2, 2}})
	if want := `"frame_times":[{"ms":10,"count":148},{"ms":40,"count":1},{"ms":60,"count":1}]`; !strings.Contains(
		string(r.Detail), want) {
		t.Errorf("detail is %s, want %s in it", r.Detail, want)
	}
}

func TestDroppedByCadence(t *testing.T) {
	m, w := score(t, 100*time.Millisecond, "gUUUU-UUUU-r")
	r := filmtest.One(t, m, w, analyze.Options{FPS: fps.Options{Cadence: 10}}, "fps")
	filmtest.CheckValues(t, r, map[string][3]float64{"dropped": {0.2, 0.2, 0.2}})
	r = filmtest.One(t, m, w, analyze.Options{}, "fps")
	if _, ok := r.Find("dropped"); ok {
		t.Error("dropped frames are told where nothing is known of what was drawn")
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if r := filmtest.One(t, m, w, analyze.Options{FPS: fps.Options{Cadence: bad}},
			"fps"); r.State != measure.Refused {
			t.Errorf("a cadence of %v is taken", bad)
		}
	}
}

// TestDroppedByStrip is the example of the definition, and the same with a frame lost where some
// were dropped.
func TestDroppedByStrip(t *testing.T) {
	cases := []struct {
		name  string
		ids   []uint32 // per frame; the page's own count
		lost  int      // frames missing before frame 4
		share int
		want  [3]float64 // dropped frames
		drawn float64
	}{
		{"two", []uint32{7, 8, 8, 9, 12, 12, 13}, 0, 0, [3]float64{2, 2, 2}, 7},
		{"two, or they were lost", []uint32{7, 8, 8, 9, 12, 12, 13}, 1, 0, [3]float64{2, 0, 2}, 7},
		{"none", []uint32{7, 8, 9, 10, 11, 12, 13}, 0, 0, [3]float64{0, 0, 0}, 7},
		{"the count begins anew", []uint32{1<<24 - 2, 1<<24 - 1, 1, 2}, 0, 0, [3]float64{1, 1, 1}, 5},
		{"out of order", []uint32{7, 9, 8, 10, 11}, 0, 0, [3]float64{0, 0, 0}, 5},
		{"in shares", []uint32{7, 8, 8, 9, 12, 12, 13}, 1, 2, [3]float64{2, 0, 2}, 7},
	}
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 200, 40))(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			pix := make([]byte, m.Layout.Size)
			for i, id := range c.ids {
				analyzetest.Check(t, strip.Draw(m.Layout.View(pix), image.Rectangle{},
					strip.Code{ID: id, Free: 3 << 8}))
				lost := 0
				if i == 4 {
					lost = c.lost
				}
				m.Shoot(pix, lost)
			}
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(c.ids)), analyze.Options{MinShare: c.share}, "fps")
			filmtest.CheckValues(t, r, map[string][3]float64{"dropped_frames": c.want,
				"drawn_frames": {c.drawn, c.drawn, c.drawn},
				"dropped":      {c.want[0] / c.drawn, c.want[1] / c.drawn, c.want[2] / c.drawn}})
		})
	}
}

// changesOnly plays changes that were made ready, so that a benchmark measures the measure.
type changesOnly struct {
	*filmtest.Film
	changes []*frame.Change
}

func (m *changesOnly) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		step := frame.Step{Image: frame.Image{Layout: m.Layout}, Previous: frame.Image{Layout: m.Layout}}
		for n := from; n < to; n++ {
			step.Number, step.Meta, step.Change = n, m.Metas[n], m.changes[n]
			if !yield(&step, nil) {
				return
			}
		}
	}
}

// BenchmarkFPS is the framerate alone, from changes of 1920x1080: 720 rows in each frame of web.
func BenchmarkFPS(b *testing.B) {
	for _, scene := range []string{"caret", "web", "page"} {
		b.Run("scene="+scene, func(b *testing.B) {
			short, truth := filmtest.Scene(b, scene, "size=1920x1080&frames=80", nil)
			m := &changesOnly{Film: filmtest.New(b, short.Layout.Format)}
			for n := range truth.Frames {
				m.changes = append(m.changes, short.Change(int(n)))
			}
			const frames = 10000
			for n := len(m.changes); n < frames; n++ {
				m.changes = append(m.changes, m.changes[60+n%20])
			}
			for n := range frames {
				m.Pix = append(m.Pix, short.Pix[0])
				m.Metas = append(m.Metas,
					frame.Meta{Sequence: uint64(n), Sampled: timeline.At(timeline.Time(n) * timeline.Time(m.Period))})
			}
			for b.Loop() {
				if _, err := analyze.Analyze(b.Context(), m, measure.FramesWindow(m, 0, frames),
					analyze.Options{Measures: []string{"fps"}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(frames)*float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}
