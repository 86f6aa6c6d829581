//go:build unix

package raw

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// waitReadable waits until a read from f would not block, or ctx ends.
//
// Note: a goroutine that reads while another waits for the context was rejected. It would
// still be reading, into memory that is given back, after Run has returned.
func waitReadable(ctx context.Context, f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		const milliseconds = 50 // between two looks at the context
		ready, err := 0, error(nil)
		if e := conn.Control(func(fd uintptr) {
			ready, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, milliseconds)
		}); e != nil {
			return e
		}
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("wait for input: %w", err)
		case ready > 0:
			return nil
		}
	}
}
