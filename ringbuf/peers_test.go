package ringbuf

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// carrier hands frames from one goroutine to others, each of which gets all of them. Frames are in
// preallocated buffers in every case.
type carrier interface {
	// write waits for a buffer, lets fill write it, and hands it over.
	write(fill func([]byte))
	// read waits for a reader's next frame, and lets use read it; false at the end.
	read(reader int, use func([]byte)) bool
	end()
}

// ringCarrier is this package.
type ringCarrier struct {
	ring    *Ring[int]
	readers []*Reader[int]
}

func newRingCarrier(slots, size, readers int) carrier {
	r, err := New[int](alignedBytes(BytesFor(slots, size)), size)
	if err != nil {
		panic(err)
	}
	c := &ringCarrier{ring: r}
	for range readers {
		c.readers = append(c.readers, r.NewReader(Lossless))
	}
	return c
}

func (c *ringCarrier) write(fill func([]byte)) {
	s, err := c.ring.Acquire(context.Background())
	if err != nil {
		panic(err)
	}
	fill(s.Bytes())
	s.Commit(len(s.Bytes()), 0)
}

func (c *ringCarrier) read(reader int, use func([]byte)) bool {
	l, err := c.readers[reader].Next(context.Background())
	if err != nil {
		return false
	}
	use(l.Bytes())
	l.Release()
	return true
}

func (c *ringCarrier) end() { c.ring.Close(nil) }

// counted is a buffer that several readers use.
type counted struct {
	bytes []byte
	refs  atomic.Int32
}

func countedBuffers(slots, size int) []counted {
	mem := alignedBytes(BytesFor(slots, size))
	buffers := make([]counted, slots)
	for i := range buffers {
		buffers[i].bytes = mem[i*roundUp(size):][:roundUp(size)]
	}
	return buffers
}

// chanCarrier is the usual way in Go: a channel of free buffers, and one per reader of full ones.
type chanCarrier struct {
	free chan *counted
	full []chan *counted
}

func newChanCarrier(slots, size, readers int) carrier {
	c := &chanCarrier{free: make(chan *counted, slots)}
	buffers := countedBuffers(slots, size)
	for i := range buffers {
		c.free <- &buffers[i]
	}
	for range readers {
		c.full = append(c.full, make(chan *counted, slots))
	}
	return c
}

func (c *chanCarrier) write(fill func([]byte)) {
	b := <-c.free
	fill(b.bytes)
	b.refs.Store(int32(len(c.full)))
	for _, full := range c.full {
		full <- b
	}
}

func (c *chanCarrier) read(reader int, use func([]byte)) bool {
	b, ok := <-c.full[reader]
	if !ok {
		return false
	}
	use(b.bytes)
	if b.refs.Add(-1) == 0 {
		c.free <- b
	}
	return true
}

func (c *chanCarrier) end() {
	for _, full := range c.full {
		close(full)
	}
}

// mutexCarrier is a ring whose head may not pass its slowest reader, behind one lock.
type mutexCarrier struct {
	mu      sync.Mutex
	changed sync.Cond
	buffers []counted
	head    uint64
	tails   []paddedTail
	ended   bool
}

type paddedTail struct {
	position uint64
	_        cpu.CacheLinePad
}

func newMutexCarrier(slots, size, readers int) carrier {
	c := &mutexCarrier{buffers: countedBuffers(slots, size), tails: make([]paddedTail, readers)}
	c.changed.L = &c.mu
	return c
}

func (c *mutexCarrier) slowest() uint64 {
	tail := c.head
	for i := range c.tails {
		tail = min(tail, c.tails[i].position)
	}
	return tail
}

func (c *mutexCarrier) write(fill func([]byte)) {
	c.mu.Lock()
	for c.head-c.slowest() == uint64(len(c.buffers)) {
		c.changed.Wait()
	}
	b := c.buffers[c.head%uint64(len(c.buffers))].bytes
	c.mu.Unlock()
	fill(b)
	c.mu.Lock()
	c.head++
	c.mu.Unlock()
	c.changed.Broadcast()
}

func (c *mutexCarrier) read(reader int, use func([]byte)) bool {
	tail := &c.tails[reader].position
	c.mu.Lock()
	for *tail == c.head && !c.ended {
		c.changed.Wait()
	}
	if *tail == c.head {
		c.mu.Unlock()
		return false
	}
	b := c.buffers[*tail%uint64(len(c.buffers))].bytes
	c.mu.Unlock()
	use(b)
	c.mu.Lock()
	*tail++
	c.mu.Unlock()
	c.changed.Broadcast()
	return true
}

func (c *mutexCarrier) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.changed.Broadcast()
}
