package link

import (
	"errors"
	"fmt"
	"time"
)

// Conditions describe a link.
type Conditions struct {
	Down Direction // from the servers to the device
	Up   Direction // from the device to the servers
}

// Direction describes one direction of a link. The zero value passes everything at once.
type Direction struct {
	Rate    Rate          // 0: as fast as it goes
	Trace   Trace         // rates that change; instead of Rate
	Delay   time.Duration // of propagation, one way
	Jitter  time.Duration // delay is off by up to as much
	Queue   int           // bytes that wait at most; 0: defaultQueue
	Loss    float64       // share of packets lost on the way, 0 to 1
	Burst   float64       // mean number of packets lost in a row; 0: as independent losses have it, 1 / (1 − Loss)
	Reorder float64       // share of packets held back, so that others overtake
	Behind  time.Duration // by how much those are held back; 0: as long as 3 full packets take, at least 1 ms
}

// Rate is in bits per second.
type Rate int64

// Trace is rates one after the other, and then from the first again.
type Trace []TraceStep

// TraceStep is a rate for some time. A rate of 0 is a link that is dead for so long.
type TraceStep struct {
	For  time.Duration
	Rate Rate
}

const (
	Bit  Rate = 1
	Kbit      = 1000 * Bit
	Mbit      = 1000 * Kbit
	Gbit      = 1000 * Mbit
)

// Bounds of what a link can be asked to be.
const (
	minRate  = 1 * Kbit
	maxRate  = 100 * Gbit
	maxDelay = 60 * time.Second
	minQueue = 2 * MTU
	maxQueue = 1 << 30
	maxBurst = 1000.0
	maxSteps = 1 << 20 // of a trace
	maxTrace = 24 * time.Hour
)

// MTU is the largest IP packet, bytes, that goes over a link.
const MTU = 1500

// defaultQueue holds the first windows of 17 connections that begin together (RFC 6928: ten full
// segments each). So losses of a page load come from the configured loss.
const defaultQueue = 256 << 10

// Check says what cannot be.
func (c Conditions) Check() error {
	// one delay was given, not two
	if rtt := c.RTT(); (rtt < 0 || rtt > 2*maxDelay) && (c.Down.Delay-c.Up.Delay).Abs() <= 1 {
		return fmt.Errorf("a round trip of %v is not between 0 and %v", rtt, 2*maxDelay)
	}
	if err := c.Down.check(); err != nil {
		return fmt.Errorf("down: %w", err)
	}
	if err := c.Up.check(); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	return nil
}

// check says what cannot be.
func (d *Direction) check() error {
	switch {
	case d.Rate != 0 && len(d.Trace) > 0:
		return errors.New("either a rate or a trace of rates, not both")
	case d.Rate != 0 && (d.Rate < minRate || d.Rate > maxRate):
		return fmt.Errorf("a rate of %v is not between %v and %v", d.Rate, minRate, maxRate)
	case d.Delay < 0 || d.Delay > maxDelay:
		return fmt.Errorf("a delay of %v is not between 0 and %v", d.Delay, maxDelay)
	case d.Jitter < 0 || d.Jitter > d.Delay:
		return fmt.Errorf("jitter of %v: must be between 0 and the delay, %v",
			d.Jitter, d.Delay)
	case d.Queue != 0 && (d.Queue < minQueue || d.Queue > maxQueue):
		return fmt.Errorf("a queue of %d bytes is not between %d and %d", d.Queue, minQueue, maxQueue)
	case !(d.Loss >= 0 && d.Loss <= 1):
		return fmt.Errorf("a loss of %.4g %% is not between 0 and 100 %%", 100*d.Loss)
	case d.Burst != 0 && !(d.Burst >= 1 && d.Burst <= maxBurst):
		return fmt.Errorf("losses of %v packets in a row are not between 1 and %v", d.Burst, maxBurst)
	case d.Loss > 0 && d.Loss < 1 && d.Burst != 0 && d.Burst < d.Loss/(1-d.Loss):
		return fmt.Errorf("a loss of %.4g %% needs at least %.3g lost packets in a row, on average", 100*d.Loss,
			d.Loss/(1-d.Loss))
	case !(d.Reorder >= 0 && d.Reorder < 1):
		return fmt.Errorf("reordering of %v is not from 0 to less than 1", d.Reorder)
	case d.Behind < 0 || d.Behind > maxDelay:
		return fmt.Errorf("packets cannot be held back for %v, but for 0 to %v", d.Behind, maxDelay)
	}
	return d.Trace.check()
}

func (t Trace) check() error {
	if len(t) > maxSteps {
		return fmt.Errorf("a trace of %d steps is longer than %d", len(t), maxSteps)
	}
	var whole time.Duration
	alive := false
	for i, s := range t {
		if s.For <= 0 || s.For > maxTrace || s.Rate != 0 && (s.Rate < minRate || s.Rate > maxRate) {
			return fmt.Errorf("step %d of the trace: %v at %v is not between 0 and %v at 0 or %v to %v", i+1, s.For,
				s.Rate, maxTrace, minRate, maxRate)
		}
		if whole += s.For; whole > maxTrace {
			return fmt.Errorf("a trace of more than %v is too long", maxTrace)
		}
		alive = alive || s.Rate > 0 && s.For >= time.Millisecond
	}
	if len(t) > 0 && !alive {
		return errors.New("a trace in which nothing ever gets through, for a millisecond at least")
	}
	return nil
}

// SetRTT shares a round trip out: half of it each way.
func (c *Conditions) SetRTT(rtt time.Duration) { c.Down.Delay, c.Up.Delay = rtt/2, rtt-rtt/2 }

// RTT is how long a packet of no size is on its way there and back, on average.
func (c *Conditions) RTT() time.Duration { return c.Down.Delay + c.Up.Delay }

// units are those that rates are written in, the largest first. A bit is a bit, and k is 1000.
var units = []struct {
	name string
	rate Rate
}{{"Gbit", Gbit}, {"Mbit", Mbit}, {"kbit", Kbit}}

// String writes a rate in the largest unit of which it is a whole number.
func (r Rate) String() string {
	for _, u := range units {
		if r != 0 && r%u.rate == 0 {
			return fmt.Sprintf("%d%s", r/u.rate, u.name)
		}
	}
	return fmt.Sprintf("%dbit", int64(r))
}
