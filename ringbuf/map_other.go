//go:build !linux

package ringbuf

import (
	"errors"
	"fmt"
	"unsafe"
)

// mapMemory takes plain Go memory; the collector frees it when the last user is gone.
func mapMemory(size int) (*Memory, error) {
	whole := make([]byte, size+Alignment)
	start := int(-uintptr(unsafe.Pointer(unsafe.SliceData(whole))) & (Alignment - 1))
	return &Memory{
		bytes:    whole[start : start+size : start+size],
		unmap:    func() error { return nil },
		hugeErr:  fmt.Errorf("advise huge pages: %w", errors.ErrUnsupported),
		hugeUsed: func([]byte) (int, error) { return 0, fmt.Errorf("count huge pages: %w", errors.ErrUnsupported) },
	}, nil
}

func lockMemory([]byte) error {
	return fmt.Errorf("lock ring memory: %w", errors.ErrUnsupported)
}

func prefault(b []byte) error {
	touch(b)
	return nil
}
