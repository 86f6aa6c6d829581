//go:build linux || darwin

package serve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// maxWaiting is how many bytes may wait in the kernel to be sent, beside those that are on their
// way.
const maxWaiting = 16 << 10

// shallow makes the order of sending be decided as late as possible. A socket takes megabytes, and
// more urgent data would come after them.
//
// Note: the option alone is not enough. The kernel adds to a waiting packet of 64 KiB, and checks
// for room only when it begins another. So shallow checks before each write.
func (c *connection) shallow() {
	s, is := c.Conn.(syscall.Conn)
	if !is {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxWaiting)
	}); err != nil || failed != nil {
		return // not TCP: as deep as it is
	}
	fds := make([]unix.PollFd, 1)
	ready := func(fd uintptr) bool {
		fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT}
		n, err := unix.Poll(fds, 0)
		return n != 0 || err != nil
	}
	c.room = func() error { return raw.Write(ready) }
}
