// Package clock finds the relation of a trace's clock to the clock of a recording.
//
// Trace time d is recorder time rig(d) = a + (1 + b)·(d − d0). Each piece of evidence is one or
// more inequalities: something in the trace came before or after something that the recorder saw.
// Each inequality is a half-plane of pairs (a, b). Their intersection is a polygon, and its corners
// bound every time of the trace. The calculation is exact. It does not average: the errors of
// evidence have one sign.
//
// Contradictory evidence has no common pair. Then the largest consistent sets of witnesses count.
// The others are listed. If under two thirds agree, the result is an error.
package clock

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
)

// Limit is one inequality between a time of the trace and a time of the recording's clock.
type Limit struct {
	At   int64 // of the trace, in ns
	Time int64 // of the recording's clock, in ns
	// Latest states rig(At) ≤ Time. Otherwise rig(At) ≥ Time.
	Latest bool
}

// Evidence is a pair of records of one fact: one in the trace, and one of the recorder.
type Evidence struct {
	Kind    string // such as request, with the plural in s
	Witness string // such as GET https://example.org/app.js
	Limits  []Limit
}

// maxEvidence bounds the evidence of a trace. More is not used.
const maxEvidence = 20_000

// maxTime bounds times, so that differences and their products fit.
const maxTime = 1 << 60

// Relation is the relation of two clocks.
type Relation struct {
	Clock     activity.Clock
	Used      []Evidence
	Discarded []Evidence // contradicts Used
	// Partial states that the search for the largest set that agrees ended early.
	Partial bool
}

// OneSidedError reports that evidence bounds a clock on one side, or not at all.
type OneSidedError struct{ Earliest, Latest int }

func (e *OneSidedError) Error() string {
	switch {
	case e.Latest > 0:
		return fmt.Sprintf("%d records of the trace have a latest time, and none an earliest one", e.Latest)
	case e.Earliest > 0:
		return fmt.Sprintf("%d records of the trace have an earliest time, and none a latest one", e.Earliest)
	}
	return "no record of the trace has a counterpart in the run"
}

// ContradictionError reports that too little evidence agrees.
type ContradictionError struct {
	Agree, All int
	Best       Relation // of a largest set that agrees
}

func (e *ContradictionError) Error() string {
	return fmt.Sprintf("only %d of %d pieces of evidence agree on a clock", e.Agree, e.All)
}

// Solve finds the relation. The origin is a time of the trace near its evidence, such as its begin.
// The text states the widest bounds between two times of the trace. It ends with the context.
func Solve(ctx context.Context, evidence []Evidence, origin, from, to int64) (Relation, error) {
	evidence = usable(evidence, origin)
	var sides OneSidedError
	for _, e := range evidence {
		for _, l := range e.Limits {
			if l.Latest {
				sides.Latest++
			} else {
				sides.Earliest++
			}
		}
	}
	if sides.Latest == 0 || sides.Earliest == 0 {
		return Relation{}, &sides
	}
	r := Relation{Clock: activity.Clock{Origin: origin}, Used: evidence}
	r.Clock.Corners = corners(evidence, origin)
	if len(r.Clock.Corners) == 0 {
		s := newSearch(ctx, evidence, origin)
		r.Partial = !s.run()
		if ctx.Err() != nil {
			return Relation{}, context.Cause(ctx)
		}
		agree, best := s.best, s.sets
		r.Used, r.Discarded = best.split(evidence)
		if len(best) == maxSets { // there may be more, and what all share bounds these too
			r.Clock.Corners, best = corners(r.Used, origin), nil
		}
		for _, set := range best {
			inside, _ := sets{set}.split(evidence)
			r.Clock.Corners = append(r.Clock.Corners, corners(inside, origin)...)
		}
		if 3*agree < 2*len(evidence) || len(r.Clock.Corners) == 0 {
			return Relation{}, &ContradictionError{agree, len(evidence), r}
		}
	}
	r.Clock.Text = describe(&r, from, to)
	return r, nil
}

// usable drops impossible times and evidence beyond the limit.
func usable(evidence []Evidence, origin int64) []Evidence {
	possible := func(t int64) bool { return t > -maxTime && t < maxTime }
	all := make([]Evidence, 0, min(len(evidence), maxEvidence))
	for _, e := range evidence {
		e.Limits = slices.DeleteFunc(slices.Clone(e.Limits), func(l Limit) bool {
			return !possible(l.At) || !possible(l.Time) || !possible(l.At-origin) || !possible(origin)
		})
		if len(e.Limits) > 0 && len(all) < maxEvidence {
			all = append(all, e)
		}
	}
	return all
}

// Check returns the evidence that can hold with a clock, and the rest.
func Check(evidence []Evidence, c *activity.Clock) (agree, contrary []Evidence) {
	for _, e := range evidence {
		fails := slices.ContainsFunc(e.Limits, func(l Limit) bool {
			earliest, latest := c.Bounds(l.At)
			return l.Latest && earliest > l.Time || !l.Latest && latest < l.Time
		})
		if fails {
			contrary = append(contrary, e)
		} else {
			agree = append(agree, e)
		}
	}
	return agree, contrary
}

// Sentence states how far evidence contradicts a clock.
func (e *Evidence) Sentence(c *activity.Clock) string {
	worst, late := int64(0), false
	for _, l := range e.Limits {
		earliest, latest := c.Bounds(l.At)
		if l.Latest && earliest-l.Time > worst {
			worst, late = earliest-l.Time, true
		} else if !l.Latest && l.Time-latest > worst {
			worst, late = l.Time-latest, false
		}
	}
	side := "too early"
	if late {
		side = "too late"
	}
	if worst == 0 {
		return fmt.Sprintf("%s %s contradicts other evidence", e.Kind, e.Witness)
	}
	return fmt.Sprintf("%s %s is %s %s in the trace", e.Kind, e.Witness, milliseconds(worst), side)
}

// milliseconds formats a duration in ns with two digits below one millisecond.
func milliseconds(ns int64) string {
	if d := time.Duration(ns); d >= time.Hour {
		return d.Round(time.Second).String()
	}
	ms := float64(ns) / 1e6
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f ms", math.Ceil(ms*100)/100)
	case ms < 1000:
		return fmt.Sprintf("%.1f ms", math.Ceil(ms*10)/10)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// describe returns the text of a clock.
func describe(r *Relation, from, to int64) string {
	c := &r.Clock
	low, high := math.Inf(1), math.Inf(-1)
	for _, k := range c.Corners {
		low, high = min(low, k.Drift), max(high, k.Drift)
	}
	// The width is convex in time, so it is widest at an end.
	width := max(c.HalfWidth(from), c.HalfWidth(to))
	ppm := func(b float64, round func(float64) float64) string {
		return strings.Replace(fmt.Sprintf("%+.0f", round(b*1e6)), "-", "−", 1)
	}
	return fmt.Sprintf("±%s (%s; drift %s…%s ppm)", milliseconds(width), Count(r.Used), ppm(low, math.Floor),
		ppm(high, math.Ceil))
}

// Count returns the number of pieces of evidence of each kind, such as 41 requests, 6 inputs.
func Count(evidence []Evidence) string {
	count := map[string]int{}
	var kinds []string
	for _, e := range evidence {
		if count[e.Kind] == 0 {
			kinds = append(kinds, e.Kind)
		}
		count[e.Kind]++
	}
	for i, kind := range kinds {
		n := count[kind]
		if kinds[i] = fmt.Sprintf("%d %ss", n, kind); n == 1 {
			kinds[i] = "1 " + kind
		}
	}
	return strings.Join(kinds, ", ")
}
