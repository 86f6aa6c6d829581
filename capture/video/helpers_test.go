package video

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

// got is what a source delivered.
type got struct {
	frames [][]byte
	metas  []frame.Meta
	events []timeline.Event
	err    error
}

// play runs a source to its end through a small ring.
func play(t *testing.T, s capture.Source) (g got) {
	t.Helper()
	size := s.Info().Format.Size()
	ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(3, size)+ringbuf.Alignment), size)
	if err != nil {
		t.Fatal(err)
	}
	rd := ring.NewReader(ringbuf.Lossless)
	ran := make(chan error, 1)
	go func() {
		err := s.Run(t.Context(), ring, func(e timeline.Event) { g.events = append(g.events, e) })
		ring.Close(nil)
		ran <- err
	}()
	for {
		l, err := rd.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		g.frames = append(g.frames, bytes.Clone(l.Bytes()))
		g.metas = append(g.metas, l.Meta())
		l.Release()
	}
	g.err = <-ran
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for n, m := range g.metas {
		if m.Sequence != uint64(n) || m.Sampled.Width() != 0 {
			t.Errorf("frame %d: %+v", n, m)
		}
		if n > 0 && m.Sampled.Earliest <= g.metas[n-1].Sampled.Earliest {
			t.Errorf("frame %d is at %v, the one before at %v", n, m.Sampled, g.metas[n-1].Sampled)
		}
	}
	return g
}
