//go:build linux && (amd64 || arm64)

package sockets

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity/sockets"
)

// calls returns the properties of recorded calls by number.
func calls() map[uint32]uint32 {
	all := map[uint32]uint32{
		unix.SYS_CONNECT:      uint32(sockets.Connect) | hasFD | fullExit | address1,
		unix.SYS_ACCEPT:       uint32(sockets.Accept) | hasFD | fullExit | resultFD,
		unix.SYS_ACCEPT4:      uint32(sockets.Accept4) | hasFD | fullExit | resultFD,
		unix.SYS_SENDTO:       uint32(sockets.Sendto) | hasFD | fullExit | address4 | flags3,
		unix.SYS_SENDMSG:      uint32(sockets.Sendmsg) | hasFD | fullExit | flags2,
		unix.SYS_SENDMMSG:     uint32(sockets.Sendmmsg) | hasFD | fullExit | flags3,
		unix.SYS_RECVFROM:     uint32(sockets.Recvfrom) | hasFD | fullExit | flags3,
		unix.SYS_RECVMSG:      uint32(sockets.Recvmsg) | hasFD | fullExit | flags2,
		unix.SYS_RECVMMSG:     uint32(sockets.Recvmmsg) | hasFD | fullExit | flags3,
		unix.SYS_READ:         uint32(sockets.Read) | hasFD | fullExit | socketOnly,
		unix.SYS_READV:        uint32(sockets.Readv) | hasFD | fullExit | socketOnly,
		unix.SYS_WRITE:        uint32(sockets.Write) | hasFD | fullExit | socketOnly,
		unix.SYS_WRITEV:       uint32(sockets.Writev) | hasFD | fullExit | socketOnly,
		unix.SYS_PPOLL:        uint32(sockets.Ppoll),
		unix.SYS_PSELECT6:     uint32(sockets.Pselect6),
		unix.SYS_EPOLL_PWAIT:  uint32(sockets.EpollPwait) | hasFD,
		unix.SYS_EPOLL_PWAIT2: uint32(sockets.EpollPwait2) | hasFD,
		unix.SYS_CLOSE:        uint32(sockets.Close) | hasFD | socketOnly | fullEnter,
	}
	maps.Copy(all, oldCalls())
	return all
}
