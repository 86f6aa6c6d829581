package recorder

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// Discard has a source deliver all its frames through a ring to nobody: what a source costs by
// itself.
func Discard(ctx context.Context, src capture.Source) error { return Dump(ctx, src, nil) }

// Dump writes the bytes of all frames of a source to out, one after the other. A nil out discards
// them.
func Dump(ctx context.Context, src capture.Source, out io.Writer) error {
	var failed error // what cannot be written is still taken, so that the source comes to its end
	err := deliver(ctx, src, 0, func(pix []byte, _ frame.Meta) {
		if out != nil && failed == nil {
			_, failed = out.Write(pix)
		}
	})
	return errors.Join(failed, err)
}

// Peek shows a source's frames as they come, until look wants no more or ctx ends. Of a source on
// the clock some are left out while look takes its time; little memory is used.
func Peek(ctx context.Context, src capture.Source, look func(pix []byte, m frame.Meta) (more bool)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	size, err := frameBytes(src.Info())
	if err != nil {
		return err
	}
	return deliver(ctx, src, int64(ringbuf.BytesFor(minSlots, size)), func(pix []byte, m frame.Meta) {
		if ctx.Err() == nil && !look(pix, m) {
			stop()
		}
	})
}

// deliver runs a source through a ring of ringBytes, or of its usual size for 0.
func deliver(ctx context.Context, src capture.Source, ringBytes int64,
	take func(pix []byte, m frame.Meta)) (err error) {
	info := src.Info()
	size, err := frameBytes(info)
	if err != nil {
		return err
	}
	memory, ring, err := newRing(info, size, ringBytes, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	reader := ring.NewReader(ringbuf.Lossless)
	defer reader.Close()
	var source errgroup.Group
	source.Go(func() error {
		err := src.Run(ctx, ring, func(timeline.Event) {})
		ring.Close(nil)
		return err
	})
	for {
		lease, err := reader.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return source.Wait()
		}
		if err != nil {
			return errors.Join(err, source.Wait())
		}
		take(lease.Bytes(), lease.Meta())
		lease.Release()
	}
}
