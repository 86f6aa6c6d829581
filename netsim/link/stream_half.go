package link

import (
	"io"
	"os"

	"github.com/eideticker/eideticker/capture/timeline"
)

// half is one direction of a connection: from where it is written to where it is read. All of it is
// under the lock of the Stream, but for the channels.
type half struct {
	s   *Stream
	way int
	// of a probe: without a window, segments have so many bytes, and lost ones stay lost, like
	// packets; 0: a connection
	plain int

	open   bool // the handshake is over
	unsent buffer
	final  error // what follows unsent: io.EOF, or why it broke; nil: nothing yet
	gone   bool  // the final one is sent
	again  ring[*streamSegment]
	queued bool          // it is in ready
	since  timeline.Time // when it came to be ready

	window    int // bytes on the way, at most
	threshold int
	unacked   int
	most      int                  // unacked when something was sent last
	number    uint64               // of the next segment
	recover   uint64               // losses of segments before this one are the same loss
	flight    ring[*streamSegment] // in the order in which they are read
	unread    buffer
	taken     int   // bytes of unread that are being written on
	passed    int64 // bytes that have been read
	ended     error // what follows unread
	broken    error // nothing goes on

	room  chan struct{} // there may be room to write
	there chan struct{} // there may be something to read
}

// streamSegment is data that is sent at once.
type streamSegment struct {
	number uint64
	data   []byte
	final  error
	there  bool
	tries  int
}

func newHalf(s *Stream, way, plain int) *half {
	return &half{s: s, way: way, plain: plain, window: firstWindow, threshold: maxWindow, room: make(chan struct{}, 1),
		there: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// begin lets it send.
func (h *half) begin(at timeline.Time) {
	h.open = true
	h.offer(at)
}

// offer puts it in line with the others, if it has something to send and may.
func (h *half) offer(at timeline.Time) {
	if h.queued || !h.open || h.broken != nil || !h.can() {
		return
	}
	h.queued, h.since = true, at
	h.s.ready[h.way].push(h)
}

func (h *half) can() bool {
	if h.again.len() > 0 {
		return true
	}
	if h.unsent.len() < max(1, h.plain) {
		return h.final != nil && !h.gone
	}
	waits := h.unread.len() + h.taken
	return h.plain > 0 || h.unacked < min(h.window, h.s.window(h.way)) && waits < limit(maxUnread, h.s.unread)
}

// limit is how much one may have, when all together have so much.
func limit(one, all int) int {
	if all >= maxOfAll {
		return minBuffer
	}
	return one
}

// segment takes the next one. It may be only an end. If the ready data was aborted, it is nil.
func (h *half) segment() *streamSegment {
	if h.again.len() > 0 {
		return h.again.pop()
	}
	g := &streamSegment{number: h.number}
	h.number++
	n := min(mss, h.unsent.len())
	if h.plain > 0 && n >= h.plain {
		n = h.plain
	}
	g.data = h.s.take(n)
	h.unsent.read(g.data)
	h.s.unsent -= n
	h.unacked += n
	h.most = h.unacked
	if h.unsent.len() == 0 && h.final != nil && !h.gone {
		g.final, h.gone = h.final, true
	}
	h.flight.push(g)
	signal(h.room)
	return g
}

// take returns a slice for a segment, one that was used before if there is one.
func (s *Stream) take(n int) []byte {
	if k := len(s.spare); k > 0 {
		b := s.spare[k-1]
		s.spare = s.spare[:k-1]
		return b[:n]
	}
	return make([]byte, n, mss)
}

const maxSpare = 4096

// arrive has a segment there.
func (h *half) arrive(g *streamSegment) {
	g.there = true
	h.deliver()
}

// deliver hands over the data that has arrived without a hole.
func (h *half) deliver() {
	for h.flight.len() > 0 && (*h.flight.at(0)).there {
		g := h.flight.pop()
		if h.broken == nil {
			h.unread.write(g.data)
			h.s.unread += len(g.data)
		}
		if g.final != nil {
			h.ended = g.final
		}
		if g.data != nil && len(h.s.spare) < maxSpare {
			h.s.spare = append(h.s.spare, g.data)
		}
		g.data = nil
	}
	signal(h.there)
}

// acknowledged opens the window: by as much again while it opens fast, and then by a segment each
// round.
func (h *half) acknowledged(size int, at timeline.Time) {
	used := 2*h.most >= h.window // one that is not used does not grow (RFC 7661)
	h.unacked -= size
	switch {
	case !used:
	case h.window < h.threshold:
		h.window += size
	default:
		h.window += mss * size / h.window
	}
	h.window = min(h.window, maxWindow)
	h.offer(at)
}

// missing is when the sender may know that a segment was lost.
func (h *half) missing(g *streamSegment, at timeline.Time) {
	if h.broken != nil {
		return
	}
	if g.number >= h.recover {
		h.recover = h.number
		h.threshold = max(2*mss, int(shareAfterLoss*float64(h.window)))
		h.window = h.threshold
	}
	resend := func(at timeline.Time) { h.again.push(g); h.offer(at) }
	if g.number+1 == h.number || g.tries > 1 {
		h.s.at(at.Add(tailAgain<<min(g.tries-1, 8)), resend)
		return
	}
	resend(at)
}

// put takes written data and waits for room. It returns the number of bytes taken, and an error if
// some were not.
func (h *half) put(b []byte, d *deadline) (n int, err error) {
	for {
		if d.over() {
			return n, os.ErrDeadlineExceeded
		}
		h.s.mu.Lock()
		switch {
		case h.broken != nil:
			err = h.broken
		case h.final != nil:
			err = io.ErrClosedPipe
		case n < len(b):
			now := h.s.catchUp()
			k := min(len(b)-n, limit(maxUnsent, h.s.unsent)-h.unsent.len())
			if k > 0 {
				h.unsent.write(b[n : n+k])
				h.s.unsent += k
				n += k
				h.now(now)
			}
		}
		h.s.mu.Unlock()
		if err != nil || n == len(b) {
			return n, err
		}
		select {
		case <-h.room:
		case <-d.wait():
		}
	}
}

// finish appends an end after the written data. Only the first one counts.
func (h *half) finish(why error) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.final != nil || h.broken != nil {
		return
	}
	now := h.s.catchUp()
	h.final = why
	h.now(now)
	signal(h.room)
}

// breakOff ends it at once, for both who write and who read.
func (h *half) breakOff(why error) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.broken != nil {
		return
	}
	h.broken = why
	h.s.unsent -= h.unsent.len()
	h.s.unread -= h.unread.len() + h.taken
	h.unsent, h.unread, h.taken = buffer{}, buffer{}, 0
	signal(h.room)
	signal(h.there)
}

// get waits for data and reads at most so much into b. If b is nil, it returns a slice that the
// caller keeps until it calls passedOn.
func (h *half) get(b []byte, d *deadline) (got []byte, err error) {
	for {
		if d.over() {
			return nil, os.ErrDeadlineExceeded
		}
		h.s.mu.Lock()
		now := h.s.catchUp()
		switch {
		case h.broken != nil:
			err = h.broken
		case h.unread.len() > 0 && b != nil:
			got = b[:h.unread.read(b)]
			h.pass(len(got), now)
		case h.unread.len() > 0:
			got = h.unread.lend()
			h.taken = len(got)
		case h.ended != nil:
			err = h.ended
		}
		h.s.mu.Unlock()
		if err != nil || len(got) > 0 {
			return got, err
		}
		select {
		case <-h.there:
		case <-d.wait():
		}
	}
}

// passedOn counts so much of the lent data as read. left is not passed on yet.
func (h *half) passedOn(n, left int) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.broken != nil {
		return
	}
	h.taken = left
	h.pass(n, h.s.catchUp())
}

func (h *half) pass(n int, now timeline.Time) {
	h.s.unread -= n
	h.passed += int64(n)
	if !h.queued {
		h.now(now)
	}
}

// now lets it send what it can at this moment, and has the rest done in time.
func (h *half) now(at timeline.Time) {
	h.offer(at)
	h.s.advance(at)
	h.s.rouse()
}

// buffer is bytes in order. It has no memory while it is empty.
type buffer struct {
	b     []byte
	first int
}

func (q *buffer) len() int { return len(q.b) - q.first }

func (q *buffer) write(b []byte) {
	if q.first > 0 && len(q.b)+len(b) > cap(q.b) {
		q.b = q.b[:copy(q.b, q.b[q.first:])]
		q.first = 0
	}
	q.b = append(q.b, b...)
}

func (q *buffer) read(b []byte) int {
	n := copy(b, q.b[q.first:])
	if q.first += n; q.first == len(q.b) {
		*q = buffer{}
	}
	return n
}

// lend returns all of it, which is then empty.
func (q *buffer) lend() []byte {
	b := q.b[q.first:]
	*q = buffer{}
	return b
}
