package recorder

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/ringbuf"
)

// Watcher sees frames while they are recorded. Its methods are called one after another.
//
// It gets each frame after the writer, in the ring's slot, with the change that the writer found.
// So watching costs the recorder next to no time. It can only occupy the slots of frames that it
// has not looked at yet. A source that can wait waits for the watcher too. With a clocked source it
// is given up in two cases: half of the ring is in use, or a quarter of the ring waits for it.
type Watcher interface {
	// Begin comes before the first frame. flush lets the recorded frames reach the file soon, and
	// does not wait. fill returns how full the ring is, from 0 to 1, and 0 if the source waits. The
	// watcher should pause other work while it rises. Both may be called from any goroutine until
	// Record returns.
	Begin(flush func(), fill func() float64)
	// Frame shows a frame; its number is that in the recording. The step is valid during the call.
	// It has no previous image.
	// came is when the frame was there to be taken, on the rig's clock.
	Frame(step *frame.Step, came timeline.Time)
	// End comes after the last frame. behind says that the watcher was given up: frames from number
	// next on were recorded and not shown.
	End(next int, behind bool)
}

// givenUpWatcher is a watcher that learns at once that it is given up. End comes only at the end of
// the recording. The call may come from any goroutine, including the pump's while a frame is shown.
// It must not wait.
type givenUpWatcher interface{ GivenUp() }

// returningWatcher is a watcher that needs not see every frame. Given up, it comes back when the
// ring has emptied. It waits at least for the time that Returns says. Each time it waits twice as
// long, up to half a minute. Frames in between are not shown. The change of the next one is that
// since the last one that was shown, without moves.
type returningWatcher interface{ Returns() time.Duration }

// changeTeller is a sink that tells how a frame differs from the one before.
type changeTeller interface {
	WriteFrameChange(pix []byte, m frame.Meta, owner recording.Owner, c *frame.Change) error
	Flush()
}

const (
	watchRing     = 0.5 // how full a clocked source's ring may be with somebody watching
	watchPart     = 4   // of the ring's slots, one in so many may wait for the watcher
	watchPatience = 100 * time.Millisecond

	returnRing   = 1.0 / 4 // how full the ring may be when a watcher comes back
	returnAtMost = 30 * time.Second
)

// watch is the watcher of a recording, through all of its stages.
type watch struct {
	watcher Watcher
	out     changeTeller
	behind  atomic.Bool
	next    int // number of the next frame to show; of the goroutine that shows
	at      atomic.Pointer[watchPump]

	returns bool
	away    bool // it was given up, and comes back at back; of the pump, as is what follows
	back    timeline.Time
	pause   time.Duration // before it comes back the next time
}

// newWatch returns nil where nobody watches, or nothing can be told.
func newWatch(w Watcher, out sink, fill func() float64) *watch {
	if w == nil {
		return nil
	}
	teller, ok := out.(changeTeller)
	if !ok {
		w.End(0, true)
		return nil
	}
	w.Begin(teller.Flush, fill)
	of := &watch{watcher: w, out: teller}
	if r, ok := w.(returningWatcher); ok {
		of.returns, of.pause = true, r.Returns()
	}
	return of
}

// end marks the end of the frames for the watcher. All pumps have returned.
func (w *watch) end() {
	if w != nil {
		w.watcher.End(w.next, w.behind.Load())
	}
}

// guard gives the watcher up if the ring is too full for one. It is called from time to time, in
// case that the pump cannot.
func (w *watch) guard() {
	if w == nil {
		return
	}
	if l := w.at.Load(); l != nil && l.crowded() {
		l.giveUp()
	}
}

// watchPump shows a stage's frames to the watcher, on a goroutine of its own.
type watchPump struct {
	*watch
	ring    *capture.Ring
	layout  *frame.Layout
	clocked bool
	ownTime bool
	clock   timeline.Clock
	queue   chan *watchedFrame // of frames that were written
	free    chan *watchedFrame
	done    chan struct{}
	unseen  frame.Change // of one frame while the watcher is away; of the pump

	mu            sync.Mutex
	missed, spare []frame.Span // the change in all frames since the last that was shown, and room for the next sum
	to            int          // the number after the last of them
}

// watchedFrame is a frame on its way to the watcher.
type watchedFrame struct {
	lease  *ringbuf.Lease[frame.Meta]
	step   frame.Step
	change frame.Change
	rows   [][]byte
	came   timeline.Time
}

// newWatchPump begins to show a stage's frames. It returns nil where nobody watches.
func (w *watch) newWatchPump(s *stage) *watchPump {
	if w == nil || w.behind.Load() && !w.returns {
		return nil
	}
	layout, err := frame.NewLayout(s.info.Format)
	if err != nil {
		return nil // and no stage
	}
	waiting := max(1, s.ring.Slots()/watchPart)
	all := waiting + 1 // the one that is shown
	l := &watchPump{
		watch: w, ring: s.ring, layout: layout, clocked: s.info.Clocked, ownTime: s.info.OwnClock, clock: s.clock,
		queue: make(chan *watchedFrame, all), free: make(chan *watchedFrame, all), done: make(chan struct{}),
	}
	for range all {
		l.free <- &watchedFrame{rows: make([][]byte, 0, len(layout.Rows))}
	}
	w.at.Store(l)
	go l.show()
	return l
}

// write hands a frame to the sink, as WriteFrame, and then to the watcher. It belongs to the pump
// and allocates nothing once spans have found room. watched is false, and nothing is done, where
// the watcher was given up for good.
func (l *watchPump) write(number int, lease *ringbuf.Lease[frame.Meta], m frame.Meta) (watched bool, err error) {
	s := l.room()
	if s == nil {
		if l == nil || !l.returns {
			return false, nil
		}
		if err = l.out.WriteFrameChange(lease.Bytes(), m, lease, &l.unseen); err == nil {
			l.mu.Lock()
			l.miss(number, l.unseen.Spans)
			l.mu.Unlock()
		}
		return true, err
	}
	if s.came = m.Sampled.Latest; !l.clocked || l.ownTime {
		s.came = l.clock.Now()
	}
	lease.Retain()
	if err := l.out.WriteFrameChange(lease.Bytes(), m, lease, &s.change); err != nil {
		lease.Release()
		l.free <- s
		return true, err
	}
	s.lease = lease
	s.step = frame.Step{Number: number, Meta: m, Change: &s.change}
	l.queue <- s // it has room for all there are
	return true, nil
}

// room returns a watchedFrame to fill, or nil if the watcher is given up or must be.
func (l *watchPump) room() *watchedFrame {
	if l == nil || l.behind.Load() && !l.comeBack() {
		return nil
	}
	if !l.clocked {
		return <-l.free // show gives every one back
	}
	if !l.crowded() {
		select {
		case s := <-l.free:
			return s
		default:
		}
	}
	l.giveUp()
	return nil
}

// comeBack has a watcher that was given up come back, if it does such and its time has come.
func (l *watchPump) comeBack() bool {
	if !l.returns {
		return false
	}
	now := l.clock.Now()
	if !l.away {
		l.away, l.back = true, now+timeline.Time(l.pause)
		l.pause = min(2*l.pause, returnAtMost)
	}
	if now < l.back || l.ring.Fill() > returnRing {
		return false
	}
	l.away = false
	l.behind.Store(false)
	return true
}

// crowded reports whether a ring that must not lose anything is half full.
func (l *watchPump) crowded() bool { return l.clocked && l.ring.Fill() > watchRing }

// giveUp gives back what the watcher has not looked at. Any goroutine may call it.
func (l *watchPump) giveUp() {
	if !l.behind.Swap(true) {
		if w, ok := l.watcher.(givenUpWatcher); ok {
			w.GivenUp()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		select {
		case s, ok := <-l.queue:
			if !ok {
				return
			}
			l.miss(s.step.Number, s.change.Spans)
			s.lease.Release()
			l.free <- s
		default:
			return
		}
	}
}

// show is the goroutine.
func (l *watchPump) show() {
	defer close(l.done)
	for s := range l.queue {
		if l.sees(s) {
			s.look(l.layout)
			l.watcher.Frame(&s.step, s.came)
			l.next = s.step.Number + 1
		}
		s.lease.Release()
		l.free <- s
	}
}

// miss adds the change of a frame that is not shown. The caller holds the lock.
func (l *watchPump) miss(number int, spans []frame.Span) {
	l.to = max(l.to, number+1)
	l.spare = frame.AppendUnion(l.spare[:0], l.missed, spans)
	l.missed, l.spare = l.spare, l.missed
}

// sees reports whether a frame is shown. It then has the change of those that were missed too. A
// frame before one that was missed is not shown.
func (l *watchPump) sees(s *watchedFrame) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.behind.Load() || s.step.Number < l.to {
		l.miss(s.step.Number, s.change.Spans)
		return false
	}
	if len(l.missed) > 0 {
		l.miss(s.step.Number, s.change.Spans)
		s.change.Spans, l.missed = l.missed, s.change.Spans[:0]
		s.change.Moves = s.change.Moves[:0]
	}
	return true
}

// look makes the step's image a view of the frame.
func (s *watchedFrame) look(layout *frame.Layout) {
	pix := s.lease.Bytes()
	s.rows = s.rows[:0]
	for y := range layout.Rows {
		s.rows = append(s.rows, layout.Row(pix, y))
	}
	s.step.Image = frame.Image{Layout: layout, Rows: s.rows}
}

// close says that the stage has no more frames. It belongs to the pump.
func (l *watchPump) close() {
	if l != nil {
		close(l.queue)
	}
}

// wait waits until the watcher holds no frame of the stage. One that is slow is given up where the
// signal comes back meanwhile.
func (l *watchPump) wait(hurry bool) {
	if l == nil {
		return
	}
	if hurry {
		timer := time.NewTimer(watchPatience)
		defer timer.Stop()
		select {
		case <-l.done:
		case <-timer.C:
			l.giveUp()
		}
	}
	<-l.done
	l.at.CompareAndSwap(l, nil)
}
