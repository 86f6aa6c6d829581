// Package harm judges whether instrumented loads of a page are worse than plain ones.
//
// A trial is a sequence of loads with the same policies. Chance decides which of them stay plain.
// Mann and Whitney's test compares the load times, and the times of long tasks. Fisher's compares
// the shares of loads with errors, and of loads without the event load.
//
// # Level
//
// A trial is judged after 30 loads, and whenever half as many have been added, of the latest 400.
// Look k has 1/(k·(k+1)) of the level 1 %, and a quarter of that is for each measure. Their
// sum is the level. So it holds for all looks of a trial together, by the inequality of Bonferroni.
// A stated p is corrected in this way.
//
// # Policies
//
// Loads do not show which of several policies harms. So one is switched off, and a new trial begins
// without it, until none is left. Slow pages lose the policy with the most records, since all
// records cost about the same. Broken pages lose the policy that changes the most places.
package harm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
)

const (
	level     = 0.01
	measures  = 4
	firstLook = 30
	leastSide = 3 // plain and instrumented loads: fewer cannot differ at the level
)

// Plain loads are compared as if they were this much slower.
const (
	extraTime    = 1.2
	extraBlocked = 50 // ms, beside the part of extraTime
)

// Found is harm.
type Found struct {
	Reason string // empty: none
	Broken bool   // pages have errors, or do not load
	Loads  int    // of the trial until then
}

// Add adds a load to a trial. It returns a function that judges the trial, if it is due; otherwise
// nil. The function takes up to a second and may run beside others.
func Add(t *plan.Trial, l plan.Past) (look func() Found) {
	t.Add(l)
	plain := 0
	for _, l := range t.Loads {
		if l.Plain {
			plain++
		}
	}
	if t.Count < max(t.Next, firstLook) || min(plain, len(t.Loads)-plain) < leastSide {
		return nil
	}
	t.Looks++
	t.Next = t.Count + len(t.Loads)/2
	loads, factor := slices.Clone(t.Loads), measures*float64(t.Looks)*float64(t.Looks+1)
	f := Found{Loads: t.Count}
	return func() Found { f.judge(loads, factor); return f }
}

// SwitchOff switches off the policy of a plan that is the likeliest cause, and begins a new trial.
// One must be on.
func SwitchOff(p *plan.Plan, f Found) plan.Off {
	o := plan.Off{Loads: f.Loads, Reason: f.Reason}
	if n := len(p.Off); n > 0 {
		o.Loads += p.Off[n-1].Loads
	}
	o.Policy = slices.MaxFunc(p.On(), func(a, b plan.Cost) int {
		records, places := cmp.Compare(a.Records, b.Records), cmp.Compare(a.Places, b.Places)
		if f.Broken {
			return cmp.Or(places, records)
		}
		return cmp.Or(records, places)
	}).Policy
	p.Off, p.Trial = append(p.Off, o), plan.Trial{}
	return o
}

// judge compares loads. A p is multiplied with the factor.
func (f *Found) judge(loads []plan.Past, factor float64) {
	var reasons []string
	is := func(p float64) bool { return p*factor < level }
	add := func(p float64, format string, arguments ...any) {
		reasons = append(reasons, fmt.Sprintf(format+", p = %.2g)", append(arguments, p*factor)...))
	}
	times := func(name string, more float64, of func(plan.Past) float64) {
		var plain, allowed, instrumented []float64
		for _, l := range loads {
			switch v := of(l); {
			case l.LoadMS == 0: // it has no times
			case l.Plain:
				plain, allowed = append(plain, v), append(allowed, v*extraTime+more)
			default:
				instrumented = append(instrumented, v)
			}
		}
		if p := stats.Above(allowed, instrumented); is(p) {
			add(p, "%s is %.0f ms instead of %.0f ms (medians of %d and %d loads", name,
				stats.Summarize(instrumented).Estimate, stats.Summarize(plain).Estimate, len(instrumented), len(plain))
		}
	}
	shares := func(name string, has func(plan.Past) bool) {
		var all, with [2]int // instrumented, plain
		for _, l := range loads {
			side := 0
			if l.Plain {
				side = 1
			}
			if all[side]++; has(l) {
				with[side]++
			}
		}
		if p := stats.Fisher(with[1], all[1], with[0], all[0]); is(p) && with[0]*all[1] > with[1]*all[0] {
			add(p, "%s in %d of %d loads instead of %d of %d (Fisher's test", name, with[0], all[0], with[1], all[1])
			f.Broken = true
		}
	}
	times("load time", 0, func(l plan.Past) float64 { return l.LoadMS })
	times("blocked time", extraBlocked, func(l plan.Past) float64 { return l.BlockedMS })
	shares("errors", func(l plan.Past) bool { return l.Errors > 0 })
	shares("no load event", func(l plan.Past) bool { return l.LoadMS == 0 })
	f.Reason = strings.Join(reasons, "; ")
}
