package recording

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	bufferSize = 4 << 20 // large enough for the disk's full speed with direct writes
	buffers    = 8       // how much a stalled disk may hold up before the encoder waits
)

// sink writes an ever-growing file. It gathers bytes in large aligned buffers. One goroutine writes
// them in order. Another waits for fdatasync, so that writing continues meanwhile. Flushed bytes
// are never written again.
type sink struct {
	to   storage
	off  int64 // of the next byte in the file
	cur  *buffer
	free chan *buffer
	full chan *buffer

	written atomic.Int64 // every byte before this was given to the disk
	durable atomic.Int64 // every byte before this is known to be on it
	wanted  chan int64   // flushes that wait for fdatasync; the newest counts

	settled chan struct{} // signalled when durable or failed changed
	failed  atomic.Bool
	errOnce sync.Once
	err     error // set before failed
	wg      sync.WaitGroup
}

type buffer struct {
	size int
	b    []byte // nil until it is first used
	n    int
	off  int64
	sync bool
}

// newSink returns a sink that continues at an offset. Its buffers have the given size and are made
// when they are first needed.
func newSink(to storage, off int64, size int) *sink {
	s := &sink{
		to: to, off: off,
		free:    make(chan *buffer, buffers),
		full:    make(chan *buffer, buffers),
		wanted:  make(chan int64, 1),
		settled: make(chan struct{}, 1),
	}
	s.written.Store(off)
	for range buffers {
		s.free <- &buffer{size: size}
	}
	s.wg.Add(2)
	go s.writeLoop()
	go s.syncLoop()
	return s
}

// alignedBytes returns n bytes whose address is a multiple of the block size, as direct writes need
// it.
func alignedBytes(n int) []byte {
	b := make([]byte, n+blockSize)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (blockSize - 1)
	return b[skip : skip+n : skip+n]
}

// write appends p. It waits where the disk is behind by all buffers.
func (s *sink) write(p []byte) {
	for len(p) > 0 {
		if s.cur == nil {
			s.take()
		}
		n := copy(s.cur.b[s.cur.n:], p)
		s.cur.n += n
		s.off += int64(n)
		p = p[n:]
		if s.cur.n == len(s.cur.b) {
			s.submit()
		}
	}
}

// take makes a free buffer the current one.
func (s *sink) take() {
	s.cur = <-s.free
	if s.cur.b == nil {
		s.cur.b = alignedBytes(s.cur.size)
	}
	s.cur.n, s.cur.off, s.cur.sync = 0, s.off, false
}

func (s *sink) submit() {
	s.full <- s.cur
	s.cur = nil
}

// flush queues the bytes written so far and requests that they become durable. The offset must be a
// multiple of blockSize.
func (s *sink) flush() {
	if s.off%blockSize != 0 {
		panic("recording: flush within a block")
	}
	if s.cur == nil {
		s.take()
	}
	s.cur.sync = true
	s.submit()
}

// close waits for everything that was flushed and returns the first error.
func (s *sink) close() error {
	close(s.full)
	s.wg.Wait()
	return s.error()
}

func (s *sink) error() error {
	if s.failed.Load() {
		return s.err
	}
	return nil
}

func (s *sink) fail(err error) {
	s.errOnce.Do(func() {
		s.err = err
		s.failed.Store(true)
		s.settle()
	})
}

func (s *sink) settle() {
	select {
	case s.settled <- struct{}{}:
	default:
	}
}

// await waits until every byte before end is on disk, or the disk failed. It must have been
// flushed.
func (s *sink) await(end int64) {
	for s.durable.Load() < end && !s.failed.Load() {
		<-s.settled
	}
}

func (s *sink) writeLoop() {
	defer s.wg.Done()
	defer close(s.wanted)
	for b := range s.full {
		if b.n > 0 && !s.failed.Load() {
			n, err := s.to.WriteAt(b.b[:b.n], b.off)
			if err != nil {
				s.fail(fmt.Errorf("write recording at offset %d: %w", b.off+int64(n), err))
			} else {
				s.written.Store(b.off + int64(b.n))
			}
		}
		if b.sync && !s.failed.Load() {
			end := b.off + int64(b.n)
			select {
			case s.wanted <- end:
			default: // one waits already; take its place
				select {
				case <-s.wanted:
				default:
				}
				s.wanted <- end
			}
		}
		s.free <- b
	}
}

func (s *sink) syncLoop() {
	defer s.wg.Done()
	var err error
	for end := range s.wanted {
		if err != nil {
			continue // a system may drop what it failed to write: that a later sync succeeds proves nothing
		}
		if err = s.to.Sync(); err != nil {
			s.fail(fmt.Errorf("sync recording: %w", err))
			continue
		}
		s.durable.Store(end)
		s.settle()
	}
}
