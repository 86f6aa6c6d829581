package clock

import (
	"cmp"
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
// Marzullo's algorithm finds them. A range of drifts is divided while it can have a larger set. In
// the smallest ranges, all drifts are tried at which a set can change. The search ends after a
// number of sweeps: then a larger set may exist.
type search struct {
	evidence []limits
	edges    []edge // of the last sweep
	best     int
	sets     sets
	step     float64
	left     int // sweeps
}

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

// largest returns the size of the largest sets that agree, and these sets.
func largest(evidence []Evidence, origin int64) (int, sets) {
	s := search{left: max(500, 20_000_000/(len(evidence)+1))}
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
	s.divide(-activity.MaxDrift, activity.MaxDrift)
	return s.best, s.sets
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

// sweep returns the largest number of intervals with a common offset. Visit gets each run of
// offsets with that number, if it is not below the best one.
func (s *search) sweep(from, to float64, visit func(edges []edge, upTo int)) int {
	s.left--
	s.edges = s.edges[:0]
	for i := range s.evidence {
		if low, high := s.evidence[i].interval(from, to); low <= high {
			s.edges = append(s.edges, edge{low, false, int32(i)}, edge{high, true, int32(i)})
		}
	}
	slices.SortFunc(s.edges, func(a, b edge) int {
		if c := cmp.Compare(a.at, b.at); c != 0 || a.ends == b.ends {
			return c
		} else if a.ends {
			return 1
		}
		return -1
	})
	open, most := 0, 0
	for i, e := range s.edges {
		if e.ends {
			open--
			continue
		}
		open++
		most = max(most, open)
		// A visit goes through all edges before. So it is worth it only where a set can be added.
		worth := open > s.best || open == s.best && len(s.sets) < maxSets
		if visit != nil && worth && (i+1 == len(s.edges) || s.edges[i+1].ends) {
			visit(s.edges, i)
		}
	}
	return most
}

// try notes the largest sets for one drift.
func (s *search) try(drift float64) {
	s.sweep(drift, drift, func(edges []edge, upTo int) {
		var set []int32
		for _, e := range edges[:upTo+1] {
			if !e.ends {
				set = append(set, e.of)
			} else {
				set = slices.DeleteFunc(set, func(i int32) bool { return i == e.of })
			}
		}
		slices.Sort(set)
		if len(set) > s.best {
			s.best, s.sets = len(set), nil
		}
		if len(set) == s.best && len(s.sets) < maxSets &&
			!slices.ContainsFunc(s.sets, func(o []int32) bool { return slices.Equal(o, set) }) {
			s.sets = append(s.sets, set)
		}
	})
}

// divide searches a range of drifts.
func (s *search) divide(from, to float64) {
	if s.left <= 0 || s.sweep(from, to, nil) < s.best {
		return
	}
	middle := (from + to) / 2
	s.try(middle)
	if to-from > s.step {
		s.divide(from, middle)
		s.divide(middle, to)
	} else if s.sweep(from, to, nil) > s.best {
		s.exact(from, to)
	}
}

// exact tries all drifts of a range. Sets change where the boundaries of two inequalities cross. It
// visits all pairs, which takes as long as a part of a sweep for each piece of evidence.
func (s *search) exact(from, to float64) {
	if s.left -= len(s.evidence) / 8; s.left <= 0 {
		return
	}
	at := []float64{from, to}
	s.limits(true, func(x, y float64) {
		s.limits(false, func(x2, y2 float64) {
			if b := (y - y2) / (x - x2); b > from && b < to && len(at) <= s.left { // false without a crossing
				at = append(at, b)
			}
		})
	})
	slices.Sort(at)
	for i := 1; i < len(at) && s.left > 0; i++ {
		s.try((at[i-1] + at[i]) / 2)
	}
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
