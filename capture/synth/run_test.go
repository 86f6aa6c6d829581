package synth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

var _ capture.Source = (*Source)(nil)

func newRing(t testing.TB, slots, size int) *capture.Ring {
	t.Helper()
	slot := (size + ringbuf.Alignment - 1) / ringbuf.Alignment * ringbuf.Alignment
	r, err := ringbuf.New[frame.Meta](make([]byte, (slots+1)*slot), size)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// got is a frame that a reader found.
type got struct {
	meta frame.Meta
	lost uint64
	pix  []byte
}

// drain closes the ring and returns what a lossless reader, made before, finds.
func drain(t *testing.T, ring *capture.Ring, rd *ringbuf.Reader[frame.Meta]) (all []got) {
	t.Helper()
	ring.Close(nil)
	for {
		l, err := rd.Next(t.Context())
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got{l.Meta(), l.LostBefore(), bytes.Clone(l.Bytes())})
		l.Release()
	}
}

// steps is a clock that the test moves: each wait arrives as late as the next of late says.
type steps struct {
	now  timeline.Time
	late []time.Duration
}

func (s *steps) Now() timeline.Time { return s.now }

func (s *steps) wait(ctx context.Context, until timeline.Time) error {
	s.now = max(s.now, until)
	if len(s.late) > 0 {
		s.now = s.now.Add(s.late[0])
		s.late = s.late[1:]
	}
	return ctx.Err()
}

func TestRunFast(t *testing.T) {
	s := open(t, "pingpong", "size=32x16&frames=400&fps=50&seed=2")
	ring := newRing(t, 410, s.Info().Format.Size())
	rd := ring.NewReader(ringbuf.Lossless)
	var events []timeline.Event
	if err := s.Run(t.Context(), ring, func(e timeline.Event) { events = append(events, e) }); err != nil {
		t.Fatal(err)
	}
	frames := drain(t, ring, rd)
	if len(frames) != 400 {
		t.Fatalf("%d frames, want 400", len(frames))
	}
	for n, f := range frames {
		want := frame.Meta{Sequence: uint64(n), Sampled: timeline.At(timeline.Time(n * 20e6))}
		if f.meta != want {
			t.Fatalf("frame %d: meta %+v, want %+v", n, f.meta, want)
		}
		if !bytes.Equal(f.pix, render(s, uint64(n))) {
			t.Fatalf("frame %d is not what Render gives", n)
		}
	}
	truth := s.Truth()
	if len(events) != 10 { // 8 in the cycle of 320 frames, and 2 of the next
		t.Fatalf("%d pings, want 10", len(events))
	}
	for i, e := range events {
		n := truth.Pings[i%8].Frame + uint64(i/8)*truth.Cycle.Frames
		if err := e.Validate(); err != nil || e.Kind != "ping" || e.At != timeline.Time(n*20e6) {
			t.Errorf("event %d: %+v (%v), want a ping at frame %d", i, e, err, n)
		}
	}
}

func TestRunOnTheClock(t *testing.T) {
	const ms = time.Millisecond
	s := open(t, "noise", "size=32x16&frames=12&fps=100&pace=realtime")
	// Frame 2 comes 4 ms late and is shown; frame 5 comes 95 ms late: 5 and 6 are over, 7 and those
	// behind it waited.
	clock := &steps{now: 1000, late: []time.Duration{0, 0, 4 * ms, 0, 0, 95 * ms}}
	s.clock, s.wait = clock, clock.wait
	ring := newRing(t, 20, s.Info().Format.Size())
	rd := ring.NewReader(ringbuf.Lossless)
	if err := s.Run(t.Context(), ring, nil); err != nil {
		t.Fatal(err)
	}
	frames := drain(t, ring, rd)
	want := []uint64{0, 1, 2, 3, 4, 7, 8, 9, 10, 11}
	if len(frames) != len(want) {
		t.Fatalf("%d frames, want %d", len(frames), len(want))
	}
	for i, f := range frames {
		m := frame.Meta{Sequence: want[i], Sampled: timeline.At(timeline.Time(1000 + want[i]*10e6))}
		if want[i] == 7 {
			m.Missed = frame.SourceLate
		}
		if f.meta != m || !bytes.Equal(f.pix, render(s, want[i])) {
			t.Errorf("frame %d: meta %+v, want %+v", i, f.meta, m)
		}
	}
}

// TestRunSteadily: a late frame delays the rest, none is lost, and all keep their times.
func TestRunSteadily(t *testing.T) {
	s := open(t, "noise", "size=32x16&frames=12&fps=100&pace=steady")
	clock := &steps{late: []time.Duration{0, 0, 4 * time.Millisecond, 0, 0, 95 * time.Millisecond}}
	s.clock, s.wait = clock, clock.wait
	ring := newRing(t, 4, s.Info().Format.Size())
	rd := ring.NewReader(ringbuf.Lossless)
	over := make(chan error, 1)
	go func() {
		err := s.Run(t.Context(), ring, nil)
		ring.Close(nil)
		over <- err
	}()
	for n := range uint64(12) {
		lease, err := rd.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := lease.Meta(); got != (frame.Meta{Sequence: n, Sampled: timeline.At(timeline.Time(n * 10e6))}) {
			t.Errorf("frame %d: %+v", n, got)
		}
		lease.Release()
	}
	if err := <-over; err != nil || clock.now < 195e6 { // 110 ms until the last, and up to 10 ms late
		t.Errorf("it ends at %v, %v", clock.now, err)
	}
}

// TestLastFrameIsShown: however late, a scene ends with its end.
func TestLastFrameIsShown(t *testing.T) {
	s := open(t, "static", "size=32x16&frames=12&fps=100&pace=realtime&markers=1")
	clock := &steps{late: []time.Duration{0, time.Hour}}
	s.clock, s.wait = clock, clock.wait
	ring := newRing(t, 20, s.Info().Format.Size())
	rd := ring.NewReader(ringbuf.Lossless)
	if err := s.Run(t.Context(), ring, nil); err != nil {
		t.Fatal(err)
	}
	frames := drain(t, ring, rd)
	if n := len(frames); n != 2 || frames[1].meta.Sequence != 71 || frames[1].meta.Missed != frame.SourceLate {
		t.Errorf("%d frames, the last %+v", n, frames[n-1].meta)
	}
}

// TestFullRing: on the clock a full ring costs frames and their sequence numbers, and nothing
// waits.
func TestFullRing(t *testing.T) {
	s := open(t, "noise", "size=32x16&frames=30&pace=realtime")
	clock := &steps{late: []time.Duration{0, 0, 0, 0, 0, 0, 0, 168 * time.Millisecond}}
	s.clock, s.wait = clock, clock.wait
	ring := newRing(t, 4, s.Info().Format.Size())
	rd := ring.NewReader(ringbuf.Lossless)
	if err := s.Run(t.Context(), ring, nil); err != nil {
		t.Fatal(err)
	}
	committed, lost := ring.Stats().Committed, ring.Stats().Lost
	// three were missed by the source itself: 168 ms are ten periods, of which the buffers cover
	// the last
	if committed+lost != 27 || committed < 3 {
		t.Errorf("committed %d and lost %d, want 27 in all", committed, lost)
	}
	for i, f := range drain(t, ring, rd) {
		if f.meta.Sequence != uint64(i) {
			t.Errorf("frame %d has sequence number %d", i, f.meta.Sequence)
		}
	}
}

func TestRunEnds(t *testing.T) {
	t.Run("context", func(t *testing.T) {
		for _, pace := range []string{"fast", "realtime"} {
			s := open(t, "static", "size=8x8&pace="+pace)
			ring := newRing(t, 4, s.Info().Format.Size())
			ring.NewReader(ringbuf.Lossless)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if err := s.Run(ctx, ring, nil); err != nil {
				t.Errorf("%s: %v", pace, err)
			}
			cancel()
		}
	})
	t.Run("small slots", func(t *testing.T) {
		s := open(t, "static", "size=64x64")
		if err := s.Run(t.Context(), newRing(t, 4, 100), nil); err == nil {
			t.Error("played into slots that are too small")
		}
	})
	t.Run("closed", func(t *testing.T) {
		s := open(t, "static", "size=64x64")
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if err := s.Run(t.Context(), newRing(t, 4, s.Info().Format.Size()), nil); !errors.Is(err, os.ErrClosed) {
			t.Errorf("error %v, want os.ErrClosed", err)
		}
	})
}

// TestNothingAllocated plays whole cycles into a ring, event and all.
func TestNothingAllocated(t *testing.T) {
	for _, scene := range sceneNames() {
		s := open(t, scene, "size=320x240&markers=1&frames=2000&stride=1300")
		ring := newRing(t, 4, s.Info().Format.Size())
		p := &player{Source: s, ring: ring, events: func(timeline.Event) {}}
		ctx := t.Context()
		allocs := testing.AllocsPerRun(1500, func() {
			slot, err := ring.Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			p.happen(p.next)
			p.show(slot)
			p.next++
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations a frame", scene, allocs)
		}
	}
}
