package link

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Stream is a link for listeners and connections of TCP. It needs no privileges and runs on any
// system. It is approximate, and [Packet] is exact.
//
// All connections share the two pipes. Written data is cut into segments as in TCP, each as large
// on the link as with its headers. Connections with data to send take turns. Events on the link are
// computed in the order of its own time, also if this program wakes late. So a late wake-up does
// not slow the link.
//
// These parts of TCP are modelled:
//
//   - A connection begins with a round trip.
//   - It has ten segments on the way at first, and as many more as are acknowledged. After a loss
//     it has 0.7 times as many (RFC 6928, 9438).
//   - A reader that stops also stops its writer, by bounded buffers.
//   - A lost segment is sent again, and takes its time on the link again. If others follow it, that
//     is a round trip after it was sent. Otherwise, or if it is lost again, it is 200 ms later.
//     Later data waits for it.
//
// These are not:
//
//   - Acknowledgements take no room on the link.
//   - Connections take turns instead of sharing a queue. So none is lost for lack of room, and the
//     link slows for others only by their share.
//   - Traffic other than TCP, such as DNS, is not slowed.
//   - A program that connects through it is connected at once. Its first bytes leave when a real
//     connection would be open.
type Stream struct {
	clock timeline.Clock
	wake  chan struct{} // data was written: the next event may be earlier
	over  context.Context
	end   context.CancelFunc
	all   sync.WaitGroup
	once  sync.Once

	mu         sync.Mutex
	conditions Conditions
	pipes      [2]*pipe
	last       [2]timeline.Time // when something was sent
	ready      [2]ring[*half]   // those that may send, the next one first
	events     events
	order      uint64 // of events at the same time
	conns      map[*streamConn]struct{}
	unsent     int // bytes, of all connections
	unread     int
	refused    uint64
	closed     bool
	spare      [][]byte
}

// Bounds of a stream link.
const (
	MaxStreams = 10_000 // connections; more are closed at once

	mss            = MTU - headersTCP // payload of a full segment
	handshakeBytes = 60               // a SYN, with the options that it has
	firstWindow    = 10 * mss
	maxUnsent      = 256 << 10 // bytes of a connection, each way
	maxUnread      = 256 << 10
	maxOfAll       = 64 << 20 // of all of them; then each has minBuffer
	minBuffer      = 4 << 10
	synAgain       = time.Second            // RFC 6298
	tailAgain      = 200 * time.Millisecond // what Linux waits at least
	maxPending     = 1024                   // connections that nobody has accepted
	lingering      = time.Minute            // in which a closed connection must get on
	shareAfterLoss = 0.7
	shortestTimer  = 2 * time.Millisecond // shorter waits sleep in the kernel
	maxSYN         = 6
	acceptAgain    = 100 * time.Millisecond
	socketBuffer   = 64 << 10
	copyAtOnce     = 16 << 10
	minMaxWindow   = 256 << 10
	maxWindow      = 16 << 20
)

// OpenStream makes a link. What chance decides comes from the seed.
func OpenStream(c Conditions, seed uint64) (*Stream, error) {
	s, err := newStream(c, seed, timeline.Monotonic())
	if err != nil {
		return nil, err
	}
	s.all.Go(s.run)
	return s, nil
}

func newStream(c Conditions, seed uint64, clock timeline.Clock) (*Stream, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &Stream{clock: clock, conditions: c, wake: make(chan struct{}, 1), conns: map[*streamConn]struct{}{}}
	s.over, s.end = context.WithCancel(context.Background())
	now := clock.Now()
	for way, d := range [...]Direction{streamDown: c.Down, streamUp: c.Up} {
		pipe, err := newPipe(d, seed, uint64(way), now)
		if err != nil {
			return nil, err
		}
		s.pipes[way], s.last[way] = pipe, now
	}
	return s, nil
}

// Counts returns what went over it so far. Packets are segments, and the two that begin a
// connection.
func (s *Stream) Counts() (down, up Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pipes[streamDown].counts, s.pipes[streamUp].counts
}

// Refused returns how many connections there was no room for.
func (s *Stream) Refused() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// Close ends the link, and all connections over it.
func (s *Stream) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true
		var all []*streamConn
		for c := range s.conns {
			all = append(all, c)
		}
		s.mu.Unlock()
		s.end()
		for _, c := range all {
			c.abort(net.ErrClosed)
		}
	})
	s.all.Wait()
	return nil
}

// run is when things happen.
func (s *Stream) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for s.over.Err() == nil {
		s.mu.Lock()
		now := s.catchUp()
		next, any := s.next()
		s.mu.Unlock()
		wait := time.Hour
		if any {
			wait = next.Sub(now)
		}
		if wait < shortestTimer {
			// Data written meanwhile is stamped with its own time, so it is not late.
			_ = timeline.SleepUntil(s.over, next)
			continue
		}
		timer.Reset(wait - shortestTimer/2)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.over.Done():
		}
	}
}

// catchUp executes all due events, and returns the time. It is called, with the lock held, before
// any change from outside: data written now cannot be sent earlier.
func (s *Stream) catchUp() timeline.Time {
	now := s.clock.Now()
	s.advance(now)
	return now
}

// advance lets happen all that is due by a time, in the order of time.
func (s *Stream) advance(now timeline.Time) {
	for {
		next, any := s.next()
		if !any || next > now {
			return
		}
		if len(s.events) > 0 && s.events[0].at <= next {
			e := heap.Pop(&s.events).(event)
			e.happens(e.at)
			continue
		}
		for way := range s.ready {
			if at, any := s.sends(way); any && at <= next {
				s.send(way, at)
				break
			}
		}
	}
}

// next is when something happens next.
func (s *Stream) next() (at timeline.Time, any bool) {
	if len(s.events) > 0 {
		at, any = s.events[0].at, true
	}
	for way := range s.ready {
		if t, is := s.sends(way); is && (!any || t < at) {
			at, any = t, true
		}
	}
	return at, any
}

// sends is when a direction can send next: when somebody has something, and the link is free.
func (s *Stream) sends(way int) (at timeline.Time, any bool) {
	if s.ready[way].len() == 0 {
		return 0, false
	}
	return max((*s.ready[way].at(0)).since, s.pipes[way].free, s.last[way]), true
}

// send sends a segment of whose turn it is.
func (s *Stream) send(way int, at timeline.Time) {
	h := s.ready[way].pop()
	h.queued = false
	if h.broken != nil || !h.can() {
		return // it is offered again when it can
	}
	g := h.segment()
	s.transmit(h, g, at)
	h.offer(at)
}

// transmit gives a segment to the link.
func (s *Stream) transmit(h *half, g *streamSegment, at timeline.Time) {
	fate := s.put(h.way, len(g.data)+headersTCP, at)
	g.tries++
	back := s.direction(1 - h.way).Delay
	switch {
	case fate.Lost == notLost:
		s.at(fate.Arrives, func(timeline.Time) { h.arrive(g) })
		if h.plain == 0 {
			size := len(g.data)
			s.at(fate.Arrives.Add(back), func(now timeline.Time) { h.acknowledged(size, now) })
		}
	case h.plain > 0:
		g.data, g.there = nil, true
		h.deliver()
	default:
		s.at(fate.Arrives.Add(back), func(now timeline.Time) { h.missing(g, now) })
	}
}

// put sends so many bytes, and returns what becomes of them.
func (s *Stream) put(way, bytes int, at timeline.Time) delivery {
	s.last[way] = at
	return s.pipes[way].send(at, bytes)
}

func (s *Stream) direction(way int) *Direction {
	if way == streamDown {
		return &s.conditions.Down
	}
	return &s.conditions.Up
}

// window is how many bytes a connection may have on the way at most: two rounds of the link's own,
// within bounds.
func (s *Stream) window(way int) int {
	d := s.direction(way)
	if d.Rate == 0 {
		return maxWindow / 4
	}
	return min(max(minMaxWindow, int(2*float64(d.Rate)/8*s.conditions.RTT().Seconds())), maxWindow)
}

// at has something happen.
func (s *Stream) at(t timeline.Time, happens func(timeline.Time)) {
	s.order++
	heap.Push(&s.events, event{t, s.order, happens})
}

// rouse rechecks the time of the next event.
func (s *Stream) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// handshake begins a connection. It calls device when the device may send, and server when the
// server has the connection. A lost SYN is sent again, later each time.
func (s *Stream) handshake(device, server func(timeline.Time), failed func(error)) {
	s.shake(s.catchUp(), 0, device, server, failed)
	s.rouse()
}

func (s *Stream) shake(now timeline.Time, try int, device, server func(timeline.Time), failed func(error)) {
	if try == maxSYN {
		failed(errors.New("connect over the link: nobody answers"))
		return
	}
	again := func(timeline.Time) { s.shake(now.Add(synAgain<<try), try+1, device, server, failed) }
	syn := s.put(streamUp, handshakeBytes, max(now, s.last[streamUp]))
	if syn.Lost != notLost {
		s.at(now.Add(synAgain<<try), again)
		return
	}
	s.at(syn.Arrives, func(at timeline.Time) {
		answer := s.put(streamDown, handshakeBytes, max(at, s.last[streamDown]))
		if answer.Lost != notLost {
			s.at(max(at, now.Add(synAgain<<try)), again)
			return
		}
		s.at(answer.Arrives, func(at timeline.Time) {
			device(at)
			ack := s.put(streamUp, headersTCP, max(at, s.last[streamUp]))
			s.at(ack.Arrives, server) // if it is lost, the first data that follow do
		})
	})
}

// join makes a connection over the link of one that is not, if there is room.
func (s *Stream) join(c net.Conn, out, plain int) (*streamConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, net.ErrClosed
	case len(s.conns) >= MaxStreams:
		s.refused++
		return nil, fmt.Errorf("a stream link has %d connections, and takes no more", MaxStreams)
	}
	if t, ok := c.(*net.TCPConn); ok {
		// What the system keeps for one that does not read is bounded too. Where it cannot be set,
		// it is the system's own bound.
		_, _ = t.SetReadBuffer(socketBuffer), t.SetWriteBuffer(socketBuffer)
	}
	conn := newStreamConn(s, c, out, plain)
	s.conns[conn] = struct{}{}
	s.all.Go(conn.readAll)
	s.all.Go(conn.writeAll)
	return conn, nil
}

// Listen returns a listener whose connections go over the link: who accepts them is the server, who
// connects the device. It accepts from l in the background, until it is closed.
func (s *Stream) Listen(l net.Listener) net.Listener { return s.listen(l, 0) }

func (s *Stream) listen(l net.Listener, plain int) net.Listener {
	sl := &streamListener{Listener: l, stream: s, plain: plain, accepted: make(chan *streamConn, maxPending),
		pending: make(chan struct{}, maxPending), over: make(chan struct{})}
	s.mu.Lock()
	closed := s.closed // Close waits for operations begun before
	if !closed {
		s.all.Go(sl.run)
		s.all.Go(func() {
			select {
			case <-s.over.Done():
				sl.Close()
			case <-sl.over:
			}
		})
	}
	s.mu.Unlock()
	if closed {
		sl.Close()
	}
	return sl
}

// streamListener accepts connections over a link.
type streamListener struct {
	net.Listener
	stream   *Stream
	plain    int
	accepted chan *streamConn
	pending  chan struct{} // a token for each that has begun and that nobody has accepted
	over     chan struct{}
	once     sync.Once
}

func (l *streamListener) run() {
	for {
		select {
		case l.pending <- struct{}{}:
		case <-l.over:
			return
		}
		real, err := l.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			l.Close()
			return
		}
		if err != nil {
			// Such as too many open files: it may pass.
			<-l.pending
			select {
			case <-time.After(acceptAgain):
			case <-l.over:
			}
			continue
		}
		c, err := l.stream.join(real, streamDown, l.plain)
		if err != nil {
			<-l.pending
			_ = real.Close()
			continue
		}
		l.stream.mu.Lock()
		l.stream.handshake(c.in.begin, func(at timeline.Time) { l.established(c, at) }, func(err error) {
			<-l.pending
			go c.abort(err) // which takes the lock
		})
		l.stream.mu.Unlock()
	}
}

// established hands a connection to who accepts. There is room for as many as there are tokens.
func (l *streamListener) established(c *streamConn, at timeline.Time) {
	select {
	case <-l.over:
		go c.abort(net.ErrClosed) // which takes the lock
	default:
		c.out.begin(at)
		l.accepted <- c
	}
}

func (l *streamListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		<-l.pending
		return c, nil
	case <-l.over:
		return nil, &net.OpError{Op: "accept", Net: l.Addr().Network(), Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Close closes the listener below too. Connections that nobody has accepted end; others do not.
func (l *streamListener) Close() (err error) {
	l.once.Do(func() {
		close(l.over)
		err = l.Listener.Close()
		l.stream.mu.Lock()
		var left []*streamConn
		for range len(l.accepted) {
			select {
			case c := <-l.accepted:
				left = append(left, c)
			default:
			}
		}
		l.stream.mu.Unlock()
		for _, c := range left {
			c.abort(net.ErrClosed)
		}
	})
	return err
}

// event is something that happens at a time.
type event struct {
	at      timeline.Time
	order   uint64
	happens func(timeline.Time)
}

// events is a heap of them.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, k int) bool {
	return e[i].at < e[k].at || e[i].at == e[k].at && e[i].order < e[k].order
}
func (e events) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = slices.Delete(*e, last, last+1)
	return x
}
