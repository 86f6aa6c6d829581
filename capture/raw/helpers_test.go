package raw

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

func random(seed uint64, n int) []byte {
	var key [32]byte
	key[0] = byte(seed)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asStdin makes data standard input, as a pipe, for the length of the test. With hold the pipe stays open.
func asStdin(t *testing.T, data []byte, hold bool) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = r
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Write(data)
		if !hold {
			w.Close()
		}
	}()
	t.Cleanup(func() {
		os.Stdin = before
		r.Close() // ends a write that waits
		<-done
		w.Close()
	})
}

// got is what a source delivered.
type got struct {
	frames [][]byte
	metas  []frame.Meta
	events []timeline.Event
	err    error
}

func (g got) bytes() []byte { return bytes.Join(g.frames, nil) }

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
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error("second Close:", err)
	}
	return g
}

// wantError says whether err holds each part, or is nil for an empty want.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}
