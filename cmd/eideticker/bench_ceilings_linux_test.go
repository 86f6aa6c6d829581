package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/deploy/doctor"
	"github.com/eideticker/eideticker/ringbuf"
)

const (
	benchMemory = 256 << 20 // of each buffer: more than any cache holds
	benchRounds = 4
	benchDisk   = 1 << 30 // bytes written in each way
	benchBlock  = 4 << 20
)

// memory measures comparing and copying, on one core, over buffers that no cache holds.
func (b *bench) memory() error {
	b.phase("measuring memory", 0).End()
	var buffers [2][]byte
	for i := range buffers {
		m, err := ringbuf.Map(benchMemory, ringbuf.MapOptions{Prefault: true})
		if err != nil {
			return err
		}
		defer m.Close() // anonymous memory: nothing can be lost
		buffers[i] = m.Bytes()
	}
	x, y := buffers[0], buffers[1]
	started := time.Now()
	for range benchRounds {
		if !bytes.Equal(x, y) {
			return errors.New("memory that was just cleared differs")
		}
	}
	b.ceiling("compare", "bytes.Equal of distinct buffers, one core", benchMemory*benchRounds, time.Since(started))
	started = time.Now()
	for range benchRounds {
		copy(x, y)
	}
	b.ceiling("copy", "copy between buffers, one core", benchMemory*benchRounds, time.Since(started))
	return b.ctx.Err()
}

// disk measures writing in large blocks: past the page cache, which is what recordings do, and
// through it.
func (b *bench) disk() error {
	b.phase("measuring the disk", 0).End()
	direct, err := b.write("direct", doctor.OpenDirect)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		b.result.Notes = append(b.result.Notes, "the disk is written through the page cache: "+err.Error())
	case err != nil:
		return err
	}
	cached, err := b.write("cached", os.Create)
	if err != nil {
		return err
	}
	if direct == 0 {
		direct = cached
	}
	b.ceiling("disk", "writes of 4 MiB past the page cache", benchDisk, direct)
	b.ceiling("disk-cached", "the same through the page cache, to the last byte on disk", benchDisk, cached)
	return nil
}

func (b *bench) write(name string, open func(string) (*os.File, error)) (took time.Duration, err error) {
	path := filepath.Join(b.dir, name)
	f, err := open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	m, err := ringbuf.Map(benchBlock, ringbuf.MapOptions{Prefault: true}) // page-aligned, as O_DIRECT wants it
	if err != nil {
		return 0, err
	}
	defer m.Close() // anonymous memory: nothing can be lost
	started := time.Now()
	for range benchDisk / benchBlock {
		if err := b.ctx.Err(); err != nil {
			return 0, err
		}
		if _, err := f.Write(m.Bytes()); err != nil {
			return 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	return time.Since(started), nil
}
