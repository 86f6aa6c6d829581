// Package screen watches the recorded frames for a test: markers, changes, stillness and colours.
package screen

import (
	"context"
	"errors"
	"fmt"
	"image"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller"
)

// Watcher answers questions about the frames of one recording ([recorder.Options.Watch]). An answer
// is the first frame that fulfils a condition. A watcher without a question costs next to nothing.
type Watcher struct {
	// Period is the nominal time from frame to frame; 0: unknown. Set it before the recording.
	Period time.Duration

	mu      sync.Mutex
	asked   *question // nil: nothing
	layout  *frame.Layout
	glance  *marker.Glance
	conv    *frame.Converter
	line    []byte
	over    chan struct{} // closed when no more frames are shown
	away    atomic.Bool   // frames are recorded that are not shown
	changed atomic.Int64
	next    int           // number of the next frame, if none is missed
	last    timeline.Time // before it, the last frame was sampled
}

var _ controller.Screen = (*Watcher)(nil)
var _ recorder.Watcher = (*Watcher)(nil)

// New returns a watcher for one recording.
func New() *Watcher { return &Watcher{over: make(chan struct{})} }

// ErrNotWatched means that the recorder did not show the frames that would have the answer.
var ErrNotWatched = errors.New("this machine is too busy to look at the frames that it records")

// question is one call of Await.
type question struct {
	all    []controller.Condition
	states []condition
	answer chan answer // has room for the only one
}

type answer struct {
	which int
	seen  controller.Seen
	err   error
}

// condition is the state of a condition.
type condition struct {
	looked bool // a frame that counts was looked at
	holds  bool // in that frame
	held   int  // frames in a row with that box, or that hold
	stretch
	before stretch // of Still: the stretch before a change that may be a caret's
	blink  marker.Blink
}

// stretch is a time without a change.
type stretch struct {
	box   image.Rectangle   // of the last change, or of the green
	since timeline.Interval // of the last change
	frame int
	first uint64 // sequence number of the last change
	seen  uint64 // frames since, without those that were lost
}

// Begin implements recorder.Watcher.
func (s *Watcher) Begin(func(), func() float64) {}

// GivenUp is called while a recording needs all of its ring.
func (s *Watcher) GivenUp() { s.away.Store(true) }

// Returns says that frames are shown again as soon as the ring has emptied.
func (*Watcher) Returns() time.Duration { return 0 }

// End implements recorder.Watcher.
func (s *Watcher) End(_ int, behind bool) {
	s.away.Store(behind)
	close(s.over)
}

// Await implements controller.Screen. Whoever asks from [recorder.Options.Started] learns by its
// context that the recording ends.
func (s *Watcher) Await(ctx context.Context, looking func(), any ...controller.Condition) (int, controller.Seen,
	error) {
	q := &question{all: any, states: make([]condition, len(any)), answer: make(chan answer, 1)}
	s.mu.Lock()
	s.asked = q
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.asked = nil
		s.mu.Unlock()
	}()
	if looking != nil {
		looking()
	}
	select {
	case a := <-q.answer:
		return a.which, a.seen, a.err
	case <-s.over:
	case <-ctx.Done():
	}
	select {
	case a := <-q.answer: // it was in time
		return a.which, a.seen, a.err
	default:
		return 0, s.moved(q), s.why(ctx)
	}
}

// moved returns the change that a stillness of a question met last.
func (s *Watcher) moved(q *question) (seen controller.Seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range q.all {
		if st := &q.states[i]; c.Kind == controller.Still && !st.box.Empty() {
			seen = controller.Seen{Frame: st.frame, At: st.since, Region: region(st.box)}
		}
	}
	return seen
}

// why returns the reason for a missing answer.
func (s *Watcher) why(ctx context.Context) error {
	if s.away.Load() {
		return ErrNotWatched
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New("the recording has ended")
}

// Changes returns the number of frames that differed from the one before.
func (s *Watcher) Changes() int64 { return s.changed.Load() }

// Frame implements Watcher. A frame after some that were not shown has their changes too. A
// condition that it fulfils may have held since the first of them.
func (s *Watcher) Frame(step *frame.Step, _ timeline.Time) {
	s.away.Store(false)
	missed, last := step.Number-s.next, s.last
	s.next, s.last = step.Number+1, step.Meta.Sampled.Latest
	if len(step.Change.Spans) > 0 {
		s.changed.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.asked
	if q == nil || len(q.answer) > 0 {
		return
	}
	if l := step.Image.Layout; l != s.layout {
		s.layout, s.glance, s.conv = l, marker.NewGlance(l), frame.NewConverter(l)
		s.line = make([]byte, 4*l.Format.Width)
		clear(q.states) // states of another format no longer apply
	}
	for i := range q.all {
		c, st := &q.all[i], &q.states[i]
		if step.Meta.Sampled.Latest < c.Since {
			continue
		}
		if err := s.within(c.Region); err != nil {
			q.answer <- answer{err: err}
			return
		}
		at := step.Meta.Sampled
		if missed > 0 {
			if c.Kind == controller.Changed && last < c.Since { // it may have been before
				q.answer <- answer{err: ErrNotWatched}
				return
			}
			if since := max(last, c.Since); since > 0 { // else it is the first frame that is shown
				at.Earliest = min(at.Earliest, since)
			}
		}
		if s.look(c, st, step, at, uint64(missed)) {
			q.answer <- answer{which: i, seen: controller.Seen{Frame: st.frame, At: st.since, Region: region(st.box)}}
			return
		}
	}
}

func (s *Watcher) within(r frame.Region) error {
	f := s.layout.Format
	if r != (frame.Region{}) && !r.In(f.Width, f.Height) {
		return fmt.Errorf("the region %v does not lie on a screen of %dx%d", r, f.Width, f.Height)
	}
	return nil
}

// heldFrames is how long a green must stand to be held.
const heldFrames = 3

// look takes a frame in and reports whether the condition holds now, since the given time. Some
// frames before were missed.
func (s *Watcher) look(c *controller.Condition, st *condition, step *frame.Step, at timeline.Interval,
	missed uint64) bool {
	first := !st.looked
	st.looked = true
	box := s.changes(step, c.Region)
	changed := !box.Empty()
	switch c.Kind {
	case controller.Changed:
		st.frame, st.since = step.Number, at
		return changed
	case controller.Still:
		st.seen += missed + 1
		known := box
		if first || missed > 0 { // a caret is known by all its changes
			known = image.Rectangle{}
		}
		if (first || changed) && !st.blinks(known, step) {
			st.stretch = stretch{box: box, since: at, frame: step.Number, first: step.Meta.Sequence}
			return false
		}
		return st.still(step, s.Period) >= c.For
	case controller.Green:
		st.frame, st.since = step.Number, at
		if first || changed {
			s.green(st, step.Image)
		}
		if st.box.Empty() {
			return false
		}
		st.held++
		return st.held >= heldFrames
	}
	st.frame, st.since = step.Number, at
	if first || changed {
		st.holds = s.shows(c, step.Image)
	}
	if !st.holds {
		st.held = 0
		return false
	}
	st.held++
	return st.held >= c.Frames
}

// blinks reports whether a change is a caret's. Then the stretch goes on that was before the first.
func (st *condition) blinks(box image.Rectangle, step *frame.Step) bool {
	switch maybe, caret := st.blink.Add(box, step.Meta.Sampled); {
	case caret && st.before.seen > 0:
		seen := st.seen
		st.stretch, st.before = st.before, stretch{}
		st.seen += seen
		return true
	case caret:
		return true
	case maybe:
		st.before = st.stretch
	default:
		st.before = stretch{}
	}
	return false
}

// still is how long nothing has changed for certain. Frames that were lost are taken off, and two
// more: whoever measures does so too, and rounds otherwise. A frame that was sampled late must not
// lengthen it: measures count periods.
func (st *condition) still(step *frame.Step, period time.Duration) time.Duration {
	passed := step.Meta.Sampled.Earliest.Sub(st.since.Latest)
	frames := step.Meta.Sequence - st.first
	if frames == 0 || st.seen <= 2 {
		return 0
	}
	seen := time.Duration(float64(passed) * float64(st.seen-2) / float64(frames))
	if period > 0 {
		seen = min(seen, time.Duration(st.seen-2)*period)
	}
	return seen
}

func (s *Watcher) green(st *condition, m frame.Image) {
	box, _ := s.glance.Green(m)
	if box != st.box {
		st.box, st.held = box, 0
	}
}

// shows looks at the colours of a frame.
func (s *Watcher) shows(c *controller.Condition, m frame.Image) bool {
	r := s.rectangle(c.Region)
	switch c.Kind {
	case controller.NoGreen:
		return !s.glance.StillGreen(m, r)
	case controller.Red:
		return s.glance.Red(m, r)
	}
	return s.filled(m, r, [3]byte{c.Colour.R, c.Colour.G, c.Colour.B})
}

// near is the tolerance of a sample of an awaited colour, as in the response measure.
const near = 12

// filled reports whether 99 % of a rectangle have a colour.
func (s *Watcher) filled(m frame.Image, r image.Rectangle, c [3]byte) bool {
	spare := r.Dx() * r.Dy() / 100
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := s.line[:4*r.Dx()]
		s.conv.RGBARow(line, m, y, r.Min.X, r.Max.X)
		for i := 0; i < len(line); i += 4 {
			if apart(line[i], c[0]) > near || apart(line[i+1], c[1]) > near || apart(line[i+2], c[2]) > near {
				spare--
			}
		}
		if spare < 0 {
			return false
		}
	}
	return true
}

func apart(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }

// changes returns the rectangle around all spans in a region that differ from the frame before.
func (s *Watcher) changes(step *frame.Step, region frame.Region) (box image.Rectangle) {
	r := s.rectangle(region)
	for _, span := range step.Change.Spans {
		x0, y0, x1, y1 := s.layout.Rect(int(span.Row), int(span.Start), int(span.End))
		if of := image.Rect(x0, y0, x1, y1); of.Overlaps(r) {
			box = box.Union(of)
		}
	}
	return box
}

// rectangle is a region of the screen, all of it where it is zero.
func (s *Watcher) rectangle(r frame.Region) image.Rectangle {
	if r == (frame.Region{}) {
		return image.Rect(0, 0, s.layout.Format.Width, s.layout.Format.Height)
	}
	return image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height)
}

func region(r image.Rectangle) frame.Region {
	return frame.Region{X: r.Min.X, Y: r.Min.Y, Width: r.Dx(), Height: r.Dy()}
}
