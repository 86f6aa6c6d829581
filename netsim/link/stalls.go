package link

import (
	"cmp"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Stall is a time in which a CPU ran nothing that was due on it, whatever its priority: since the hypervisor had taken it away, or its kernel did something else. It is at least as long as this.
type Stall struct{ From, To timeline.Time }

// Stalls are those of all CPUs, in the order of time; none touches another.
type Stalls []Stall

// LeastStall is how long a stall is at least that is told of.
const LeastStall = time.Millisecond

// merged puts stalls in order; those of several CPUs that touch are one.
func merged(all []Stall) Stalls {
	slices.SortFunc(all, func(a, b Stall) int { return cmp.Compare(a.From, b.From) })
	var s Stalls
	for _, next := range all {
		if k := len(s); k > 0 && next.From <= s[k-1].To {
			s[k-1].To = max(s[k-1].To, next.To)
			continue
		}
		s = append(s, next)
	}
	return s
}

// Longest is how long the longest of them is.
func (s Stalls) Longest() (longest time.Duration) {
	for _, one := range s {
		longest = max(longest, one.To.Sub(one.From))
	}
	return longest
}

// Total is how long they are together.
func (s Stalls) Total() (all time.Duration) {
	for _, one := range s {
		all += one.To.Sub(one.From)
	}
	return all
}

// within is how much of a time they are.
func (s Stalls) within(from, to timeline.Time) (part time.Duration) {
	i, _ := slices.BinarySearchFunc(s, from, func(one Stall, from timeline.Time) int { return cmp.Compare(one.To, from) })
	for ; i < len(s) && s[i].From < to; i++ {
		part += max(0, min(to, s[i].To).Sub(max(from, s[i].From)))
	}
	return part
}

// SetAside divides round trips over a line: those that are left, and how many are not, since a CPU stood still when they may have needed it. That is when they were sent, when they were at the
// other end, and when they were back, each time for as long as they were late in the end. It must account for what they were late but for what is allowed: what came later still is left, and is
// the line's own. Which CPU a packet needed is not known, and one that was in time for all that is set aside too: so they are more rather than fewer, which makes a row less sure, never better.
func (s Stalls) SetAside(trips []RoundTrip, c Conditions, allowed time.Duration) (rest []RoundTrip, aside int) {
	for _, t := range trips {
		late := max(0, t.Took-c.RTT())
		var stalled time.Duration
		done := t.Sent
		for _, due := range [...]timeline.Time{t.Sent, t.Sent.Add(c.Up.Delay), t.Sent.Add(c.RTT())} {
			from, to := max(due, done), due.Add(late)
			if to > from {
				stalled += s.within(from, to)
				done = to
			}
		}
		if stalled > 0 && late-stalled <= allowed {
			aside++
			continue
		}
		rest = append(rest, t)
	}
	return rest, aside
}
