package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// carrier takes packets from one interface to another, when a pipe says that they arrive. It is one
// thread, which sleeps in the kernel until the next packet comes or arrives.
type carrier struct {
	in, out int           // of TUN interfaces, not blocking
	wake    int           // eventfd: the conditions have changed, or it is over
	ready   chan struct{} // closed when the thread is what it is to be
	done    chan struct{}
	flows   *flows
	beside  *bypass
	up      bool // from the device

	mu     sync.Mutex
	pipe   *pipe
	over   bool
	failed error

	// Of the thread alone:
	way   ring[onWay] // by arrival
	bytes int         // of the memory that they take
	spare [][]byte
	clock timeline.Clock
	load  packetLoad
}

// onWay is a packet that has been sent and is not there yet.
type onWay struct {
	arrives timeline.Time
	packet  []byte
}

const (
	maxOnWay  = 256 << 20 // bytes of memory; a small packet takes as much as a full one
	maxAtOnce = 64        // packets that are read before it is looked whether others have arrived
)

func carry(in, out int, d Direction, seed, stream uint64, at timeline.Time, flows *flows,
	beside *bypass) (*carrier, error) {
	pipe, err := newPipe(d, seed, stream, at)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make an event: %w", err)
	}
	c := &carrier{in: in, out: out, wake: wake, ready: make(chan struct{}), done: make(chan struct{}), pipe: pipe,
		clock: timeline.Monotonic(), flows: flows, beside: beside, up: stream == streamUp}
	timeline.AddProcs(1)
	go c.run()
	<-c.ready // else a busy machine keeps the first packets waiting for a thread that has no priority yet
	return c, nil
}

func (c *carrier) set(d Direction) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pipe.set(d, c.clock.Now())
}

func (c *carrier) counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pipe.counts
}

// close ends the thread, and returns what it failed with.
func (c *carrier) close() error {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	_, err := unix.Write(c.wake, binary.NativeEndian.AppendUint64(nil, 1))
	<-c.done
	timeline.AddProcs(-1)
	return errors.Join(err, unix.Close(c.wake), c.failed)
}

func (c *carrier) run() {
	defer close(c.done)
	// The thread is not given back: what ran on it next would have its rights.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	urgent := true
	schedule(urgent)
	close(c.ready)
	for {
		if err := c.wait(); err != nil {
			c.failed = err
			return
		}
		c.mu.Lock()
		over, limited := c.over, c.pipe.limited()
		c.mu.Unlock()
		if over {
			return
		}
		taken := 0
		for taken < maxAtOnce && c.take() {
			taken++
		}
		c.deliver()
		if u := c.load.light(taken, c.clock.Now()) || limited; u != urgent {
			urgent = u
			schedule(urgent)
		}
	}
}

// packetLoad tells whether packets are few: as long as a thread has little to do it can keep nobody
// from work.
type packetLoad struct {
	began   timeline.Time
	packets int
	heavy   bool
}

const (
	loadTime  = 100 * time.Millisecond
	lightLoad = 1000 // packets in that time: 120 Mbit/s of full ones
)

// light counts packets, and reports whether there were few since a whole time began.
func (l *packetLoad) light(packets int, now timeline.Time) bool {
	if now.Sub(l.began) >= loadTime {
		l.heavy = l.packets > lightLoad
		l.began, l.packets = now, 0
	}
	l.packets += packets
	l.heavy = l.heavy || l.packets > lightLoad
	return !l.heavy
}

// schedule raises the priority of the thread, so that it wakes in time. A packet that is read late
// is sent late. On a busy machine the link would be idle while senders wait for answers. If a rate
// or a small load bounds the work, the thread goes before all ordinary threads. Otherwise it could
// be busy for ever, and must not block the recorder.
func schedule(urgent bool) {
	const nice = -15
	if urgent && timeline.FavourThread() == nil {
		return
	}
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: nice}, 0)
}

// wait sleeps until there is something to do.
func (c *carrier) wait() error {
	fds := [...]unix.PollFd{{Fd: int32(c.in), Events: unix.POLLIN}, {Fd: int32(c.wake), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if c.way.len() > 0 {
		ts := unix.NsecToTimespec(int64(max(0, c.way.at(0).arrives.Sub(c.clock.Now()))))
		timeout = &ts
	}
	_, err := unix.Ppoll(fds[:], timeout, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for packets: %w", err)
	}
	if fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
		return errors.New("wait for packets: the interface is gone")
	}
	return nil
}

// take reads a packet, if there is one, and asks the pipe.
func (c *carrier) take() bool {
	b := c.buffer()
	n, err := unix.Read(c.in, b)
	if err != nil || n <= 0 {
		c.spare = append(c.spare, b)
		return false
	}
	if c.pass(b[:n]) {
		c.spare = append(c.spare, b)
		return true
	}
	now := c.clock.Now()
	c.mu.Lock()
	fate := c.pipe.send(now, n)
	if fate.Lost == notLost && c.bytes+cap(b) > maxOnWay {
		c.pipe.counts.LostInQueue++
		fate.Lost = lostInQueue
	}
	c.mu.Unlock()
	if c.up {
		c.flows.up(b[:n], now, fate.Lost != notLost)
	} else {
		c.flows.sent(b[:n], fate.Lost != notLost)
	}
	if fate.Lost != notLost {
		c.spare = append(c.spare, b)
		return true
	}
	c.bytes += cap(b)
	c.way.push(onWay{})
	i := c.way.len() - 1
	for ; i > 0 && c.way.at(i-1).arrives > fate.Arrives; i-- {
		*c.way.at(i) = *c.way.at(i - 1)
	}
	*c.way.at(i) = onWay{fate.Arrives, b[:n]}
	return true
}

// deliver hands over the arrived packets.
func (c *carrier) deliver() {
	for c.way.len() > 0 {
		now := c.clock.Now()
		if c.way.at(0).arrives > now {
			return
		}
		p := c.way.pop()
		c.bytes -= cap(p.packet)
		if !c.up {
			// Before it is there, so that what the device answers is later.
			c.flows.given(p.packet, now)
		}
		// An interface that takes no packet drops it, as a network card does whose program does not
		// listen.
		_, _ = unix.Write(c.out, p.packet)
		c.spare = append(c.spare, p.packet[:cap(p.packet)])
	}
}

// buffer returns one that holds any packet. They are kept: nothing is allocated for a packet once
// as many were on their way.
func (c *carrier) buffer() []byte {
	if k := len(c.spare); k > 0 {
		b := c.spare[k-1]
		c.spare = c.spare[:k-1]
		return b
	}
	return make([]byte, 2048)
}
