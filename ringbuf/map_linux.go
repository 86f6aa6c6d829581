package ringbuf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size to which a mapping is aligned: one huge page of amd64, and of arm64 with
// 4 KiB pages. Elsewhere the alignment does no harm.
const hugePage = 2 << 20

func mapMemory(size int) (*Memory, error) {
	// Room for one more huge page, to start and end at one. The rest around it stays untouched and
	// costs address space only.
	whole, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	start := int(-uintptr(unsafe.Pointer(unsafe.SliceData(whole))) & (hugePage - 1))
	m := &Memory{
		bytes:    whole[start : start+size : start+size],
		unmap:    func() error { return unix.Munmap(whole) },
		hugeUsed: hugeBytes,
	}
	m.hugeErr = adviseHugePages(whole)
	_ = unix.Madvise(whole, unix.MADV_DONTDUMP) // saves a core file gigabytes; nothing depends on it
	return m, nil
}

// adviseHugePages asks for huge pages and says why there can't be any.
func adviseHugePages(b []byte) error {
	const policy = "/sys/kernel/mm/transparent_hugepage/enabled"
	if err := unix.Madvise(b, unix.MADV_HUGEPAGE); err != nil {
		return fmt.Errorf("advise huge pages: %w; the kernel may be built without them", err)
	}
	text, err := os.ReadFile(policy)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("advise huge pages: %w: no %s", errors.ErrUnsupported, policy)
	case err == nil && bytes.Contains(text, []byte("[never]")):
		return fmt.Errorf("advise huge pages: switched off; write madvise to %s", policy)
	}
	return nil
}

func lockMemory(b []byte) error {
	err := unix.Mlock(b)
	if err == nil {
		return nil
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil || limit.Cur >= uint64(len(b)) {
		return fmt.Errorf("lock %d bytes of ring memory: %w; ask for a smaller ring", len(b), err)
	}
	return fmt.Errorf("lock %d bytes of ring memory: %w; the limit is %d, raise it with ulimit -l or LimitMEMLOCK=",
		len(b), err, limit.Cur)
}

// prefault makes b present. MADV_POPULATE_WRITE, unlike a loop that writes, reports a lack
// of memory instead of ending the program; it came with Linux 5.14.
func prefault(b []byte) error {
	for {
		err := unix.Madvise(b[:len(b):len(b)], unix.MADV_POPULATE_WRITE)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN): // pages that are present are kept
			continue
		case errors.Is(err, unix.EINVAL):
			touch(b)
			return nil
		}
		return err
	}
}
