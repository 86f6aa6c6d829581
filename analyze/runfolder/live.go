package runfolder

import (
	"context"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// Ready is a window that was measured while it was recorded.
type Ready struct {
	Window result.Window
	After  time.Duration // from the capture of the red frame until the results; 0: not known

	window window
	losses []string // the last warnings of Window
}

// LiveOptions describe the analysis of a recording that is being made.
type LiveOptions struct {
	Settings Settings
	Path     string // of the file, once it exists
	Program  string
	Clock    timeline.Clock // of the recording; nil: the rig's
	// Ready gets each window, on another goroutine than the recorder's. It may be nil.
	Ready func(Ready)
}

// Live analyses a recording while it is made. It watches the recorder for the end of a red marker.
// It then measures the window from the growing file, on a goroutine of its own.
// [Live.Results] analyses the rest of the finished recording.
type Live struct {
	o        LiveOptions
	ctx      context.Context
	detector *marker.Detector // nil: all is measured at the end
	err      error            // of the detector; all later windows are measured at the end
	last     int              // start of the newest window that was measured
	came     [16]timeline.Time
	flush    func()
	fill     func() float64
	jobs     chan *job
	ended    chan struct{} // closed after the last frame
	workers  sync.WaitGroup

	mu     sync.Mutex
	ready  []Ready
	behind bool
}

// job is a window to measure.
type job struct {
	marker marker.Window
	came   timeline.Time // of its red; 0: not known
}

// maxJobs limits the windows that wait for a measurement. Others are measured at the end.
const maxJobs = 64

// NewLive prepares to analyse a recording that is about to be made. The work ends with ctx.
func NewLive(ctx context.Context, o LiveOptions) *Live {
	if o.Clock == nil {
		o.Clock = timeline.Monotonic()
	}
	l := &Live{o: o, ctx: ctx, last: analyze.None, jobs: make(chan *job, maxJobs), ended: make(chan struct{}),
		flush: func() {}, fill: func() float64 { return 0 }}
	if s := &o.Settings; !slices.Equal(s.Measures, []string{quality.Name}) && s.To == 0 {
		l.detector = marker.New(marker.Options{Nonce: s.Nonce})
	}
	return l
}

// Begin implements recorder.Watcher.
func (l *Live) Begin(flush func(), fill func() float64) {
	l.flush, l.fill = flush, fill
	l.workers.Go(func() {
		for j := range l.jobs {
			l.measure(j)
		}
	})
}

// Frame implements recorder.Watcher. It passes on a window with the third frame of its red.
func (l *Live) Frame(step *frame.Step, came timeline.Time) {
	if l.detector == nil || l.err != nil {
		return
	}
	l.came[step.Number%len(l.came)] = came
	l.err = l.detector.Add(step, nil)
	w, ok := l.detector.Newest()
	if l.err != nil || !ok || w.Start <= l.last {
		return
	}
	l.last = w.Start
	j := &job{marker: w}
	if step.Number-w.Red < len(l.came) {
		j.came = l.came[w.Red%len(l.came)]
	}
	select {
	case l.jobs <- j:
	default:
	}
}

// End implements recorder.Watcher. It does not wait.
func (l *Live) End(_ int, behind bool) {
	l.mu.Lock()
	l.behind = behind || l.err != nil
	l.mu.Unlock()
	close(l.jobs)
	close(l.ended)
}

// measure measures a window. If that fails, the analysis at the end reports the reason.
func (l *Live) measure(j *job) {
	r := l.open(j.marker.Red)
	if r == nil {
		return
	}
	defer r.Close() // was only read
	a := &analysis{Settings: l.o.Settings, reader: r, progress: yielding{l}}
	w := markerWindow(j.marker)
	if err := a.complete(l.ctx, &w); err != nil {
		return
	}
	described, outcome, err := a.results(l.ctx, &w)
	if err != nil {
		return
	}
	ready := Ready{Window: described, window: w, losses: outcome.Losses()}
	if j.came != 0 {
		ready.After = l.o.Clock.Now().Sub(j.came)
	}
	l.mu.Lock()
	l.ready = append(l.ready, ready)
	l.mu.Unlock()
	if l.o.Ready != nil {
		l.o.Ready(ready)
	}
}

// yielding pauses an analysis while the recorder falls behind, since the recorder must not wait.
type yielding struct{ *Live }

func (y yielding) Phase(string, int) (advance func(int), end func()) {
	return y.yield, func() {}
}

func (l *Live) yield(int) {
	const calm = 0.2 // of the ring; a healthy recorder uses less than a tenth
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for l.fill() > calm {
		select {
		case <-l.ended:
			return
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// open opens the growing file as soon as it contains frame n. It returns nil if that never happens.
func (l *Live) open(n int) *recording.Reader {
	const often = 2 * time.Millisecond // between looks at the file's size
	l.flush()
	tick := time.NewTicker(often)
	defer tick.Stop()
	seen := int64(-1)
	for over := false; ; {
		if st, err := os.Stat(l.o.Path); err == nil && (st.Size() != seen || over) {
			seen = st.Size()
			if r, err := recording.Open(l.o.Path); err == nil {
				if r.Frames() > n {
					return r
				}
				r.Close() // was only read
			}
		}
		if over {
			return nil
		}
		select {
		case <-l.ctx.Done():
			return nil
		case <-l.ended:
			over = true // and look once more
		case <-tick.C:
		}
	}
}

// Results analyses the finished recording. It also returns the windows that were measured before.
// Call it once, after End.
func (l *Live) Results(ctx context.Context, progress Progress) (found *result.Results, ready []Ready, behind bool,
	err error) {
	l.workers.Wait()
	r, err := recording.Open(l.o.Path)
	if err != nil {
		return nil, l.ready, l.behind, err
	}
	defer r.Close() // was only read
	a := &analysis{Settings: l.o.Settings, reader: r, progress: progress, known: l.known}
	all, err := a.run(ctx, l.o.Program)
	if err != nil {
		return nil, l.ready, l.behind, err
	}
	return &all.Results, l.ready, l.behind, nil
}

// known returns the results of a window that was measured before, if the window is still the same.
// A late event changes T0. A late code on the red changes the warnings, so they are replaced.
func (l *Live) known(w *window) *result.Window {
	for i := range l.ready {
		was := &l.ready[i].window
		if reflect.DeepEqual(was.Window, w.Window) && was.tolerance == w.tolerance && slices.Equal(was.masks, w.masks) {
			known := l.ready[i].Window
			known.Warnings = append(slices.Clone(w.warnings), l.ready[i].losses...)
			return &known
		}
	}
	return nil
}
