package link

import (
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// The two directions of a link; each is a stream of chance of its own.
const (
	streamDown = 0
	streamUp   = 1
)

// pipe is the model of one direction: see the package. It does not carry anything: it says of each
// packet what becomes of it. It is not safe for use from several goroutines.
type pipe struct {
	d      Direction
	queue  int
	behind time.Duration
	chance chance

	trace   rates
	began   timeline.Time // of the trace
	free    timeline.Time // when the link is free
	rest    int64         // of a nanosecond more, in parts of 1/rate
	waiting backlog
	last    timeline.Time // arrival, of those that are not held back

	counts Counts
}

// delivery is what becomes of a packet.
type delivery struct {
	Lost    lossPlace
	Leaves  timeline.Time // when its last bit has left; of those that the queue refused nothing does
	Arrives timeline.Time // when its last bit is there; of those that are lost on the way, when it would have been
}

// lossPlace says where a packet was lost.
type lossPlace uint8

const (
	notLost     lossPlace = iota
	lostInQueue           // there was no room
	lostInTransit
)

// Counts are what went through a pipe.
type Counts struct {
	Packets, Bytes uint64 // that were sent, whatever became of them
	LostInQueue    uint64 // packets
	LostOnWay      uint64
	HeldBack       uint64
}

// newPipe starts a link that is free at a time. Pipes of a seed and stream are alike; the two
// directions of a link are streams of their own.
func newPipe(d Direction, seed, stream uint64, at timeline.Time) (*pipe, error) {
	p := &pipe{chance: newChance(seed, stream), free: at, last: at}
	return p, p.set(d, at)
}

// set changes the direction's conditions for packets sent from then on. Waiting packets leave as
// before.
func (p *pipe) set(d Direction, at timeline.Time) error {
	if err := d.check(); err != nil {
		return err
	}
	p.d, p.began, p.rest = d, at, 0
	if p.queue = d.Queue; p.queue == 0 {
		p.queue = defaultQueue
	}
	if p.behind = d.Behind; p.behind == 0 {
		p.behind = time.Millisecond
		if d.Rate > 0 {
			p.behind = max(p.behind, time.Duration(3*8*MTU*int64(time.Second)/int64(d.Rate)))
		}
	}
	p.trace = newRates(d.Trace)
	p.chance.set(d.Loss, d.Burst)
	return nil
}

// send offers a packet of some bytes at a time, which is not before that of the packet before it.
func (p *pipe) send(at timeline.Time, bytes int) delivery {
	p.counts.Packets++
	p.counts.Bytes += uint64(bytes)
	roll := p.chance.next()
	p.waiting.leave(at)
	if p.waiting.bytes+bytes > p.queue && p.limited() {
		p.counts.LostInQueue++
		return delivery{Lost: lostInQueue}
	}
	if at > p.free {
		p.free, p.rest = at, 0
	}
	if p.limited() {
		p.serialise(bytes)
		p.waiting.join(p.free, bytes)
	}
	f := delivery{Leaves: p.free}
	f.Arrives = f.Leaves.Add(p.d.Delay + time.Duration(roll.jitter*float64(p.d.Jitter)))
	if roll.order < p.d.Reorder {
		f.Arrives = max(f.Arrives.Add(p.behind), p.last)
		p.counts.HeldBack++
	} else {
		f.Arrives = max(f.Arrives, p.last)
		p.last = f.Arrives
	}
	if roll.lost {
		p.counts.LostOnWay++
		f.Lost = lostInTransit
	}
	return f
}

func (p *pipe) limited() bool { return p.d.Rate > 0 || len(p.d.Trace) > 0 }

// serialise moves the time at which the link is free by what a packet takes.
func (p *pipe) serialise(bytes int) {
	if p.d.Rate > 0 {
		p.take(int64(bytes)*8, p.d.Rate)
		return
	}
	bits := int64(bytes) * 8
	for {
		rate, until := p.trace.at(p.began, p.free)
		if rate > 0 {
			most := until.Sub(p.free)
			can := int64(float64(rate) * most.Seconds())
			if bits <= can {
				p.take(bits, rate)
				return
			}
			bits -= can
		}
		p.free, p.rest = until, 0
	}
}

// take lets bits pass at a rate. The fraction of a nanosecond is carried over. Over a million
// packets it would add up to a millisecond.
func (p *pipe) take(bits int64, rate Rate) {
	whole := bits*int64(time.Second) + p.rest
	p.free = p.free.Add(time.Duration(whole / int64(rate)))
	p.rest = whole % int64(rate)
}

// rates are a trace that is looked up by time.
type rates struct {
	trace Trace
	ends  []time.Duration // of each step, from the beginning of a round
}

func newRates(t Trace) rates {
	r := rates{t, make([]time.Duration, len(t))}
	var whole time.Duration
	for i, s := range t {
		whole += s.For
		r.ends[i] = whole
	}
	return r
}

// at returns the rate at a time, and until when it is that.
func (r *rates) at(began, now timeline.Time) (Rate, timeline.Time) {
	whole := r.ends[len(r.ends)-1]
	gone := now.Sub(began)
	round := gone / whole * whole
	i, _ := slices.BinarySearch(r.ends, gone-round+1) // the first that ends later
	return r.trace[i].Rate, began.Add(round + r.ends[i])
}

// backlog is what waits for the link, by when it leaves.
type backlog struct {
	ring[waiting]
	bytes int
}

type waiting struct {
	leaves timeline.Time
	bytes  int
}

// leave drops those that have left.
func (b *backlog) leave(at timeline.Time) {
	for b.len() > 0 && b.at(0).leaves <= at {
		b.bytes -= b.pop().bytes
	}
}

func (b *backlog) join(leaves timeline.Time, bytes int) {
	b.push(waiting{leaves, bytes})
	b.bytes += bytes
}
