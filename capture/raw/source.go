package raw

import (
	"context"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// source is what raw and Y4M have in common.
type source struct {
	info capture.Info
	in   *input
	size int // bytes of a frame in the ring
	read frameReader
}

// frameReader reads the next frame into dst, which is as long as a frame. It returns io.EOF where
// the input ends before the frame begins.
type frameReader func(n uint64, dst []byte, events func(timeline.Event)) error

var _ capture.Source = (*source)(nil)

func (s *source) Info() capture.Info { return s.info }

func (s *source) Close() error { return s.in.Close() }

// Run delivers every frame there is.
func (s *source) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	if err := s.info.Fits(ring); err != nil {
		return err
	}
	s.in.ctx = ctx
	for n := uint64(0); s.info.Frames == 0 || n < s.info.Frames; n++ {
		slot, err := ring.Acquire(ctx)
		if err != nil {
			return capture.UnlessEnded(ctx, err)
		}
		err = s.read(n, slot.Bytes()[:s.size], events)
		if err == nil {
			at := timeline.Time(s.info.Period.Duration(n))
			slot.Commit(s.size, frame.Meta{Sequence: n, Sampled: timeline.At(at)})
			continue
		}
		slot.Abandon()
		switch {
		case err != io.EOF:
			return capture.UnlessEnded(ctx, fmt.Errorf("%s: %w", s.info.URI, err))
		case s.info.Frames != 0:
			return fmt.Errorf("%s: the file was truncated while it was read, after %d of %d frames: %w", s.info.URI,
				n, s.info.Frames, io.ErrUnexpectedEOF)
		case n == 0:
			return fmt.Errorf("%s: the input ends before the first frame: %w", s.info.URI, io.ErrUnexpectedEOF)
		}
		return nil
	}
	return nil
}

// readFrame fills dst and says how far it got if it cannot.
func readFrame(r io.Reader, n uint64, dst []byte) error {
	got, err := io.ReadFull(r, dst)
	if err == io.ErrUnexpectedEOF {
		return fmt.Errorf("the input ends in frame %d, after %d of its %d bytes; %d whole frames were delivered: %w",
			n, got, len(dst), n, err)
	}
	return err
}

// count splits the bytes of a regular file into frames.
func count(in *input, frameBytes int64) (uint64, error) {
	frames, rest := in.size/frameBytes, in.size%frameBytes
	switch {
	case rest != 0:
		return 0, fmt.Errorf("%s: %d bytes are not frames of %d bytes: %d frames and %d bytes left over; "+
			"check size, format and stride",
			in.uri, in.size, frameBytes, frames, rest)
	case frames == 0:
		return 0, fmt.Errorf("%s: the file is empty", in.uri)
	}
	return uint64(frames), nil
}
