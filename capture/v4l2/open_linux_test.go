//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waitingNode waits as the kernel does: for the bell, and here for nothing else.
type waitingNode struct {
	*fakeDriver
	once    sync.Once
	waiting chan struct{} // closed when a wait begins
}

func (w *waitingNode) wait(b *bell, _ time.Duration, _ bool) (ready, error) {
	w.once.Do(func() { close(w.waiting) })
	b.sleep(time.Hour)
	return ready{}, nil
}

// Whoever waits for a signal may give up. Nothing is left open then.
func TestOpenIsInterrupted(t *testing.T) {
	f := newFake(t)
	f.signal = unix.ENOLINK
	n := &waitingNode{fakeDriver: f, waiting: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-n.waiting
		cancel()
	}()
	s, err := openWith(ctx, "/dev/fake", url.Values{"wait": {"1h"}}, func(string) (node, error) { return n, nil }, nil)
	if err == nil {
		t.Fatal("it opens without a signal")
	}
	if s != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "wait for a signal") {
		t.Errorf("%v, %v", s, err)
	}
	if f.closed != 1 {
		t.Errorf("the device was closed %d times", f.closed)
	}
}

// A source goes on when the context that it was opened with has ended.
func TestOpenedForLonger(t *testing.T) {
	f := newFake(t)
	f.frames(3)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := openWith(ctx, "/dev/fake", nil, f.open, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	s.(*source).clock = f.clock
	p, err := f.record(s.(*source), 16, true)
	if err != nil {
		t.Fatal(err)
	}
	p.check(t, []uint64{0, 1, 2}, 0)
}
