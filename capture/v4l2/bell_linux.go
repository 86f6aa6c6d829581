//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// bell wakes a source that waits in poll(2) when its context ends: an eventfd that stays readable
// once rung.
type bell struct {
	fd   int
	poll [1]unix.PollFd
}

func newBell() (*bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	return &bell{fd: fd}, nil
}

// ringAtEnd rings when ctx ends. The returned function must be called. It undoes that and waits for
// a ring that is under way, so the bell may be closed after it.
func (b *bell) ringAtEnd(ctx context.Context) func() {
	rung := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(rung)
		_, _ = unix.Write(b.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it is rung already
	})
	return func() {
		if !stop() {
			<-rung
			var count [8]byte
			_, _ = unix.Read(b.fd, count[:]) // silent again for the next
		}
	}
}

// sleep waits for a time, or for the bell; of other files, for what they bring.
func (b *bell) sleep(d time.Duration) {
	b.poll[0] = unix.PollFd{Fd: int32(b.fd), Events: unix.POLLIN}
	// cut short by a signal: the caller looks again
	_, _ = unix.Poll(b.poll[:], int((d+time.Millisecond-1)/time.Millisecond))
}

func (b *bell) close() error {
	if b.fd < 0 {
		return nil
	}
	fd := b.fd
	b.fd = -1
	return unix.Close(fd)
}
