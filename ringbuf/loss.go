package ringbuf

import "sync/atomic"

// counters are what the writer counts. Only it writes them, with exceptions named; anybody
// may read. They guard nothing, so each needs to be atomic and no more.
type counters struct {
	highWater   atomic.Int64  // most slots in use at once
	pending     atomic.Uint64 // losses since the last commit
	lostBehind  atomic.Uint64
	lostLeased  atomic.Uint64
	lostWriting atomic.Uint64
}

func (c *counters) noteUsed(n int64) {
	if n > c.highWater.Load() {
		c.highWater.Store(n)
	}
}

// takePending returns the losses since the last commit, and starts anew.
func (c *counters) takePending() uint64 {
	n := c.pending.Load()
	if n != 0 {
		c.pending.Store(0)
	}
	return n
}

// lose counts a frame without a slot, and blames the holder of the most slots at that moment. This
// is the reader that is furthest behind or keeps the most leases; with equal counts, the first. It
// is the writer if that held more than any reader. Readers continue meanwhile, so the blame is
// approximate. The count is exact.
func (r *Ring[M]) lose() {
	r.counters.pending.Add(1)

	head := word(r.state.Load()).head()
	var culprit *Reader[M]
	most := int64(0)
	for _, rd := range *r.readers.Load() {
		if n := rd.unread(head) + rd.leased(); n > most {
			culprit, most = rd, n
		}
	}
	switch {
	case culprit == nil || most < int64(r.held):
		r.counters.lostWriting.Add(1)
	case culprit.unread(head) >= culprit.leased():
		culprit.behind.Add(1)
		r.counters.lostBehind.Add(1)
	default:
		culprit.keeping.Add(1)
		r.counters.lostLeased.Add(1)
	}
}
