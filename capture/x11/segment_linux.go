package x11

import (
	"fmt"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/shm"
	"golang.org/x/sys/unix"
)

// segment is System V shared memory that the server writes pictures to.
type segment struct {
	id  shm.Seg
	mem []byte
}

// newSegment makes a segment and has the server attach it. Whatever happens, no name of it is left
// when newSegment returns: the memory lives as long as someone has it attached.
func newSegment(c *xgb.Conn, size int) (*segment, error) {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o600)
	if err != nil {
		return nil, fmt.Errorf("get %d bytes of shared memory: %w", size, err)
	}
	defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	mem, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("attach shared memory: %w", err)
	}
	seg := &segment{mem: mem}
	if seg.id, err = shm.NewSegId(c); err == nil {
		err = shm.AttachChecked(c, seg.id, uint32(id), false).Check()
	}
	if err != nil {
		seg.close()
		return nil, fmt.Errorf("the X server cannot use shared memory; is it another user's or in a container? %w", err)
	}
	return seg, nil
}

// close gives up our side; the server's ends with the connection.
func (s *segment) close() error {
	if s.mem == nil {
		return nil
	}
	mem := s.mem
	s.mem = nil
	return unix.SysvShmDetach(mem)
}
