package link

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Probe is what a link was found to do, by packets that went through it.
type Probe struct {
	RTT      Spread        // of small packets, less what their own bits take at the rates asked
	Down, Up Rate          // of full packets sent at once; 0: not limited, or too fast to tell
	Sent     int           // packets whose loss on the way was looked for, both ways
	Lost     int           // of them
	Took     time.Duration // all of it
}

// Spread is of times in order.
type Spread struct{ Least, Median, P99, Most time.Duration }

// Tolerances within which a link meets its configuration. On a quiet machine it is much closer.
// Larger differences mean that the machine is too busy.
const (
	rttShare  = 0.02
	rttMin    = 2 * time.Millisecond
	rateShare = 0.02
	lossSigma = 4.0

	pings = 31 // of a probe

	longTrain  = 150 // full packets
	shortTrain = 8   // of the slowest lines
	trainTime  = 400 * time.Millisecond
)

// spreadOf is of at least one time. It sorts them.
func spreadOf(took []time.Duration) Spread {
	slices.Sort(took)
	n := len(took)
	return Spread{took[0], took[n/2], took[min(n-1, n*99/100)], took[n-1]}
}

// train is how many full packets tell the rate: as many as the queue is sure to hold.
func (d *Direction) train() int {
	count := int(trainTime / max(1, d.takes(MTU)))
	return max(2, min(max(count, shortTrain), longTrain, d.queue()/MTU-1))
}

// queue is how many bytes wait at most.
func (d *Direction) queue() int {
	if d.Queue == 0 {
		return defaultQueue
	}
	return d.Queue
}

// takes is how long some bytes take to leave.
func (d *Direction) takes(bytes int) time.Duration {
	if d.Rate == 0 {
		return 0
	}
	return time.Duration(int64(bytes) * 8 * int64(time.Second) / int64(d.Rate))
}

// slope is the median rate between packets that are half a train apart: a few that were late change
// nothing.
func slope(arrived []int64) Rate {
	half := len(arrived) / 2
	var rates []Rate
	for i := range len(arrived) - half {
		if a, b := arrived[i], arrived[i+half]; a != 0 && b > a {
			rates = append(rates, Rate(int64(half)*MTU*8*int64(time.Second)/(b-a)))
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// Off tells what a probe found that the conditions did not ask for, a sentence each.
func (c Conditions) Off(p Probe) (off []string) {
	// Jitter moves the median. With n packets it is within some 1.25 standard deviations / √n. Both
	// ways have uniform jitter.
	spread := (c.Down.Jitter + c.Up.Jitter).Seconds() / math.Sqrt(3) * 1.25 / math.Sqrt(pings) * lossSigma
	within := max(time.Duration(rttShare*float64(c.RTT())), rttMin) + time.Duration(spread*float64(time.Second))
	if d := p.RTT.Median - c.RTT(); max(d, -d) > within {
		off = append(off, fmt.Sprintf("a round trip takes %v, asked were %v ± %v",
			p.RTT.Median.Round(10*time.Microsecond), c.RTT(), within.Round(10*time.Microsecond)))
	}
	for _, way := range []struct {
		name  string
		asked Rate
		got   Rate
	}{{"down", c.Down.Rate, p.Down}, {"up", c.Up.Rate, p.Up}} {
		if way.asked > 0 && (way.got == 0 || math.Abs(float64(way.got)/float64(way.asked)-1) > rateShare) {
			off = append(off, fmt.Sprintf("the rate %s is %.4g Mbit/s, asked were %.4g ± %.0f %%", way.name,
				way.got.mbit(), way.asked.mbit(), rateShare*100))
		}
	}
	if share, sigma := c.meanLoss(p.Sent); math.Abs(float64(p.Lost)-share*float64(p.Sent)) > lossSigma*sigma+1 {
		off = append(off, fmt.Sprintf("%d of %d packets were lost, asked were %.3g %%", p.Lost, p.Sent, 100*share))
	}
	return off
}

// meanLoss returns the expected share of lost packets, with sent packets each way, and the standard
// deviation of their number.
func (c *Conditions) meanLoss(sent int) (share, sigma float64) {
	variance := 0.0
	for _, d := range []*Direction{&c.Down, &c.Up} {
		share += d.Loss / 2
		burst := d.Burst
		if burst == 0 {
			burst = 1
		}
		variance += float64(sent) / 2 * d.Loss * (1 - d.Loss) * 2 * max(1, burst)
	}
	return share, math.Sqrt(variance)
}

// mbit returns millions of bits a second.
func (r Rate) mbit() float64 { return float64(r) / float64(Mbit) }

// headersTCP is what of a full packet TCP cannot use: 20 bytes of IPv4, 20 of TCP and 12 of its
// timestamps (RFC 7323).
const headersTCP = 52

// GoodputCeiling is the maximum of TCP at a rate: the part of full packets without headers.
func GoodputCeiling(r Rate) float64 { return float64(r) * (MTU - headersTCP) / MTU }
