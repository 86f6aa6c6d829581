package remote

import (
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// maxDrift is by how much two clocks drift apart, in parts of a million: each may be steered by
// 500, which is what kernels allow those who keep time.
const maxDrift = 1000

// drift returns by how much the offset may have changed.
func drift(age time.Duration) time.Duration {
	return max(age, -age)/(1_000_000/maxDrift) + 1
}

// exchange is a question of ours and the agent's answer: times of our clock outside, of the agent's
// within.
type exchange struct {
	asked              timeline.Time
	received, answered timeline.Time
	heard              timeline.Time
}

// offsets bound how far the agent's clock is ahead of ours. The zero value has no bounds.
type offsets struct {
	last  []exchange // the latest, oldest first
	jumps int        // times at which the clocks did what no drift explains
}

const maxExchanges = 64

// add takes an exchange. Bounds that contradict it are forgotten.
func (o *offsets) add(e exchange) {
	if len(o.last) == maxExchanges {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, e)
	if least, most := o.at(e.answered); least <= most {
		return
	}
	o.jumps++
	o.last = append(o.last[:0], e)
	if least, most := o.at(e.answered); least > most {
		o.last = nil // the clock jumped between question and answer
	}
}

// known reports whether there is a bound at all.
func (o *offsets) known() bool { return len(o.last) > 0 }

// at returns the bounds at a time of the agent's clock. It needs an exchange.
func (o *offsets) at(t timeline.Time) (least, most time.Duration) {
	least, most = -1<<62, 1<<62
	for _, e := range o.last {
		least = max(least, e.answered.Sub(e.heard)-drift(t.Sub(e.answered)))
		most = min(most, e.received.Sub(e.asked)+drift(t.Sub(e.received)))
	}
	return least, most
}

// theirs returns the first time of the agent's clock that is certainly not before one of ours.
func (o *offsets) theirs(t timeline.Time) timeline.Time {
	newest := o.last[len(o.last)-1]
	_, most := o.at(newest.answered)
	for range 2 { // the bound depends, a little, on the time that it gives
		_, most = o.at(t.Add(most))
	}
	return t.Add(most + time.Microsecond)
}

// ours returns what an interval of the agent's clock is on ours.
func (o *offsets) ours(i timeline.Interval) timeline.Interval {
	_, most := o.at(i.Earliest)
	least, _ := o.at(i.Latest)
	return timeline.Interval{Earliest: i.Earliest.Add(-most), Latest: i.Latest.Add(-least)}
}

// way returns the least time that a question and its answer took on their ways.
func (o *offsets) way() time.Duration {
	least := time.Duration(1 << 62)
	for _, e := range o.last {
		least = min(least, e.heard.Sub(e.asked)-e.answered.Sub(e.received))
	}
	return max(least, 0)
}
