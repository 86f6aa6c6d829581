package link

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// handClock is a clock that a test moves.
type handClock struct{ at timeline.Time }

func (c *handClock) Now() timeline.Time { return c.at }

// byHand is a link on which nothing happens but when the test says so.
func byHand(t *testing.T, c Conditions, seed uint64) (*Stream, *handClock) {
	t.Helper()
	clock := &handClock{}
	s, err := newStream(c, seed, clock)
	if err != nil {
		t.Fatal(err)
	}
	return s, clock
}

// read returns what of a half has arrived by a time.
func (h *half) read(clock *handClock, at timeline.Time) int {
	clock.at = at
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.catchUp()
	return h.unread.len()
}

func opened(s *Stream, way int) *half {
	h := newHalf(s, way, 0)
	h.open = true
	return h
}

// 1.2 Mbit/s and 20 ms: a full segment takes 10 ms, headers and all. The first ten leave one after
// the other; the link is never idle, so acknowledgements are there before the window ends.
func TestStreamByHand(t *testing.T) {
	s, clock := byHand(t, Conditions{Down: Direction{Rate: 1200 * Kbit, Delay: 20 * time.Millisecond},
		Up: Direction{Delay: 20 * time.Millisecond}}, 1)
	h := opened(s, streamDown)
	if n, err := h.put(make([]byte, 20*mss), nil); n != 20*mss || err != nil {
		t.Fatal(n, err)
	}
	for _, step := range []struct {
		at   int64 // ms
		want int   // segments
	}{{29, 0}, {30, 1}, {39, 1}, {40, 2}, {120, 10}, {130, 11}, {219, 19}, {220, 20}} {
		if got := h.read(clock, ms(step.at)); got != step.want*mss {
			t.Errorf("at %d ms %.2f segments are there, want %d", step.at, float64(got)/mss, step.want)
		}
	}
	h.finish(io.EOF) // 52 bytes take 347 µs
	if h.read(clock, ms(240)); h.ended != nil {
		t.Error("the end is there before its time")
	}
	if h.read(clock, ms(241)); h.ended != io.EOF { //nolint:errorlint // it is given as it is
		t.Errorf("the end is %v", h.ended)
	}
}

// A link without a rate: ten segments are there after 50 ms, twenty more a round trip later, and so
// on; and no more than who reads leaves room for.
func TestStreamWindow(t *testing.T) {
	s, clock := byHand(t, Conditions{Down: Direction{Delay: 50 * time.Millisecond},
		Up: Direction{Delay: 50 * time.Millisecond}}, 1)
	h := opened(s, streamDown)
	write := func() {
		b := make([]byte, maxUnsent-h.unsent.len())
		if _, err := h.put(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	write()
	sum := 0
	for round, want := range []int{10, 30} {
		write()
		if sum = h.read(clock, ms(int64(50+100*round))); sum != want*mss {
			t.Errorf("%.1f segments are there after round %d, want %d", float64(sum)/mss, round, want)
		}
	}
	for at := int64(200); at < 5000; at += 10 {
		clock.at = ms(at)
		if len := h.unsent.len(); len < maxUnsent {
			write()
		}
		sum = h.read(clock, ms(at))
	}
	if sum < maxUnread || sum > 4*maxUnread {
		t.Errorf("%d bytes wait for one who does not read", sum)
	}
	if s.unread != sum || s.unsent != h.unsent.len() {
		t.Errorf("%d bytes are said to be unread, and %d unsent", s.unread, s.unsent)
	}
	h.breakOff(net.ErrClosed)
	if s.unread != 0 || s.unsent != 0 {
		t.Errorf("%d bytes are unread, and %d unsent, of nothing", s.unread, s.unsent)
	}
}

// Lost data comes a round trip later, and later data waits for it. All of it comes, in order.
func TestStreamLoss(t *testing.T) {
	d := Direction{Rate: 12 * Mbit, Delay: 50 * time.Millisecond, Loss: 0.05}
	s, clock := byHand(t, Conditions{Down: d, Up: Direction{Delay: 50 * time.Millisecond}}, 3)
	h := opened(s, streamDown)
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 400_000)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	var got []byte
	b := make([]byte, 10_000)
	first, stalls := ms(0), 0
	shrunk, window := false, h.window
	for sent, at := 0, timeline.Time(0); len(got) < len(data); at = at.Add(time.Millisecond) {
		clock.at = at
		if k := min(maxUnsent-h.unsent.len(), len(data)-sent); k > 0 {
			if _, err := h.put(data[sent:sent+k], nil); err != nil {
				t.Fatal(err)
			}
			sent += k
		}
		had := len(got)
		shrunk = shrunk || h.window < window
		window = h.window
		for h.read(clock, at) > 0 {
			part, err := h.get(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part...)
		}
		if len(got) > had {
			if first != 0 && at.Sub(first) >= 100*time.Millisecond {
				stalls++
			}
			first = at
		}
		if at > ms(60_000) {
			t.Fatalf("only %d bytes came in a minute", len(got))
		}
	}
	if !bytes.Equal(got, data) {
		t.Error("something else came than was sent")
	}
	counts, _ := s.Counts()
	if counts.LostOnWay == 0 || stalls == 0 || counts.Packets != counts.LostOnWay+277 {
		t.Errorf("%+v, and it stopped for a round trip %d times; 277 segments are 400,000 bytes", counts, stalls)
	}
	if h.threshold >= maxWindow || !shrunk {
		t.Error("losses have not made the window smaller")
	}
}

// Connections that have something to send share the link alike; one that has nothing takes nothing.
func TestStreamShares(t *testing.T) {
	s, clock := byHand(t, Conditions{Down: Direction{Rate: 12 * Mbit, Delay: time.Millisecond}}, 1)
	var all []*half
	for range 5 {
		all = append(all, opened(s, streamDown))
	}
	for _, h := range all[:4] {
		if _, err := h.put(make([]byte, 10*mss), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, h := range all {
		if got, want := h.read(clock, ms(1+20)), []int{5, 5, 5, 5, 0}[i]; got < (want-want/5)*mss ||
			got > (want+want/5)*mss {
			t.Errorf("connection %d has %d bytes after 20 of 40 segments, want %d, "+
				"or one more or less of those that have any", i, got, want*mss)
		}
	}
}

// A connection begins a round trip after it was asked for, and if the SYN is lost a second later.
func TestStreamHandshake(t *testing.T) {
	for _, lost := range []bool{false, true} {
		c := Conditions{Down: Direction{Delay: 20 * time.Millisecond}, Up: Direction{Delay: 30 * time.Millisecond}}
		if lost {
			c.Up.Loss = 1
		}
		s, clock := byHand(t, c, 1)
		var device, server timeline.Time
		var failed error
		s.mu.Lock()
		s.handshake(func(at timeline.Time) { device = at }, func(at timeline.Time) { server = at },
			func(err error) { failed = err })
		s.mu.Unlock()
		if lost {
			clock.at = ms(500)
			if err := s.set(Conditions{Down: c.Down, Up: Direction{Delay: 30 * time.Millisecond}}); err != nil {
				t.Fatal(err)
			}
		}
		h := opened(s, streamUp)
		h.read(clock, ms(3000))
		late := ms(0)
		if lost {
			late = ms(1000)
		}
		if device != ms(50)+late || server != ms(80)+late || failed != nil {
			t.Errorf("lost %t: the device may send at %v, the server has it at %v, %v", lost, device, server, failed)
		}
	}
	s, clock := byHand(t, Conditions{Up: Direction{Loss: 1}}, 1)
	var failed error
	s.mu.Lock()
	s.handshake(nil, nil, func(err error) { failed = err })
	s.mu.Unlock()
	opened(s, streamUp).read(clock, ms(200_000))
	if failed == nil {
		t.Error("a link that loses all connects")
	}
}

// set changes the link's conditions for data sent from now on.
func (s *Stream) set(c Conditions) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.catchUp()
	s.conditions = c
	return errors.Join(s.pipes[streamDown].set(c.Down, now), s.pipes[streamUp].set(c.Up, now))
}
