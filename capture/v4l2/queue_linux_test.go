//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// closing tells when the node is closed.
type closing struct {
	*fakeDriver
	before func()
}

func (c closing) close() error { c.before(); return c.fakeDriver.close() }

// A driver that does not stop may write on into the slots that it has: they go back only when its
// file is closed.
func TestSlotsOfADriverThatDoesNotStop(t *testing.T) {
	for name, request := range map[string]uintptr{"STREAMOFF": vidiocStreamOff, "REQBUFS(0)": vidiocReqbufs} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			size := int(f.pix.sizeimage)
			ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(4, size)+ringbuf.Alignment), size)
			if err != nil {
				t.Fatal(err)
			}
			n := closing{f, func() {
				if slot, ok := ring.TryAcquire(); ok {
					slot.Abandon()
					t.Error("a slot was given back before the device was closed")
				}
			}}
			d, err := newDevice(n, "/dev/fake")
			if err != nil {
				t.Fatal(err)
			}
			q, err := newQueue(d, memUserPtr, 4, 1)
			if err != nil {
				t.Fatal(err)
			}
			for slot, ok := ring.TryAcquire(); ok; slot, ok = ring.TryAcquire() {
				if err := q.give(q.place(slot), 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := q.streamOn(); err != nil {
				t.Fatal(err)
			}
			f.fail[request] = []error{unix.EIO}
			err = q.release()
			if failed := (releaseError{}); !errors.As(err, &failed) || !errors.Is(err, unix.EIO) {
				t.Errorf("released with %v", err)
			}
			if f.closed != 1 {
				t.Errorf("the device was closed %d times", f.closed)
			}
			if slot, ok := ring.TryAcquire(); !ok {
				t.Error("the slots were not given back")
			} else {
				slot.Abandon()
			}
		})
	}
}

// A driver that does not stop is opened again, which is not a loss of the device.
func TestOpenedAnew(t *testing.T) {
	f := newFake(t)
	f.frames(2)
	f.then(func() ready {
		f.fail[vidiocDqbuf], f.fail[vidiocStreamOff] = []error{unix.EIO}, []error{unix.EIO}
		return ready{failed: true}
	})
	f.frames(2)
	p, err := f.run("memory=userptr", 16, true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.kinds, []string{"stream restarted"}) || len(p.metas) != 4 || f.closed < 2 {
		t.Errorf("told %q, %d frames, closed %d times", p.kinds, len(p.metas), f.closed)
	}
}

// A recording that was to end says that its end went wrong, and not that it was to end.
func TestTheEndGoesWrong(t *testing.T) {
	f := newFake(t)
	f.frames(2)
	f.then(func() ready { f.fail[vidiocStreamOff] = []error{unix.EIO}; f.over(); return ready{} })
	s, err := f.source("")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.over = cancel
	size := s.Info().Format.Size()
	ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(8, size)+ringbuf.Alignment), size)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(ctx, ring, func(timeline.Event) {})
	if !errors.Is(err, unix.EIO) || errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "stop the stream of /dev/fake") {
		t.Errorf("it ended with %v", err)
	}
	ring.Close(nil)
}
