package payload

import (
	"cmp"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Limits of a channel's account.
const (
	maxMessages = 100_000
	maxHeld     = 64 << 20 // bytes of messages
	maxFrames   = 1000     // in lists
	// window is the number of packets that wait for an earlier one. A torn frame may show a packet
	// before the one that precedes it.
	window = 2
)

// Message is a message that arrived whole.
type Message struct {
	Sequence int64  // number of its first packet, counted on over the modulus
	Clock    int64  // of the page when it drew the first packet, in µs
	Frame    int    // the first one that shows its first packet
	Whole    int    // the first one by which all its packets were seen
	Data     []byte // 1 to maxMessage bytes
}

// Loss is a run of lost packets.
type Loss struct {
	Before  int   // the frame that shows the packet behind them
	Packets int64 // number of them
}

// Account is the account of a channel.
type Account struct {
	Frames  int // with at least one packet
	Packets int64
	Bytes   int64 // of their data
	// First is the number of the first packet. The page has drawn as many before it.
	First    int64
	Lost     int64 // packets that no frame shows whole, between others
	Losses   []Loss
	Messages []Message
	Cut      int64 // messages that lack a packet
	// Broken counts halves of blocks whose CRC fails, in BrokenIn at first.
	Broken   int64
	BrokenIn []int
	// Restarts counts pages that began again with another number.
	Restarts int
	// LeftOut counts whole messages beyond the limits of an account.
	LeftOut int64
	// Zero is the latest time at which the page's clock was 0. It is meaningful if Packets > 0.
	Zero timeline.Time
}

// arrived is a packet with its place in the channel.
type arrived struct {
	number, clock int64
	frame         int
	first, last   bool
	data          []byte
}

// Channel joins packets of frames to messages. The zero value is ready for the first frame.
type Channel struct {
	sum     Account
	begun   bool
	newest  int64     // number of the newest packet
	joined  bool      // a packet was joined since the page began
	done    int64     // number of the last one
	clock   int64     // of the newest packet
	waiting []arrived // behind done, by number
	partial *Message  // nil: between messages
	held    int
}

// Add takes the halves of the block of frame n, which was on the screen at sampled. Frames come in
// order. Frames that show what the previous one does may be left out.
func (c *Channel) Add(n int, sampled timeline.Interval, block *[slots]Slot) {
	a, b := &block[0], &block[1]
	if a.State == Good && b.State == Good && int16(a.Packet.Sequence-b.Packet.Sequence) > 0 {
		a, b = b, a
	}
	some := false
	for _, s := range [...]*Slot{a, b} {
		switch {
		case s.State == Good:
			some = true
			c.packet(n, sampled, &s.Packet)
		case s.State == Broken && c.begun:
			c.Lose(n)
		}
	}
	if some {
		c.sum.Frames++
	}
}

// Lose counts a half of a block of frame n that cannot be read.
func (c *Channel) Lose(n int) {
	c.sum.Broken++
	if list := c.sum.BrokenIn; len(list) < maxFrames && (len(list) == 0 || list[len(list)-1] != n) {
		c.sum.BrokenIn = append(list, n)
	}
}

func (c *Channel) packet(n int, sampled timeline.Interval, p *Packet) {
	number := c.newest + int64(int16(p.Sequence-uint16(c.newest)))
	switch {
	case !c.begun:
		number = int64(p.Sequence)
		c.newest, c.clock, c.begun = number, int64(p.Clock), true
		c.sum.Zero = sampled.Latest.Add(-micros(c.clock))
	case number < c.newest-slots*window: // no frame shows a packet that old: another page began
		c.flush()
		c.cut()
		c.sum.Restarts++
		c.joined, c.newest, c.clock = false, number, int64(p.Clock)
	case c.joined && number <= c.done:
		return
	}
	at, seen := slices.BinarySearchFunc(c.waiting, number,
		func(w arrived, n int64) int { return cmp.Compare(w.number, n) })
	if seen {
		return
	}
	// The clocks of neighbours differ by less than half of the modulus.
	clock := c.clock + int64(int32(p.Clock-uint32(c.clock)))
	if number >= c.newest {
		c.newest, c.clock = number, clock
	}
	c.sum.Packets++
	c.sum.Bytes += int64(len(p.Data))
	if c.sum.Restarts == 0 {
		c.sum.Zero = min(c.sum.Zero, sampled.Latest.Add(-micros(clock)))
	}
	c.waiting = slices.Insert(c.waiting, at, arrived{number, clock, n, p.First, p.Last, slices.Clone(p.Data)})
	for len(c.waiting) > 0 && (c.joined && c.waiting[0].number == c.done+1 || len(c.waiting) > window) {
		c.join()
	}
}

// join takes the first waiting packet.
func (c *Channel) join() {
	p := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	if !c.joined {
		if c.joined, c.done = true, p.number-1; c.sum.Restarts == 0 {
			c.sum.First = max(p.number, 0) // a page may begin anywhere before the modulus
		}
		if !p.first {
			c.sum.Cut++
		}
	}
	if missing := p.number - c.done - 1; missing > 0 {
		c.sum.Lost += missing
		if len(c.sum.Losses) < maxFrames {
			c.sum.Losses = append(c.sum.Losses, Loss{p.frame, missing})
		}
		c.cut()
		if !p.first { // it continues a message with lost packets
			c.sum.Cut++
		}
	}
	c.done = p.number
	switch {
	case p.first:
		c.cut()
		c.partial = &Message{Sequence: p.number, Clock: p.clock, Frame: p.frame}
	case c.partial == nil:
		return // its begin is lost
	}
	m := c.partial
	if len(m.Data)+len(p.data) > maxMessage { // no page of ours sends it
		c.cut()
		return
	}
	m.Data, m.Whole = append(m.Data, p.data...), max(m.Whole, p.frame)
	if !p.last {
		return
	}
	c.partial = nil
	if len(c.sum.Messages) == maxMessages || c.held+len(m.Data) > maxHeld {
		c.sum.LeftOut++
		return
	}
	c.held += len(m.Data)
	c.sum.Messages = append(c.sum.Messages, *m)
}

// cut drops a message that lacks a packet.
func (c *Channel) cut() {
	if c.partial != nil {
		c.partial = nil
		c.sum.Cut++
	}
}

func (c *Channel) flush() {
	for len(c.waiting) > 0 {
		c.join()
	}
}

// Close returns the account of all frames. The channel must not be used any more.
func (c *Channel) Close() *Account {
	c.flush()
	c.cut()
	return &c.sum
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
