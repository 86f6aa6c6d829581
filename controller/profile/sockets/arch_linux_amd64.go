package sockets

import (
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity/sockets"
)

// oldCalls are those that newer architectures do not have.
func oldCalls() map[uint32]uint32 {
	return map[uint32]uint32{
		unix.SYS_POLL:       uint32(sockets.Poll),
		unix.SYS_SELECT:     uint32(sockets.Select),
		unix.SYS_EPOLL_WAIT: uint32(sockets.EpollWait) | hasFD,
	}
}

// registers are the offsets of arguments in struct pt_regs.
func registers() [6]int32 { return [6]int32{112, 104, 96, 56, 72, 64} } // di si dx r10 r8 r9

// A process with 32-bit code has another code segment.
const (
	modeOffset = 136 // cs
	modeMask   = 0xffff
	modeWanted = 0x33
)
