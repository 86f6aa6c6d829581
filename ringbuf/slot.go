package ringbuf

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// Slot is room for one frame, held by the writer between TryAcquire or Acquire and
// Commit or Abandon. The writer may hold several and commit them in any order. Its
// methods belong to the writer's goroutine; the pointer is void after Commit or Abandon.
type Slot[M any] struct {
	ring  *Ring[M]
	mem   []byte
	index uint32
	held  bool   // by the writer; only the writer's goroutine looks
	next  uint32 // the slot after this one in a list of free ones, index+1; see freeList

	// The frame. Stored by Commit before refs becomes nonzero, constant until it is 0 again; so
	// whoever has a reference reads what belongs to the bytes. A Latest reader
	// relies on that for the position: see Ring.grab.
	meta       M
	n          int
	lostBefore uint64
	position   uint64

	// refs counts the users of the frame. These are lossless readers that have not read it, and
	// readers with a lease. The ring is one while the frame is the newest. 0 means free, or held by
	// the writer. Ordering: each decrement comes after its owner's last look at the bytes. So all
	// looks are over before the decrement to 0 frees the slot. The writer gets it again through
	// freeList.
	refs atomic.Int32
	_    cpu.CacheLinePad
}

// bias replaces references whose number is not known yet. It exceeds every possible number.
const bias = 1 << 30

// Bytes returns the whole slot, SlotSize bytes, with whatever an earlier frame left in it.
// It must not be used after Commit or Abandon.
func (s *Slot[M]) Bytes() []byte {
	if !s.held {
		panic("ringbuf: Bytes of a slot that was committed or abandoned")
	}
	return s.mem
}

// Commit publishes the slot's first n bytes as the next frame and gives up the slot. It
// never waits and does not allocate.
func (s *Slot[M]) Commit(n int, meta M) {
	r := s.ring
	switch {
	case !s.held:
		panic("ringbuf: Commit of a slot that was committed or abandoned")
	case n < 0 || n > len(s.mem):
		panic(fmt.Sprintf("ringbuf: Commit of %d bytes in a slot of %d", n, len(s.mem)))
	case word(r.state.Load()).closed():
		panic("ringbuf: Commit after the ring was closed")
	}
	s.held = false
	r.held--
	s.n, s.meta, s.lostBefore = n, meta, r.counters.takePending()

	// Only this goroutine moves the head, so its value is certain; the number of lossless
	// readers is not, until the Add has happened. The bias keeps refs above 0 meanwhile:
	// readers may take and release the frame before the count is settled. This has no retry,
	// however many readers come and go.
	position := word(r.state.Load()).head()
	s.position = position
	s.refs.Store(bias)
	// Ordering: lossless readers load this entry after they have seen the new head, and
	// before it is reused (see New). Latest readers may load it at any time, and check.
	r.order[position&r.mask].Store(s.index)
	settled := word(r.state.Add(oneFrame))
	s.refs.Add(int32(settled.lossless()) + 1 - bias) // + 1: the ring's own, as the newest

	if r.newest != nil {
		r.dropOwn(r.newest)
	}
	r.newest = s
	r.wakeReaders()
}

// Abandon gives the slot back unpublished. It is not counted as a loss.
func (s *Slot[M]) Abandon() {
	if !s.held {
		panic("ringbuf: Abandon of a slot that was committed or abandoned")
	}
	s.held = false
	s.ring.held--
	s.ring.keep(s)
}

// tryRetain takes a reference unless there is none, in which case the slot is free or
// being written. It retries only when another goroutine changed the count.
func (s *Slot[M]) tryRetain() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release gives a reference back, and the slot with it if it was the last.
func (s *Slot[M]) release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		s.ring.freed.push(s.ring, s)
		s.ring.room.wake()
	case n < 0:
		panic("ringbuf: a slot was released more often than it was taken")
	}
}
