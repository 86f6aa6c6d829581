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
func Discard(ctx context.Context, src capture.Source) (err error) {
	info := src.Info()
	layout, err := frame.NewLayout(info.Format)
	if err != nil {
		return err
	}
	memory, ring, err := newRing(info, layout.Size, 0)
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
		lease.Release()
	}
}
