package rig

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

// Discard has a source deliver all its frames through a ring to nobody: what a source costs by itself.
func Discard(ctx context.Context, src capture.Source) error { return Dump(ctx, src, nil) }

// Dump writes the bytes of all frames that a source delivers to out, one after the other, or nowhere for nil.
func Dump(ctx context.Context, src capture.Source, out io.Writer) (err error) {
	info := src.Info()
	layout, err := frame.NewLayout(info.Format)
	if err != nil {
		return err
	}
	memory, ring, err := newRing(info, layout.Size, 0, 1)
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
	var failed error // what cannot be written is still taken, so that the source comes to its end
	for {
		lease, err := reader.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return errors.Join(failed, source.Wait())
		}
		if err != nil {
			return errors.Join(err, source.Wait())
		}
		if out != nil && failed == nil {
			_, failed = out.Write(lease.Bytes())
		}
		lease.Release()
	}
}
