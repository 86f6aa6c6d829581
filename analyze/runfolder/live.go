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
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// Ready is a window whose results came while it was recorded.
type Ready struct {
	Window report.Window
	After  time.Duration // from when the red frame was there to be taken until the results were there
	// Whole is false where only measures that were fed while their frames came are in it: the
	// others follow from the growing file, with another Ready.
	Whole bool
	// Early and EarlyAfter are which measures were there first, and after what time.
	Early      []string
	EarlyAfter time.Duration

	window window
	losses []string // that the window's warnings end with
}

// LiveOptions say what is measured of a recording that is being made. Of the settings, those that
// need the whole recording count only for what is measured at its end.
type LiveOptions struct {
	Settings Settings
	Path     string // of the file, once it is there
	Program  string
	Clock    timeline.Clock // of the recording; nil: the rig's
	// Ready is told each window as soon as there are results, on a goroutine of its own, and once
	// more if others follow. Nil is nobody.
	Ready func(Ready)
}

// Live analyses a recording while it is made. It is a watcher of the rig: frames are fed to the
// measures as they come, and a window's results are made as soon as its red is held, on a goroutine
// of its own, so that the next frames do not wait. [Live.Results] says in the end what [Run] would
// say of the finished recording: what was found on the way is taken over where it still holds, and
// the rest is measured from the file.
type Live struct {
	o       LiveOptions
	ctx     context.Context
	live    *analyze.Live
	err     error // of feeding; from then on all is left to the end
	came    [2 * marker.Undecided]timeline.Time
	flush   func()
	fill    func() float64
	jobs    chan *job
	ended   chan struct{} // closed when no more frames come
	workers sync.WaitGroup

	mu     sync.Mutex
	ready  []Ready
	behind bool
}

// job is a window whose results are to be made.
type job struct {
	taken *analyze.Taken
	came  timeline.Time // of its red; 0 where it is too long ago to be known
}

// mostJobs is how many windows may wait to be measured. Those beyond are measured in the end.
const mostJobs = 64

// NewLive prepares to analyse a recording that is about to be made. Its context ends the work.
func NewLive(ctx context.Context, o LiveOptions) (*Live, error) {
	if o.Clock == nil {
		o.Clock = timeline.Monotonic()
	}
	l := &Live{o: o, ctx: ctx, jobs: make(chan *job, mostJobs), ended: make(chan struct{}), flush: func() {},
		fill: func() float64 { return 0 }}
	s := &o.Settings
	if slices.Equal(s.Measures, []string{analyze.QualityName}) || s.AutoTolerance || s.To > 0 || s.Still > 0 ||
		s.EndEvent != "" || s.Limit > 0 {
		return l, nil // where the window lies, or what differs, is known only from the file
	}
	lo := analyze.LiveOptions{Options: (&analysis{Settings: *s}).options(&window{tolerance: s.Tolerance}),
		MinPixels: s.MinPixels, Markers: marker.Options{Nonce: s.Nonce}}
	if !s.KeepStrip {
		lo.Masks = func(first frame.Image, region frame.Region) []frame.Region {
			d, err := strip.NewDecoder(first.Layout, rectangle(region))
			if err != nil || d.Read(first).State == strip.None {
				return nil
			}
			return stripMasks(d)
		}
	}
	var err error
	if l.live, err = analyze.NewLive(lo); err != nil {
		return nil, err
	}
	return l, nil
}

func stripMasks(d *strip.Decoder) (masks []frame.Region) {
	for _, b := range d.Geometry().Bounds() {
		masks = append(masks, frame.Region{X: b.Min.X, Y: b.Min.Y, Width: b.Dx(), Height: b.Dy()})
	}
	return masks
}

// Begin is the rig's word that frames will come.
func (l *Live) Begin(flush func(), fill func() float64) {
	l.flush, l.fill = flush, fill
	l.workers.Go(func() {
		for j := range l.jobs {
			l.measure(j)
		}
	})
}

// Frame takes the next frame.
func (l *Live) Frame(step *frame.Step, came timeline.Time) {
	if l.live == nil || l.err != nil {
		return
	}
	l.came[step.Number%len(l.came)] = came
	taken, err := l.live.Add(step)
	if l.err = err; taken == nil {
		return
	}
	j := &job{taken: taken}
	if red := taken.Marker.Red; step.Number-red < len(l.came) {
		j.came = l.came[red%len(l.came)]
	}
	select {
	case l.jobs <- j:
	default:
	}
}

// End is the rig's word that no more frames come. It waits for nothing.
func (l *Live) End(_ int, behind bool) {
	l.mu.Lock()
	l.behind = behind || l.err != nil
	l.mu.Unlock()
	close(l.jobs)
	close(l.ended)
}

// measure makes the results of a window, and tells those that it has at once before it begins with
// others. What cannot be made now is left to the end, which says why.
func (l *Live) measure(j *job) {
	r := l.open(j.taken.Marker.Red)
	if r == nil {
		return
	}
	defer r.Close() // was only read
	a := &analysis{Settings: l.o.Settings, reader: r, told: unheard{}}
	w := markerWindow(j.taken.Marker)
	if err := a.complete(l.ctx, &w); err != nil {
		return
	}
	o := a.options(&w)
	o.OwnClock = r.Info().OwnClock
	o.Progress = l.yield
	early, err := j.taken.Early(r, w.Window, o)
	if err != nil {
		return
	}
	ready := Ready{window: w}
	if len(early.Results) > 0 {
		ready.Window, ready.After = a.describeWindow(&w, early), l.since(j.came)
		ready.losses = early.Losses()
		for _, r := range early.Results {
			ready.Early = append(ready.Early, r.Measure)
		}
		ready.EarlyAfter = ready.After
		ready.Whole = len(o.Measures) == len(early.Results)
		l.tell(ready)
	}
	if ready.Whole {
		return
	}
	all, err := j.taken.Outcome(l.ctx, r, w.Window, o)
	if err != nil {
		return
	}
	ready.Window, ready.After, ready.Whole = a.describeWindow(&w, all), l.since(j.came), true
	ready.losses = all.Losses()
	l.tell(ready)
}

// yield pauses the measuring of a window while the recorder falls behind: it needs the processors
// more.
func (l *Live) yield(int) {
	const calm = 0.2 // of the ring; a healthy recorder keeps it under a tenth
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

// since is the time that has passed, and 0 where it is not known.
func (l *Live) since(came timeline.Time) time.Duration {
	if came == 0 {
		return 0
	}
	return l.o.Clock.Now().Sub(came)
}

func (l *Live) tell(r Ready) {
	if r.Whole {
		l.mu.Lock()
		l.ready = append(l.ready, r)
		l.mu.Unlock()
	}
	if l.o.Ready != nil {
		l.o.Ready(r)
	}
}

// open opens the growing file as soon as a frame is in it, and returns nil if that will not be.
func (l *Live) open(n int) *recording.Reader {
	const often = 2 * time.Millisecond // the file is looked at; it is read when it has grown
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

// Results analyses the finished recording, and returns what was ready while it was made. It is
// called once, after End.
func (l *Live) Results(ctx context.Context, told Told) (found *report.Results, ready []Ready, behind bool, err error) {
	l.workers.Wait()
	r, err := recording.Open(l.o.Path)
	if err != nil {
		return nil, l.ready, l.behind, err
	}
	defer r.Close() // was only read
	a := &analysis{Settings: l.o.Settings, reader: r, told: told, known: l.known}
	all, err := a.run(ctx, l.o.Program)
	if err != nil {
		return nil, l.ready, l.behind, err
	}
	return &all.Results, l.ready, l.behind, nil
}

// known returns what was found of a window on the way, if all that it depends on is still the same:
// an event may have come late. What is said of the window itself is said anew, since a code may
// have been drawn on the red.
func (l *Live) known(w *window) *report.Window {
	for i := range l.ready {
		was := &l.ready[i].window
		if reflect.DeepEqual(was.Window, w.Window) && slices.Equal(was.masks, w.masks) {
			known := l.ready[i].Window
			known.Warnings = append(slices.Clone(w.warnings), l.ready[i].losses...)
			return &known
		}
	}
	return nil
}

// unheard tells nobody.
type unheard struct{}

func (unheard) Phase(string, int) (advance func(int), end func()) { return func(int) {}, func() {} }
