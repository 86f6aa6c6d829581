package recording

import (
	"io"
	"sync"
	"syscall"
)

// memDisk is a recording's file in memory. It fails a test that overwrites durable bytes.
type memDisk struct {
	mu      sync.Mutex
	b       []byte
	durable int
	limit   int // bytes after which the disk is full; 0: never
	syncs   int
	rewrote bool
}

func (d *memDisk) WriteAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := int(off) + len(p)
	if d.limit > 0 && end > d.limit {
		n := max(0, d.limit-int(off))
		d.grow(d.limit)
		copy(d.b[min(int(off), len(d.b)):], p[:n])
		return n, syscall.ENOSPC
	}
	if int(off) < d.durable {
		d.rewrote = true
	}
	d.grow(end)
	copy(d.b[off:], p)
	return len(p), nil
}

func (d *memDisk) grow(n int) {
	if n > len(d.b) {
		d.b = append(d.b, make([]byte, n-len(d.b))...)
	}
}

func (d *memDisk) ReadAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off >= int64(len(d.b)) {
		return 0, io.EOF
	}
	n := copy(p, d.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (d *memDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.durable = len(d.b)
	d.syncs++
	return nil
}

func (d *memDisk) Truncate(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.b = d.b[:min(int(n), len(d.b))]
	return nil
}

func (d *memDisk) Close() error { return nil }
