package recorder

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// stage is the part of a recording in which the signal keeps one format: one ring, one run of the
// source, one segment of the file.
type stage struct {
	*recorder
	info       capture.Info
	frameBytes int
	memory     *ringbuf.Memory
	ring       *capture.Ring
	reader     *ringbuf.Reader[frame.Meta]
	watchPump  *watchPump // nil: nobody watches

	// Of the frames that were handed to the sink:
	before      int // how many the stages before had
	frames      int
	first, last frame.Meta
	fit         timeline.PeriodFit
}

// ringUse is how much of a ring was needed.
type ringUse struct{ slots, bytes, highWater int }

// fuller reports whether u came nearer to its end.
func (u ringUse) fuller(than ringUse) bool {
	return than.slots == 0 || u.highWater*than.slots > than.highWater*u.slots
}

// frameBytes is how many bytes a frame of the source takes.
func frameBytes(info capture.Info) (int, error) {
	layout, err := frame.NewLayout(info.Format)
	if err != nil {
		return 0, err
	}
	return layout.Size, nil
}

// enter opens the stage of a format: from here on there is a ring.
func (r *recorder) enter(info capture.Info) error {
	size, err := frameBytes(info)
	if err != nil {
		return err
	}
	want := r.options.RingBytes
	if len(r.segments) > 0 && want > 0 {
		// It was asked for when frames were smaller: rather a little more memory than the end of
		// the recording.
		want = max(want, int64(ringbuf.BytesFor(minSlots, size)))
	}
	memory, ring, err := newRing(info, size, want, r.share)
	if err != nil {
		return err
	}
	r.at = &stage{
		recorder: r, info: info, frameBytes: size, memory: memory, ring: ring, reader: ring.NewReader(ringbuf.Lossless),
		before: int(r.pump.account.written),
	}
	r.ring.Store(ring)
	return nil
}

// leave closes the stage, if there is one, and gives its memory back. Nobody may hold a frame of it
// any more.
func (r *recorder) leave() error {
	s := r.at
	if s == nil {
		return nil
	}
	r.at = nil
	s.watchPump.wait(false)
	r.segments = append(r.segments, s.segment())
	if u := s.use(); u.fuller(r.fullest) {
		r.fullest = u
	}
	if s.info.Clocked {
		r.notes.add("huge pages", s.memory.HugePagesError())
		r.notes.add("locked memory", s.memory.LockError())
		if r.host != nil {
			r.notes.add("locked memory", r.host.lockErr)
		}
	}
	if n := s.ring.Stats().Leased(); n > 0 {
		// The memory is leaked: giving it back would end the process at the next look at it.
		return fmt.Errorf("record %s: %d frames were not released to the ring: this is a bug of the program", r.path,
			n)
	}
	return s.memory.Close()
}

func (s *stage) segment() Segment {
	return Segment{
		Format: s.info.Format, First: s.before, Frames: s.frames, Period: s.info.Period,
		FemtoPeriod: s.fit.FemtoPeriod(), Span: s.last.Sampled.Mid().Sub(s.first.Sampled.Mid()),
	}
}

func (s *stage) use() ringUse {
	return ringUse{s.ring.Slots(), s.ring.Slots() * s.ring.SlotSize(), s.ring.Stats().HighWater}
}

// run lets the source fill the ring and the pump empty it. It ends when the source has returned and
// the ring is empty.
func (s *stage) run(ctx context.Context, src capture.Source, p *pump) (writeErr, sourceErr error) {
	s.watchPump = s.watching.newWatchPump(s)
	var source errgroup.Group
	source.Go(func() error {
		defer s.ring.Close(nil)
		err := s.onThread(func() error { return src.Run(ctx, s.ring, s.emit) })
		if !errors.Is(err, capture.ErrFormatChanged) {
			s.sourceOver(err)
		}
		return err
	})
	writeErr = p.run(s)
	s.watchPump.close()
	return writeErr, source.Wait()
}

// took counts a frame that is handed to the sink.
func (s *stage) took(m frame.Meta) {
	if s.frames == 0 {
		s.first = m
	}
	s.last = m
	s.frames++
	s.fit.Add(m.Sequence, m.Sampled.Mid())
}
