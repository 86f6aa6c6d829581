package trace

import (
	"math"
	"slices"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Limits of the step of a page's clock, in ns.
const (
	minStep     = 5_000
	maxStep     = 100_000_000
	unknownStep = 1_000_000 // without two different readings
	stepError   = 1_000     // of differences that are multiples of the step
)

const never = math.MaxInt64 / 4 // later than all times

// ns converts ms.
func ns(ms float64) int64 { return int64(math.Round(ms * 1e6)) }

// cost is a calibration: the duration of pairs of enter and leave in ns, and the calls since the
// calibration before.
type cost struct {
	pairs, time float64
	calls       int64
}

// clock collects the facts about the clock of a realm, in the order of its records.
type clock struct {
	last, step      int64
	asked, answered record.Record
	samples         []timeline.Interval // of the offset, without the step
	costs           []cost
	calls           int64 // since the last cost
}

// read adds a record. Rig times count from the start.
func (c *clock) read(r record.Record, start timeline.Time) {
	switch r.Code {
	case record.Happened, record.LongTask: // the browser has read these times
		return
	case record.Cost:
		if r.ID > 0 {
			c.costs = append(c.costs, cost{float64(r.ID), r.At * 1e6, c.calls})
			c.calls = 0
		}
		return
	case record.Brief:
		c.calls += min(int64(r.At), timedBrief)
		return
	case record.Enter:
		c.calls++
	case record.Asked:
		c.asked = r
	case record.Answered:
		c.answered = r
	case record.Rig:
		if c.asked.Code == 0 || c.answered.Code == 0 || c.asked.ID != r.ID || c.answered.ID != r.ID {
			return
		}
		rig := start + timeline.Time(r.At)
		c.samples = append(c.samples, timeline.Interval{
			Earliest: rig - timeline.Time(ns(c.answered.At)), Latest: rig - timeline.Time(ns(c.asked.At)),
		})
		c.asked, c.answered = record.Record{}, record.Record{}
		return
	}
	at := ns(r.At)
	if d := max(at-c.last, c.last-at); d > stepError && c.last != 0 && c.step != minStep {
		c.step = divisor(c.step, d)
	}
	c.last = at
}

// divisor returns the greatest common divisor of two inexact numbers, and at least minStep.
func divisor(a, b int64) int64 {
	for b > stepError {
		rest := a % b
		if b-rest <= stepError {
			rest = 0
		}
		a, b = b, rest
	}
	return max(a, minStep)
}

// resolution returns the step of the clock.
func (c *clock) resolution() int64 {
	if c.step == 0 {
		return unknownStep
	}
	return min(c.step, maxStep)
}

// offset returns the intersection of all samples. If it is empty, consistent is false and the
// offset is the union.
func (c *clock) offset() (offset timeline.Interval, consistent bool) {
	step := timeline.Time(c.resolution())
	all := timeline.Interval{Earliest: -never, Latest: never}
	union := timeline.Interval{Earliest: never, Latest: -never}
	for _, s := range c.samples {
		s.Earliest, s.Latest = min(s.Earliest, s.Latest)-step, max(s.Earliest, s.Latest)+step
		all = timeline.Interval{Earliest: max(all.Earliest, s.Earliest), Latest: min(all.Latest, s.Latest)}
		union = timeline.Interval{Earliest: min(union.Earliest, s.Earliest), Latest: max(union.Latest, s.Latest)}
	}
	if all.Valid() {
		return all, true
	}
	return union, false
}

// pair returns the cost of one pair of enter and leave. Code that runs often gets faster. So each
// calibration counts for the calls before it. The last one counts for those after it, too.
func (c *clock) pair() Span {
	if len(c.costs) == 0 {
		return Span{}
	}
	var sum, calls float64
	low, high, step := math.Inf(1), 0.0, float64(c.resolution())
	for i, of := range c.costs {
		n := float64(of.calls)
		if i == len(c.costs)-1 {
			n += max(1, float64(c.calls))
		}
		sum, calls = sum+n*of.time/of.pairs, calls+n
		low, high = min(low, (of.time-step)/of.pairs), max(high, (of.time+step)/of.pairs)
	}
	return limited(sum/calls, math.Floor(low), math.Ceil(high), never)
}

// limited returns a span within [0, limit], with its value between its bounds.
func limited(value, low, high float64, limit int64) Span {
	at := func(x float64) int64 { return min(int64(math.Round(max(0, min(x, never)))), limit) }
	s := Span{Value: at(value), Low: at(low), High: at(high)}
	s.Low, s.High = min(s.Low, s.Value), max(s.High, s.Value)
	return s
}

// link gives realms without an answer of the collector the offset of another realm. The difference
// of the time origins links them. Without such a realm, only arrivals bound the offset.
func link(realms []*builder, start timeline.Time) {
	var best *builder
	for _, b := range realms {
		if len(b.clock.samples) > 0 && (best == nil || b.Offset.Width() < best.Offset.Width()) {
			best = b
		}
	}
	for _, b := range realms {
		if len(b.clock.samples) > 0 {
			continue
		}
		latest := max(start, b.arrival+timeline.Time(b.Step))
		b.Offset = timeline.Interval{Earliest: min(start, latest), Latest: latest}
		if best == nil {
			b.problem("has no answer of the collector's clock; only the arrival of its records bounds its times")
			continue
		}
		// Time origins of one browser are on one clock. Each is rounded to a step.
		apart := timeline.Time(max(-never, min((b.origin-best.origin)*1e6, never)))
		around := timeline.Time(b.Step + best.Step)
		linked := timeline.Interval{
			Earliest: max(best.Offset.Earliest+apart-around, b.Offset.Earliest),
			Latest:   min(best.Offset.Latest+apart+around, b.Offset.Latest),
		}
		if !linked.Valid() {
			b.problem("has a time origin that contradicts the arrival of its records")
			continue
		}
		b.Offset = linked
	}
}

// kindOrder sorts windows before frames, workers and Node.
func kindOrder(realms []*Realm) []int {
	order := make([]int, len(realms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(realms[a].Kind) - int(realms[b].Kind) })
	return order
}
