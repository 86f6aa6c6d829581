package ringbuf

import "sync/atomic"

// freeList is a stack of free slots. Any reader pushes to it, and the writer empties it.
//
// Taking one slot off a shared stack suffers from ABA: meanwhile the top slot may have been taken
// and returned, with another below it. So the writer takes the whole chain with one Swap, which
// cannot fail or retry. It then uses the chain up in private. A push is safe from ABA. It only
// needs that the slot it names as next is on top at the moment of its CompareAndSwap.
//
// The slot freed last is used first: its bytes may still be in a cache.
type freeList[M any] struct {
	// top is the index+1 of the slot on top, 0 when empty. Ordering: Slot.next is a plain field. It
	// is written before the CompareAndSwap that puts the slot on top. It is read after the Swap
	// that takes it off. Pushes follow each other through top. So the Swap sees the whole chain,
	// and everything the readers did before they released.
	top atomic.Uint32
}

// push adds a slot that nobody refers to.
func (f *freeList[M]) push(r *Ring[M], s *Slot[M]) {
	// Ordering: a slot is counted as free before it can be taken. So used and its high-water mark
	// never exceed the number of slots.
	r.used.Add(-1)
	for {
		top := f.top.Load()
		s.next = top
		if f.top.CompareAndSwap(top, s.index+1) {
			return
		}
	}
}

// takeAll empties the list and returns its chain.
func (f *freeList[M]) takeAll() uint32 {
	if f.top.Load() == 0 { // spares a full ring the write to a shared cache line
		return 0
	}
	return f.top.Swap(0)
}

// pop takes a free slot for the writer, or returns nil.
func (r *Ring[M]) pop() *Slot[M] {
	if r.local == 0 {
		if r.local = r.freed.takeAll(); r.local == 0 {
			return nil
		}
	}
	s := &r.slots[r.local-1]
	r.local = s.next
	s.held = true
	r.held++
	r.counters.noteUsed(r.used.Add(1))
	return s
}

// keep puts a slot that nobody refers to into the writer's private chain.
func (r *Ring[M]) keep(s *Slot[M]) {
	r.used.Add(-1)
	s.next = r.local
	r.local = s.index + 1
}

// dropOwn gives back the ring's own reference from the writer's goroutine.
func (r *Ring[M]) dropOwn(s *Slot[M]) {
	if s.refs.Add(-1) == 0 {
		r.keep(s)
	}
}
