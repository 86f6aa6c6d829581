package ringbuf

// Stats is what a ring has counted. While frames flow its numbers are of nearly the same moment;
// at rest they are exact. Lost is always the sum of its three causes.
type Stats struct {
	Slots     int // all there are
	Free      int // the writer could take
	Used      int // Slots - Free: slots being written, unread or leased, and the newest
	HighWater int // the most that Used has been

	Committed uint64 // frames
	Lost      uint64 // frames that TryAcquire had no slot for
	Trailing  uint64 // of Lost: since the last commit, so in no frame's LostBefore

	// Why frames were lost, by who held the most slots when it happened.
	LostBehind  uint64 // a lossless reader had not read them
	LostLeased  uint64 // a reader had leased them and not given them back
	LostWriting uint64 // the writer itself

	// Readers that are open, or closed with leases out, in the order they were made.
	Readers []ReaderStats
}

// ReaderStats has the counts of one reader.
type ReaderStats struct {
	ID        int
	Mode      Mode
	Closed    bool
	Unread    int    // committed frames that wait for it; 0 for Latest
	Leased    int    // frames it has taken and not released
	Delivered uint64 // frames it got
	Skipped   uint64 // frames that a Latest reader passed over

	// Frames lost while this reader held the most slots.
	LostBehind uint64 // mostly unread ones
	LostLeased uint64 // mostly leased ones
}

// Stats counts. It may be called from any goroutine, and allocates.
func (r *Ring[M]) Stats() Stats {
	c := &r.counters
	st := Stats{
		Slots:       len(r.slots),
		Used:        int(r.used.Load()),
		HighWater:   int(c.highWater.Load()),
		Committed:   word(r.state.Load()).head(),
		Trailing:    c.pending.Load(),
		LostBehind:  c.lostBehind.Load(),
		LostLeased:  c.lostLeased.Load(),
		LostWriting: c.lostWriting.Load(),
	}
	st.Free = st.Slots - st.Used
	st.Lost = st.LostBehind + st.LostLeased + st.LostWriting
	for _, rd := range *r.readers.Load() {
		st.Readers = append(st.Readers, rd.stats())
	}
	return st
}

// Leased sums the frames that readers have taken and not released. While it is not 0 the
// ring's memory must stay.
func (s Stats) Leased() int {
	n := 0
	for _, rd := range s.Readers {
		n += rd.Leased
	}
	return n
}

// stats counts. It may be called from any goroutine, also after Close.
func (rd *Reader[M]) stats() ReaderStats {
	return ReaderStats{
		ID:         rd.id,
		Mode:       rd.mode,
		Closed:     rd.closed.Load(),
		Unread:     int(rd.unread(word(rd.ring.state.Load()).head())),
		Leased:     int(rd.leased()),
		Delivered:  uint64(rd.delivered()),
		Skipped:    rd.skipped.Load(),
		LostBehind: rd.behind.Load(),
		LostLeased: rd.keeping.Load(),
	}
}

// unread returns how many committed frames keep their slots for this reader.
func (rd *Reader[M]) unread(head uint64) int64 {
	if rd.mode != Lossless || rd.closed.Load() {
		return 0
	}
	return max(int64(head-rd.position.Load()), 0)
}

// delivered returns how many frames the reader got: those it went past and did not skip. A
// skip is counted before the position moves, hence the max.
func (rd *Reader[M]) delivered() int64 {
	return max(int64(rd.position.Load()-rd.start-rd.skipped.Load()), 0)
}

// leased returns how many frames the reader got and has not released. The releases are
// loaded first: each has been delivered before.
func (rd *Reader[M]) leased() int64 {
	released := int64(rd.released.Load())
	return max(rd.delivered()-released, 0)
}

// Fill returns how full the ring is. It is 0 when only the newest frame is held, which the ring
// always keeps. It is 1 when the next TryAcquire would fail. It is one atomic load, and may be
// called from any goroutine.
func (r *Ring[M]) Fill() float64 {
	return float64(max(r.used.Load()-1, 0)) / float64(len(r.slots)-1)
}
