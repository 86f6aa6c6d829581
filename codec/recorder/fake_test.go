package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

const tick = timeline.Time(10 * time.Millisecond)

// step is one thing that a fake source does.
type step struct {
	sequence uint64
	lose     int         // TryAcquire calls on a full ring before it, as a clocked source does
	missed   frame.Cause // why the source itself left a hole
	wait     bool        // until the context ends, then go on
	flags    frame.Flags
	change   *mode // instead of a frame: the signal goes on like this
}

// mode is what a signal changes to.
type mode struct {
	width, height int
	fps           int64
	wait          bool  // for a signal that does not come: until the context ends
	fail          error // of Renegotiate
}

// fakeSource plays steps of GREY pictures whose bytes are their sequence numbers, 4x4 at first.
type fakeSource struct {
	steps   []step
	clocked bool
	fail    error
	info    *capture.Info
	counted *tail
	now     mode
	next    *mode // to be negotiated
	pace    int64 // frames a second; 0: one each tick
}

// tail is what a source says of its count at the end.
type tail struct {
	last uint64
	why  frame.Cause
}

func (s *fakeSource) Counted() (uint64, frame.Cause, bool) {
	if s.counted == nil {
		return 0, frame.NoCause, false
	}
	return s.counted.last, s.counted.why, true
}

func (s *fakeSource) Info() capture.Info {
	if s.info != nil {
		return *s.info
	}
	m := s.now
	if m.width == 0 {
		m = mode{width: 4, height: 4, fps: 100}
	}
	f, err := frame.NewFormat(frame.GREY, m.width, m.height)
	if err != nil {
		panic(err)
	}
	return capture.Info{URI: "fake:", Format: f, Clocked: s.clocked, OwnClock: true,
		Period: capture.Rational{Num: 1, Den: m.fps}}
}

func (s *fakeSource) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	size := s.Info().Format.Size()
	for len(s.steps) > 0 {
		st := s.steps[0]
		s.steps = s.steps[1:]
		for range st.lose {
			s.loseOne(ring)
		}
		if st.change != nil {
			s.next = st.change
			return capture.ErrFormatChanged
		}
		if st.wait {
			<-ctx.Done()
		}
		// Unlike a real source this one goes on after the context's end, to have frames in the ring
		// then.
		slot, err := ring.Acquire(context.Background())
		if err != nil {
			return err
		}
		for i := range slot.Bytes()[:size] {
			slot.Bytes()[i] = byte(st.sequence)
		}
		slot.Commit(size, frame.Meta{
			Sequence: st.sequence, Sampled: timeline.At(s.due(st.sequence)), Missed: st.missed, Flags: st.flags,
		})
	}
	return s.fail
}

// due is when a frame is on the screen.
func (s *fakeSource) due(n uint64) timeline.Time {
	if s.pace > 0 {
		return timeline.Time(capture.Rational{Num: 1, Den: s.pace}.Duration(n))
	}
	return timeline.Time(n) * tick
}

func (s *fakeSource) Renegotiate(ctx context.Context, events func(timeline.Event)) error {
	m := s.next
	s.next = nil
	events(timeline.Event{Source: "fake", Kind: "renegotiate"})
	if m.wait {
		<-ctx.Done()
		return ctx.Err()
	}
	if m.fail != nil {
		return m.fail
	}
	s.now = *m
	return nil
}

// loseOne holds all free slots for a moment, so that one TryAcquire fails.
func (s *fakeSource) loseOne(ring *capture.Ring) {
	var held []interface{ Abandon() }
	for {
		slot, ok := ring.TryAcquire()
		if !ok {
			break
		}
		held = append(held, slot)
	}
	for _, h := range held {
		h.Abandon()
	}
}

func (s *fakeSource) Close() error { return nil }

// fakeSink keeps its inputs.
type fakeSink struct {
	mu     sync.Mutex
	frames []frame.Meta
	gaps   []frame.Gap
	events []timeline.Event
	held   recording.Owner // the frame before, as the real writer has it
	failAt int             // WriteFrame number that fails, from 1
	calls  int
	closed bool

	formats     []frame.Format
	failSegment int      // Segment number that fails, from 1
	order       []string // of segments, gaps and frames
	onEvent     func()
	onWrite     func(call int)
	failEvents  bool
	onSegment   func()

	pressed int // SetPressure calls
}

var errDisk = errors.New("no space left on device")

func (f *fakeSink) Metadata(string, json.RawMessage) error { return nil }
func (f *fakeSink) SetPressure(float64)                    { f.pressed++ }
func (f *fakeSink) Gap(g frame.Gap) error {
	f.gaps = append(f.gaps, g)
	f.order = append(f.order, "gap")
	return nil
}
func (f *fakeSink) Expect(uint64, uint64, timeline.Time) {}
func (f *fakeSink) Ahead([][]byte)                       {}

// Segment lets go of the frame before, as the real writer does.
func (f *fakeSink) Segment(format frame.Format, _, _ int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.letGo()
	if f.onSegment != nil && len(f.formats) > 0 {
		f.onSegment()
	}
	f.formats = append(f.formats, format)
	f.order = append(f.order, "segment")
	if f.failSegment > 0 && len(f.formats) == f.failSegment {
		return errDisk
	}
	return nil
}

func (f *fakeSink) letGo() {
	if f.held != nil {
		f.held.Release()
		f.held = nil
	}
}

func (f *fakeSink) WriteFrame(_ []byte, m frame.Meta, o recording.Owner) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.onWrite != nil {
		f.onWrite(f.calls)
	}
	if f.calls == f.failAt {
		o.Release()
		return errDisk
	}
	f.letGo()
	f.held = o
	f.frames = append(f.frames, m)
	f.order = append(f.order, "frame")
	return nil
}

func (f *fakeSink) Event(e timeline.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	if f.onEvent != nil {
		f.onEvent()
	}
	if f.failEvents {
		return errDisk
	}
	return e.Validate()
}

func (f *fakeSink) Stats() recording.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := recording.Stats{Frames: uint64(len(f.frames))}
	for _, g := range f.gaps {
		s.Missing += g.Count
	}
	return s
}

func (f *fakeSink) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.letGo()
	return nil
}

// recordFake records a fake source into a fake sink, and checks what holds for every recording.
func recordFake(t *testing.T, ctx context.Context, src *fakeSource, sink *fakeSink, o Options) (Result, error) {
	t.Helper()
	r := recorderFor(t, src, sink, o)
	res, recordErr := r.record(ctx, src)
	if !sink.closed {
		t.Error("the sink was left open")
	}
	if n := r.ring.Load().Stats().Leased(); n != 0 {
		t.Errorf("%d frames were not given back to the ring", n)
	}
	if !res.balanced() {
		t.Errorf("the account does not balance: %+v", res.Account)
	}
	return res, recordErr
}

// recorderFor returns a recorder in its first stage.
func recorderFor(t *testing.T, src *fakeSource, sink sink, o Options) *recorder {
	t.Helper()
	if o.RingBytes == 0 {
		o.RingBytes = 64 << 10
	}
	r := newRecorder("fake", o)
	r.out = sink
	if err := r.enter(src.Info()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.leave(); err != nil {
			t.Error(err)
		}
	})
	return r
}
