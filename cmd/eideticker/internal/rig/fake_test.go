package rig

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
}

// fakeSource plays steps of 4x4 pictures whose bytes are their sequence numbers.
type fakeSource struct {
	steps   []step
	clocked bool
	fail    error
	info    *capture.Info
}

func (s *fakeSource) Info() capture.Info {
	if s.info != nil {
		return *s.info
	}
	f, err := frame.NewFormat(frame.GREY, 4, 4)
	if err != nil {
		panic(err)
	}
	return capture.Info{URI: "fake:", Format: f, Clocked: s.clocked, OwnClock: true, Period: capture.Rational{Num: 1, Den: 100}}
}

func (s *fakeSource) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	for _, st := range s.steps {
		if st.wait {
			<-ctx.Done()
		}
		for range st.lose {
			s.loseOne(ring)
		}
		// Unlike a real source this one goes on after the context's end, to have frames in the ring then.
		slot, err := ring.Acquire(context.Background())
		if err != nil {
			return err
		}
		for i := range slot.Bytes()[:16] {
			slot.Bytes()[i] = byte(st.sequence)
		}
		slot.Commit(16, frame.Meta{Sequence: st.sequence, Sampled: timeline.At(timeline.Time(st.sequence) * tick), Missed: st.missed})
	}
	return s.fail
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

// fakeSink keeps what it is told.
type fakeSink struct {
	mu     sync.Mutex
	frames []frame.Meta
	gaps   []frame.Gap
	events []timeline.Event
	held   recording.Owner // the frame before, as the real writer has it
	failAt int             // WriteFrame number that fails, from 1
	calls  int
	drop   int // frames to drop as under pressure
	closed bool

	pressed int // SetPressure calls
}

var errDisk = errors.New("no space left on device")

func (f *fakeSink) Metadata(string, json.RawMessage) error   { return nil }
func (f *fakeSink) Segment(frame.Format, int64, int64) error { return nil }
func (f *fakeSink) SetPressure(float64)                      { f.pressed++ }
func (f *fakeSink) Gap(g frame.Gap) error                    { f.gaps = append(f.gaps, g); return nil }
func (f *fakeSink) WriteFrame(_ []byte, m frame.Meta, o recording.Owner) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.calls == f.failAt {
		o.Release()
		return errDisk
	}
	if f.held != nil {
		f.held.Release()
	}
	f.held = o
	f.frames = append(f.frames, m)
	return nil
}

func (f *fakeSink) Event(e timeline.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	return e.Validate()
}

func (f *fakeSink) Stats() recording.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := recording.Stats{Frames: uint64(len(f.frames) - f.drop), Missing: uint64(f.drop)}
	for _, g := range f.gaps {
		s.Missing += g.Count
	}
	return s
}

func (f *fakeSink) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.held != nil {
		f.held.Release()
		f.held = nil
	}
	return nil
}

// recordFake records a fake source into a fake sink, and checks what holds for every recording.
func recordFake(t *testing.T, ctx context.Context, src *fakeSource, sink *fakeSink, o Options) (Result, error) {
	t.Helper()
	info := src.Info()
	layout, err := frame.NewLayout(info.Format)
	if err != nil {
		t.Fatal(err)
	}
	memory, ring, err := newRing(info, layout.Size, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	res, recordErr := newRecorder(info, layout, ring, sink, o).record(ctx, src, "fake")
	if !sink.closed {
		t.Error("the sink was left open")
	}
	if n := ring.Stats().Leased(); n != 0 {
		t.Errorf("%d frames were not given back to the ring", n)
	}
	if err := memory.Close(); err != nil {
		t.Error(err)
	}
	if !res.Balanced() {
		t.Errorf("the account does not balance: %+v", res.Account)
	}
	return res, recordErr
}
