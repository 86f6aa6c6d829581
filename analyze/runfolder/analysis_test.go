package runfolder

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// silent is nobody who wants to be told.
type silent struct{}

func (silent) Phase(string, int) (func(int), func()) { return func(int) {}, func() {} }

// script writes a recording by hand.
type script struct {
	t      *testing.T
	w      *recording.Writer
	path   string
	format frame.Format
	seq    uint64
}

const period = timeline.Time(time.Second / 60)

func newScript(t *testing.T) *script {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.eid")
	w := analyzetest.Must(recording.Create(path, recording.Options{}))(t)
	return &script{t: t, w: w, path: path}
}

func (s *script) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *script) segment(width, height int) {
	f, err := frame.NewFormat(frame.BGR4, width, height)
	s.check(err)
	s.format = f
	s.check(s.w.Segment(f, 1, 60))
}

// frames writes n frames; the k-th is of the colour that its function says.
func (s *script) frames(n int, colour func(k int) [3]byte) {
	for k := range n {
		c := colour(k)
		pix := make([]byte, s.format.Size())
		for i := 0; i < len(pix); i += 4 {
			copy(pix[i:], c[:])
		}
		m := frame.Meta{Sequence: s.seq, Sampled: timeline.At(timeline.Time(s.seq) * period)}
		s.check(s.w.WriteFrame(pix, m, nil))
		s.seq++
	}
}

func (s *script) lose(n uint64) {
	s.check(s.w.Gap(frame.Gap{First: s.seq, Count: n, Cause: frame.RingFull,
		At: timeline.Interval{Earliest: timeline.Time(s.seq) * period, Latest: timeline.Time(s.seq+n) * period}}))
	s.seq += n
}

func (s *script) open() *recording.Reader {
	s.t.Helper()
	s.check(s.w.Close())
	r, err := recording.Open(s.path)
	s.check(err)
	s.t.Cleanup(func() { r.Close() })
	return r
}

func green(int) [3]byte  { return [3]byte{0, 255, 0} }
func red(int) [3]byte    { return [3]byte{0, 0, 255} }
func grey(k int) [3]byte { return [3]byte{byte(40 + k), 90, 90} }

// Fault: A recording has gaps only
func TestRecordingWithOnlyGaps(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.lose(30)
	found, err := Run(t.Context(), s.open(), Settings{}, "test", silent{})
	if err == nil || !strings.Contains(err.Error(), "no frames") || !strings.Contains(err.Error(), "quality") {
		t.Errorf("got %v, %v", found, err)
	}
	// Its quality can still be told.
	found, err = Run(t.Context(), s.again(), Settings{Measures: []string{quality.Name}}, "test", silent{})
	if err != nil || found.Results.Quality.State != analyze.Refused {
		t.Errorf("quality: %+v, %v", found, err)
	}
}

func (s *script) again() *recording.Reader {
	r, err := recording.Open(s.path)
	s.check(err)
	s.t.Cleanup(func() { r.Close() })
	return r
}

// Fault: A window crosses a change of format
func TestWindowAcrossFormats(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.frames(20, grey)
	s.segment(128, 64)
	s.frames(20, grey)
	r := s.open()
	_, err := Run(t.Context(), r, Settings{From: 10, To: 30}, "test", silent{})
	if !errors.Is(err, measure.ErrWindow) || !strings.Contains(err.Error(), "--frames 10:20") {
		t.Errorf("got %v", err)
	}
	found, err := Run(t.Context(), r, Settings{Measures: []string{"fps"}}, "test", silent{})
	if err != nil || len(found.Results.Windows) != 2 {
		t.Fatalf("without a range: %+v, %v", found, err)
	}
}

// Fault: Frames are missing in a window
func TestStrict(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.frames(10, green)
	s.frames(10, grey)
	s.lose(3)
	s.frames(10, grey)
	s.frames(10, red)
	r := s.open()
	found, err := Run(t.Context(), r, Settings{Measures: []string{"fps"}}, "test", silent{})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := found.Results.Windows[0].Results[0].Find("unique_frames")
	if u.Value != 20 || u.Low != 20 || u.High != 23 || u.State != analyze.Bounded {
		t.Errorf("unique frames: %+v, want 20 to 23", u)
	}
	if l := found.Results.Windows[0].Times.Lost; len(l) != 1 || l[0].Before != 20 || l[0].Frames != 3 {
		t.Errorf("lost: %+v", l)
	}
	if w, _ := Run(t.Context(), r, Settings{Measures: []string{"heatmap"}}, "test", silent{}); len(
		w.Results.Windows) != 1 ||
		!strings.Contains(strings.Join(w.Results.Windows[0].Warnings, ";"), "3 before frame 20") {
		t.Errorf("what is lost is not named: %+v", w.Results.Windows)
	}
	var lost *lostError
	if found, err = Run(t.Context(), r, Settings{Measures: []string{"fps"}, Strict: true}, "test",
		silent{}); !errors.As(err, &lost) || found == nil || lost.Lost != 3 {
		t.Errorf("strict: %v, %v", found, err)
	}
}

func TestT0IsTheLastCommandBeforeTheContent(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.frames(10, green)
	for _, at := range []timeline.Time{2, 5, 30} {
		s.check(s.w.Event(timeline.Event{At: at * period, Uncertainty: time.Millisecond, Source: "input",
			Kind: "input"}))
	}
	s.frames(10, grey)
	s.frames(10, red)
	found, err := Run(t.Context(), s.open(), Settings{Measures: []string{"windowopen"}}, "test", silent{})
	if err != nil {
		t.Fatal(err)
	}
	w := found.Results.Windows[0]
	if w.T0 == nil || w.T0.AtNS != int64(5*period) || w.T0.Source != "input input" {
		t.Fatalf("T0 is %+v", w.T0)
	}
	if v, ok := w.Results[0].Find("first_visual_change"); !ok || v.Value < 83.3 || v.Value > 83.4 ||
		v.High-v.Low < 1.9 {
		t.Errorf("first change: %+v", v)
	}
}

func TestInterrupted(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.frames(200, grey)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, s.open(), Settings{}, "test", silent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// stopsAfter stops at the end of a phase.
type stopsAfter struct {
	phase string
	stop  func()
}

func (s stopsAfter) Phase(what string, _ int) (func(int), func()) {
	return func(int) {}, func() {
		if what == s.phase {
			s.stop()
		}
	}
}

// TestInterruptedWindows: a run that is stopped before its windows have an end is interrupted. It
// does not say that they cannot be measured.
func TestInterruptedWindows(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.frames(10, green)
	s.frames(30, grey)
	s.frames(10, red)
	r := s.open()
	for name, settings := range map[string]Settings{
		"still": {Still: time.Second}, "calibrate": {AutoTolerance: true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		settings.Measures = []string{"fps"}
		_, err := Run(ctx, r, settings, "test", stopsAfter{"looking for green and red", cancel})
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "frames") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEndEventBeforeTheRed: an event between the last frame of the content and its red ends it.
func TestEndEventBeforeTheRed(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.frames(10, green)
	s.frames(30, grey)
	s.check(s.w.Event(timeline.Event{At: 39*period + period/2, Source: "controller", Kind: "end"}))
	s.frames(10, red)
	found, err := Run(t.Context(), s.open(), Settings{Measures: []string{"fps"}, EndEvent: "end"}, "test", silent{})
	if err != nil || len(found.Results.Windows) != 1 || found.Results.Windows[0].End != 39 {
		t.Fatalf("got %+v, %v", found, err)
	}
}

// TestStillAfterTheSteps: a pause between the steps of a test is not its end. The rig waits for a
// stillness after the last step and then emits an event. A page may also draw the red itself.
func TestStillAfterTheSteps(t *testing.T) {
	for name, tc := range map[string]struct {
		event int // frame of the rig's event
		kind  string
		end   int
		of    string
	}{
		"after the last step":           {113, "end", 114, "end"},
		"within the stillness":          {150, "end", 114, "end"},
		"in frames that the rig missed": {108, "end", 114, "end"},
		"by a red":                      {205, "end", 204, "markers"},
		"without an event":              {113, "", 19, "end"},
		"event of another":              {5, "end", 19, "end"},
	} {
		s := newScript(t)
		s.segment(64, 64)
		s.frames(10, green)
		s.frames(10, grey)
		s.frames(90, func(int) [3]byte { return grey(9) })
		s.frames(5, func(k int) [3]byte { return grey(20 + k) })
		s.frames(90, func(int) [3]byte { return grey(24) })
		s.check(s.w.Event(timeline.Event{At: timeline.Time(tc.event) * period, Source: "controller", Kind: "end"}))
		s.frames(10, red)
		found, err := Run(t.Context(), s.open(), Settings{Measures: []string{"fps"}, Still: 80 * time.Duration(period),
			EndEvent: tc.kind}, "test", silent{})
		if err != nil || len(found.Results.Windows) != 1 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		if w := found.Results.Windows[0]; w.End != tc.end || w.Kind != tc.of {
			t.Errorf("%s: the content ends with frame %d, %s; want %d, %s", name, w.End, w.Kind, tc.end, tc.of)
		}
	}
}

// TestWindowOfAGesture: a window begins and ends with events. Without pings it ends with the last
// change before its event.
func TestWindowOfAGesture(t *testing.T) {
	for name, tc := range map[string]struct {
		ping       bool
		begin      string
		start, end int
		t0         string
	}{
		"scroll":  {false, "gesture", 24, 29, "controller gesture"},
		"click":   {true, "gesture", 24, 44, "controller gesture"},
		"no such": {false, "other", 0, 0, ""},
	} {
		s := newScript(t)
		s.segment(64, 64)
		event := func(frame int, kind string) {
			at := timeline.Time(frame)*period + period/2
			s.check(s.w.Event(timeline.Event{At: at, Source: "controller", Kind: kind}))
		}
		event(5, "navigation")
		s.frames(10, green)
		s.frames(10, grey)
		event(24, "gesture")
		if tc.ping {
			event(24, "ping")
		}
		s.frames(5, func(int) [3]byte { return grey(9) })
		s.frames(5, func(k int) [3]byte { return grey(20 + k) })
		s.frames(15, func(int) [3]byte { return grey(24) })
		event(44, "gesture-end")
		s.frames(10, red)
		found, err := Run(t.Context(), s.open(), Settings{Measures: []string{"fps"}, Begin: tc.begin,
			EndEvent: "gesture-end"}, "test", silent{})
		if tc.t0 == "" {
			if err == nil || !strings.Contains(err.Error(), "no event other in frames 10 to 44") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(found.Results.Windows) != 1 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		w := found.Results.Windows[0]
		if w.Start != tc.start || w.End != tc.end || w.Kind != "end" || w.T0 == nil || w.T0.Source != tc.t0 {
			t.Errorf("%s: frames %d to %d, %s, T0 %v", name, w.Start, w.End, w.Kind, w.T0)
		}
	}
}

// TestOneWindowThatCannotBeMeasured does not take the others with it.
func TestOneWindowThatCannotBeMeasured(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.frames(10, green)
	s.frames(10, grey)
	s.frames(10, red)
	s.frames(10, green)
	s.frames(10, red) // nothing between
	found, err := Run(t.Context(), s.open(), Settings{Measures: []string{"fps"}}, "test", silent{})
	if err != nil || len(found.Results.Windows) != 1 || found.Results.Windows[0].Start != 10 {
		t.Fatalf("got %+v, %v", found, err)
	}
	if notes := strings.Join(found.Results.Notes, "\n"); !strings.Contains(notes, "no frame between") {
		t.Errorf("the notes are %q", notes)
	}
}

// TestT0OfALaterWindow is not the command of the window before.
func TestT0OfALaterWindow(t *testing.T) {
	s := newScript(t)
	s.segment(64, 64)
	s.check(s.w.Event(timeline.Event{At: 5 * period, Source: "rig", Kind: "navigation"}))
	for range 2 {
		s.frames(10, green)
		s.frames(10, grey)
		s.frames(10, red)
	}
	found, err := Run(t.Context(), s.open(), Settings{Measures: []string{"speedindex"}}, "test", silent{})
	if err != nil {
		t.Fatal(err)
	}
	if w := found.Results.Windows; w[0].T0 == nil || w[1].T0 != nil {
		t.Errorf("T0 are %+v and %+v", w[0].T0, w[1].T0)
	}
}
