package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

const (
	minFree  = 32 << 20 // bytes that a change needs on the disk; JetStream may write a block anew
	roomStep = 64 << 20
	others   = 1 << 30 // bytes that the file leaves to other programs, or a tenth of the free space
)

// room is a file that holds disk space for the storage. Others cannot take that space. The file
// shrinks when the disk is full.
type room struct {
	dir, path string
	free      func(dir string) (int64, error)

	mu   sync.Mutex
	left int64 // bytes of the file
}

// keep writes the file, or less of it on a disk without space: other programs need some too.
func (r *room) keep(bytes int64, log *slog.Logger) error {
	if r.free == nil {
		r.free = staging.FreeBytes
	}
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	free, err := r.free(r.dir)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	r.left = min(bytes, max(free-max(others, free/10), 0))
	if r.left < bytes && log != nil {
		log.Warn("fleet: the disk has too little space for the hub's storage", "bytes", bytes, "free", free,
			"reserved", r.left)
	}
	if err := allocate(f, r.left); err != nil {
		return fmt.Errorf("reserve %d bytes in %s: %w", r.left, r.path, err)
	}
	return nil
}

// check returns ErrFull if the disk has no space for a change, even without the file.
func (r *room) check() error {
	free, err := r.free(r.dir)
	if err != nil || free >= minFree {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.left > 0 && free < minFree {
		r.left = max(r.left-roomStep, 0)
		if err := os.Truncate(r.path, r.left); err != nil {
			return err
		}
		if free, err = r.free(r.dir); err != nil {
			return err
		}
	}
	if free < minFree {
		return fmt.Errorf("%w: its disk has %d MiB left", ErrFull, free>>20)
	}
	return nil
}
