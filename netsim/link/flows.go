package link

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// flows has the packets of both carriers of a link, by flow. Each packet is recorded at three
// places: where the device sends it (up), where a server sends it (sent), and where the device gets
// it (given). A packet costs a lock, rarely contended by the two threads, and a map lookup. Memory
// is bounded. It is allocated when a flow begins or has many arrivals.
type flows struct {
	mu     sync.Mutex
	byEnds map[ends]*flow
	all    []*flow // in the order in which they began
	kept   int     // arrivals that there is room for, in all flows
	missed missed
	meter  *meter // of bytes of TCP that the device is given, each once; nil: nobody asks
	whole  Goodput
}

// ends names a flow.
type ends struct {
	protocol       uint8
	six            bool
	device, server [16]byte
	devicePort     uint16
	serverPort     uint16
}

// flow is a Flow while it grows.
type flow struct {
	Flow
	up       stream // what the device sends
	down     stream // what the server sends, where it sends it
	begun    bool   // the device has been given the beginning of what the server sends
	next     uint32 // number of the byte after those that it has
	had      int64  // bytes
	held     []piece
	behind   int64         // bytes of them
	dropped  bool          // one of held had no room
	group    timeline.Time // when the first of the last arrival's bytes were there
	fin      int64         // offset of the end
	finKnown bool
}

// stream is what one end of a TCP connection has sent.
type stream struct {
	begun bool
	start uint32 // number of its SYN, or of the first byte that was seen
	next  uint32 // number of the byte after the last one
}

// piece is bytes that are there, behind a hole: offsets.
type piece struct{ from, to int64 }

const (
	maxHeld     = 256 // pieces of a flow
	minArrivals = 16
	minCoarse   = 128 * time.Microsecond
)

func newFlows() *flows { return &flows{byEnds: map[ends]*flow{}} }

// find reads a packet's header and returns its flow, which the device has sent or is sent to it;
// nil if it is of none that is noted.
func (t *flows) find(packet []byte, h *header, fromDevice bool) *flow {
	if !h.read(packet) {
		t.missed.Other++
		return nil
	}
	e := ends{h.protocol, h.six, h.to, h.from, h.dst, h.source}
	if fromDevice {
		e.device, e.server, e.devicePort, e.serverPort = h.from, h.to, h.source, h.dst
	}
	f := t.byEnds[e]
	// Ports are used again: a SYN with another number is another connection.
	if f != nil && !(fromDevice && h.protocol == protocolTCP && h.flags&(flagSYN|flagACK) == flagSYN && f.up.begun &&
		f.up.start != h.seq) {
		return f
	}
	if len(t.all) == maxFlows {
		t.missed.NoRoom++
		return nil
	}
	f = &flow{}
	f.Protocol = "udp"
	if h.protocol == protocolTCP {
		f.Protocol = "tcp"
	}
	f.Device, f.Server = address(e.device, e.six, e.devicePort), address(e.server, e.six, e.serverPort)
	t.byEnds[e] = f
	t.all = append(t.all, f)
	return f
}

func address(b [16]byte, six bool, port uint16) netip.AddrPort {
	if six {
		return netip.AddrPortFrom(netip.AddrFrom16(b), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), port)
}

// up takes note of a packet that the device sends.
func (t *flows) up(packet []byte, at timeline.Time, lost bool) {
	var h header
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.find(packet, &h, true)
	if f == nil {
		return
	}
	f.PacketsUp++
	f.BytesUp += uint64(len(packet))
	if lost {
		f.LostUp++
	}
	if f.Opened == 0 {
		f.Opened = at
	}
	if h.payload > 0 && f.First == 0 {
		f.First = at
	}
	if h.protocol != protocolTCP {
		return
	}
	if f.up.send(&h) {
		f.RepeatedUp++
	}
	if h.flags&flagRST != 0 && f.Closed == 0 {
		f.Closed = at
	}
	if f.dropped && h.flags&flagACK != 0 {
		t.acknowledged(f, h.ack, at)
	}
}

// sent takes note of a packet that a server sends to the device.
func (t *flows) sent(packet []byte, lost bool) {
	var h header
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.find(packet, &h, false)
	if f == nil {
		return
	}
	if lost {
		f.LostDown++
		t.whole.Lost++
	}
	if h.protocol == protocolTCP && f.down.send(&h) {
		f.RepeatedDown++
	}
}

// given takes note of a packet that the device is given.
func (t *flows) given(packet []byte, at timeline.Time) {
	var h header
	if !h.read(packet) {
		return // sent has counted it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// A flow may have followed at the same ports while the packet was on its way; it is then told
	// of one packet too many.
	f := t.byEnds[ends{h.protocol, h.six, h.to, h.from, h.dst, h.source}]
	if f == nil {
		return
	}
	t.whole.Packets++
	f.PacketsDown++
	f.BytesDown += uint64(len(packet))
	if f.Answered == 0 {
		f.Answered = at
	}
	if h.protocol == protocolTCP {
		t.segment(f, &h, at)
		return
	}
	if h.payload > 0 {
		f.had += int64(h.payload)
		t.arrived(f, at)
	}
}

// send takes note of a segment, and reports whether it begins with something that was sent before.
func (s *stream) send(h *header) (again bool) {
	size := h.payload
	if h.flags&flagSYN != 0 {
		size++
	}
	if h.flags&flagFIN != 0 {
		size++
	}
	if size == 0 {
		return false
	}
	if !s.begun {
		*s = stream{true, h.seq, h.seq + uint32(size)}
		return false
	}
	again = int32(h.seq-s.next) < 0
	if end := h.seq + uint32(size); int32(end-s.next) > 0 {
		s.next = end
	}
	return again
}

// segment records the part of a TCP stream in a packet. Offsets have 64 bits. Sequence numbers wrap
// every 4 GiB, and are never half of that away from the next one.
func (t *flows) segment(f *flow, h *header, at timeline.Time) {
	if h.flags&flagRST != 0 {
		if f.Closed == 0 {
			f.Closed = at
		}
		return
	}
	first := h.seq
	if h.flags&flagSYN != 0 {
		first++
	}
	if !f.begun {
		if h.payload == 0 && h.flags&(flagSYN|flagFIN) == 0 {
			return
		}
		f.begun, f.next = true, first
	}
	from := f.had + int64(int32(first-f.next))
	to := from + int64(h.payload)
	if h.payload > 0 {
		if from < f.had || f.holds(from, to) {
			f.SentAgain++
			t.whole.Again++
		}
		before := f.had + f.behind
		switch {
		case to <= f.had:
		case from <= f.had:
			t.advance(f, to, at)
		default:
			f.hold(piece{from, to})
		}
		if t.meter != nil {
			t.meter.add(f.had+f.behind-before, at)
		}
	}
	if h.flags&flagFIN != 0 && !f.finKnown {
		f.fin, f.finKnown = to, true
	}
	f.end(at)
}

// end closes a flow whose last byte is there.
func (f *flow) end(at timeline.Time) {
	if f.finKnown && f.had >= f.fin && f.Closed == 0 {
		f.Closed = at
	}
}

// advance moves the end of what the device has, over pieces that were waiting for it too.
func (t *flows) advance(f *flow, to int64, at timeline.Time) {
	k := 0
	for ; k < len(f.held) && f.held[k].from <= to; k++ {
		to = max(to, f.held[k].to)
		f.behind -= f.held[k].to - f.held[k].from
	}
	f.held = slices.Delete(f.held, 0, k)
	f.next += uint32(to - f.had)
	f.had = to
	t.arrived(f, at)
}

// acknowledged uses the device's acknowledgement of data for which there was no room. The time is
// later by the device's delay before acknowledging.
func (t *flows) acknowledged(f *flow, ack uint32, at timeline.Time) {
	more := int32(ack - f.next)
	if !f.begun || more <= 0 || int32(ack-f.down.next) > 0 {
		return
	}
	to := f.had + int64(more)
	if f.finKnown {
		to = min(to, f.fin) // the end has a number too
	}
	if to > f.had {
		t.advance(f, to, at)
		f.end(at)
	}
}

// holds reports whether some of the bytes are there already.
func (f *flow) holds(from, to int64) bool {
	for _, p := range f.held {
		if p.from < to && from < p.to {
			return true
		}
	}
	return false
}

// hold keeps a piece until the bytes before it have arrived.
func (f *flow) hold(p piece) {
	i := 0
	for i < len(f.held) && f.held[i].to < p.from {
		i++
	}
	k := i
	for k < len(f.held) && f.held[k].from <= p.to {
		f.behind -= f.held[k].to - f.held[k].from
		p.from, p.to = min(p.from, f.held[k].from), max(p.to, f.held[k].to)
		k++
	}
	if k == i && len(f.held) == maxHeld {
		f.dropped = true
		return
	}
	f.held = slices.Replace(f.held, i, k, p)
	f.behind += p.to - p.from
}

// arrived takes note of what the device has now.
func (t *flows) arrived(f *flow, at timeline.Time) {
	if k := len(f.Arrivals); k > 0 && at.Sub(f.group) <= f.Coarse {
		f.Arrivals[k-1] = Arrival{at, f.had}
		return
	}
	if len(f.Arrivals) == cap(f.Arrivals) {
		t.room(f)
	}
	f.Arrivals = append(f.Arrivals, Arrival{at, f.had})
	f.group = at
}

// room makes room for one arrival at least: by memory, or if there is none left by making times
// coarser.
func (t *flows) room(f *flow) {
	now := cap(f.Arrivals)
	if more := max(now, minArrivals); now == 0 || now < maxArrivals && t.kept+more <= allArrivals {
		grown := make([]Arrival, len(f.Arrivals), now+more)
		copy(grown, f.Arrivals)
		f.Arrivals = grown
		t.kept += more
		return
	}
	for len(f.Arrivals) > now*3/4 {
		f.coarsen()
	}
}

// coarsen merges arrivals that are within twice the former interval. A merged one is at most
// f.Coarse long, and ends at its time. Arrivals that end within that time of the first one's end
// are together at most twice as long.
func (f *flow) coarsen() {
	before := f.Coarse
	if before == 0 {
		before = minCoarse / 2
	}
	kept := f.Arrivals[:0]
	var first timeline.Time
	for _, a := range f.Arrivals {
		if len(kept) > 0 && a.At.Sub(first) <= before {
			kept[len(kept)-1] = a
			continue
		}
		kept, first = append(kept, a), a.At
	}
	f.Arrivals, f.Coarse = kept, 2*before
	// Only arrivals within Coarse of the last one's first byte may join it. That time is no longer
	// known.
	f.group = first.Add(-before)
}

// snapshot returns all flows so far.
func (t *flows) snapshot() []Flow {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Flow, len(t.all))
	for i, f := range t.all {
		all[i] = f.Flow
		all[i].Arrivals = slices.Clone(f.Arrivals)
	}
	return all
}

// measure sets the current meter, or none, and returns the former one's count.
func (t *flows) measure(m *meter) Goodput {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meter = m
	return t.whole
}
