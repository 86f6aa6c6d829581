package clock

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
)

// sets are different sets of evidence, each as a list of indices in order.
type sets [][]int32

// maxSets bounds the largest sets that are kept. Their regions are all possible.
const maxSets = 32

// split divides evidence into those of all sets, and the rest.
func (s sets) split(evidence []Evidence) (inside, outside []Evidence) {
	for i, e := range evidence {
		missing := slices.ContainsFunc(s, func(set []int32) bool {
			_, ok := slices.BinarySearch(set, int32(i))
			return !ok
		})
		if missing {
			outside = append(outside, e)
		} else {
			inside = append(inside, e)
		}
	}
	return inside, outside
}

// search looks for the largest sets of evidence with a common offset and drift. For one drift,
// Marzullo's algorithm finds them. Ranges of drifts are divided while they can have a larger set,
// the most promising first. In the smallest ranges, all drifts are tried at which a set can change.
// The search ends after a number of comparisons: then a larger set may exist.
type search struct {
	ctx      context.Context
	evidence []limits
	edges    []edge // of the last sweep
	best     int
	sets     sets
	step     float64
	left     int    // comparisons
	inside   []bool // by evidence
}

// maxComparisons bounds a search. It then takes half a second.
const maxComparisons = 50_000_000

// sweepCost is the part of a sweep that does not depend on the evidence, in comparisons.
const sweepCost = 100

// limits are the inequalities of a piece of evidence. Values are relative to a common offset.
type limits struct {
	x      []float64
	y      []float64
	latest []bool
}

// edge is an end of an interval of offsets.
type edge struct {
	at   float64
	ends bool
	of   int32
}

// newSearch returns the search for the largest sets that agree. It has tried some drifts.
func newSearch(ctx context.Context, evidence []Evidence, origin int64) *search {
	s := &search{ctx: ctx, left: maxComparisons, inside: make([]bool, len(evidence))}
	base := evidence[0].Limits[0].Time - evidence[0].Limits[0].At
	span := 1.0
	for _, e := range evidence {
		var l limits
		for _, one := range e.Limits {
			l.x = append(l.x, float64(one.At-origin))
			l.y = append(l.y, float64(one.Time-one.At-base))
			l.latest = append(l.latest, one.Latest)
			span = max(span, math.Abs(float64(one.At-origin)))
		}
		s.evidence = append(s.evidence, l)
	}
	narrowest := math.Inf(1)
	for i := range s.evidence {
		if low, high := s.evidence[i].interval(0, 0); high > low {
			narrowest = min(narrowest, high-low)
		}
	}
	if math.IsInf(narrowest, 1) {
		narrowest = 1e6
	}
	s.step = max(narrowest, 1e4) / 10 / span
	const first = 64
	for i := range first { // a good set early leaves out most ranges
		s.try(activity.MaxDrift * (float64(2*i+1)/first - 1))
	}
	s.try(0)
	return s
}

// interval returns the offsets for which the evidence holds with some drift of a range.
func (l *limits) interval(from, to float64) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	for i, x := range l.x {
		p, q := l.y[i]-from*x, l.y[i]-to*x
		if l.latest[i] {
			high = min(high, max(p, q))
		} else {
			low = max(low, min(p, q))
		}
	}
	return low, high
}

// sweep returns the largest number of intervals with a common offset. Its edges are in order.
func (s *search) sweep(from, to float64) (most int) {
	s.left -= sweepCost
	s.edges = s.edges[:0]
	for i := range s.evidence {
		if low, high := s.evidence[i].interval(from, to); low <= high {
			s.edges = append(s.edges, edge{low, false, int32(i)}, edge{high, true, int32(i)})
		}
	}
	slices.SortFunc(s.edges, func(a, b edge) int {
		s.left--
		if c := cmp.Compare(a.at, b.at); c != 0 || a.ends == b.ends {
			return c
		} else if a.ends {
			return 1
		}
		return -1
	})
	open := 0
	for _, e := range s.edges {
		if e.ends {
			open--
			continue
		}
		open++
		most = max(most, open)
	}
	return most
}

// try notes the largest sets for one drift.
func (s *search) try(drift float64) {
	most := s.sweep(drift, drift)
	if most > s.best {
		s.best, s.sets = most, nil
	}
	if most < s.best || most == 0 {
		return
	}
	open := 0
	for _, e := range s.edges { // one after a begin at which most are open ends
		if s.inside[e.of] = !e.ends; e.ends {
			open--
		} else if open++; open == most {
			s.note()
		}
	}
}

// note keeps the set inside, if it is a new one.
func (s *search) note() {
	if len(s.sets) == maxSets {
		return
	}
	var set []int32
	for i, in := range s.inside {
		if in {
			set = append(set, int32(i))
		}
	}
	if !slices.ContainsFunc(s.sets, func(o []int32) bool { return slices.Equal(o, set) }) {
		s.sets = append(s.sets, set)
	}
}

// run searches all drifts. It reports whether it found out that no set is larger.
func (s *search) run() bool {
	type drifts struct{ from, to float64 }
	ranges := make([][]drifts, len(s.evidence)+1) // by the size that their sets can have
	add := func(from, to float64) {
		if n := s.sweep(from, to); n >= s.best {
			ranges[n] = append(ranges[n], drifts{from, to})
		}
	}
	add(-activity.MaxDrift, activity.MaxDrift)
	for n := len(s.evidence); n >= max(s.best, 1) && (n > s.best || len(s.sets) < maxSets); {
		if len(ranges[n]) == 0 {
			n-- // parts of a range cannot have more
			continue
		}
		if s.left <= 0 || s.ctx.Err() != nil {
			return false
		}
		r := ranges[n][0]
		ranges[n] = ranges[n][1:]
		middle := (r.from + r.to) / 2
		s.try(middle)
		if r.to-r.from > s.step {
			add(r.from, middle)
			add(middle, r.to)
		} else if n > s.best && !s.exact(r.from, r.to) {
			return false
		}
	}
	return true
}

// exact tries all drifts of a range. Sets change where the boundaries of two inequalities cross. It
// visits all pairs, which count as comparisons. It reports whether it had enough of them.
func (s *search) exact(from, to float64) bool {
	const most = 1 << 20
	sides := [2]int{}
	s.limits(true, func(_, _ float64) { sides[0]++ })
	s.limits(false, func(_, _ float64) { sides[1]++ })
	if s.left -= sides[0] * sides[1]; s.left <= 0 {
		return false
	}
	at := []float64{from, to}
	s.limits(true, func(x, y float64) {
		s.limits(false, func(x2, y2 float64) {
			if b := (y - y2) / (x - x2); b > from && b < to && len(at) <= most { // false without a crossing
				at = append(at, b)
			}
		})
	})
	slices.Sort(at)
	for i := 1; i < len(at) && s.left > 0 && s.ctx.Err() == nil; i++ {
		s.try((at[i-1] + at[i]) / 2)
	}
	return s.left > 0 && len(at) <= most && s.ctx.Err() == nil
}

// limits visits the inequalities of one side.
func (s *search) limits(latest bool, visit func(x, y float64)) {
	for i := range s.evidence {
		l := &s.evidence[i]
		for k, x := range l.x {
			if l.latest[k] == latest {
				visit(x, l.y[k])
			}
		}
	}
}
