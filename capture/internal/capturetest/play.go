// Package capturetest has what tests of several sources need. Only tests import it.
package capturetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// Delivered is what a source delivered in one run.
type Delivered struct {
	Frames [][]byte
	Metas  []frame.Meta
	Events []timeline.Event
	Err    error // of Run
}

// Bytes returns all frames, one behind the other.
func (d Delivered) Bytes() []byte { return bytes.Join(d.Frames, nil) }

// Play runs a source to its end through a ring of three slots. It closes the source twice, as the
// contract allows.
func Play(t testing.TB, s capture.Source) (d Delivered) {
	t.Helper()
	size := s.Info().Format.Size()
	ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(3, size)+ringbuf.Alignment), size)
	if err != nil {
		t.Fatal(err)
	}
	reader := ring.NewReader(ringbuf.Lossless)
	ran := make(chan error, 1)
	go func() {
		err := s.Run(t.Context(), ring, func(e timeline.Event) { d.Events = append(d.Events, e) })
		ring.Close(nil)
		ran <- err
	}()
	for {
		lease, err := reader.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Frames = append(d.Frames, bytes.Clone(lease.Bytes()))
		d.Metas = append(d.Metas, lease.Meta())
		lease.Release()
	}
	d.Err = <-ran
	for _, which := range []string{"first", "second"} {
		if err := s.Close(); err != nil {
			t.Errorf("%s Close: %v", which, err)
		}
	}
	return d
}
