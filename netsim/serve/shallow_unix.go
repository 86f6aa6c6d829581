//go:build linux || darwin

package serve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// mostWaiting is how many bytes may wait in the kernel to be sent, beside those that are on their
// way.
const mostWaiting = 16 << 10

// shallow keeps it from being decided long before a line has room what is sent on it next: a socket
// takes megabytes, among which what is more urgent would come too late.
//
// Note: the option alone does not do it. The kernel goes on adding to a packet of 64 KiB that waits
// already, and asks for room only when it begins another; so it is asked before each write.
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
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, mostWaiting)
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
