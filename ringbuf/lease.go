package ringbuf

import "sync/atomic"

// Lease is a frame that a reader has taken and not yet released. Its bytes are
// read-only and stay valid until the last Release. It may be used and released by any
// goroutine. The pointer is void after the last Release: the reader's later leases
// reuse it.
type Lease[M any] struct {
	reader *Reader[M]
	slot   *Slot[M]
	// holds is 1 after Next, and more with Retain. Each lease counts for itself. So an extra
	// Release is found here and does not take another reader's frame away. Ordering: every holder's
	// last look comes before its decrement. The holder that reaches 0 then decrements Slot.refs.
	holds atomic.Int32
}

// Bytes returns the frame: the n bytes that the writer committed.
func (l *Lease[M]) Bytes() []byte {
	l.check("Bytes")
	return l.slot.mem[:l.slot.n:l.slot.n]
}

// Meta returns what the writer committed with the frame.
func (l *Lease[M]) Meta() M {
	l.check("Meta")
	return l.slot.meta
}

// position counts the frames committed to the ring before this one.
func (l *Lease[M]) position() uint64 {
	l.check("Position")
	return l.slot.position
}

// LostBefore counts the frames that the writer could not place between the commit before this
// one and this one. Frames that a Latest reader passed over are not among them.
func (l *Lease[M]) LostBefore() uint64 {
	l.check("LostBefore")
	return l.slot.lostBefore
}

// Retain adds a holder: one more Release is needed.
func (l *Lease[M]) Retain() {
	if l.holds.Add(1) < 2 {
		l.holds.Add(-1)
		panic("ringbuf: Retain of a lease that was released")
	}
}

// Release ends one hold; the last one ends the lease.
func (l *Lease[M]) Release() {
	switch n := l.holds.Add(-1); {
	case n > 0:
		return
	case n < 0:
		l.holds.Add(1)
		panic("ringbuf: Release of a lease that was released")
	}
	rd := l.reader // the lease may be in use again after the next line
	l.slot.release()
	rd.released.Add(1)
	if rd.closed.Load() && rd.leased() == 0 {
		rd.ring.strike(rd)
	}
}

func (l *Lease[M]) check(method string) {
	if l.holds.Load() <= 0 {
		panic("ringbuf: " + method + " of a lease that was released")
	}
}
