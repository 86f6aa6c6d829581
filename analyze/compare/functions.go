package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
)

const (
	maxFunctions = MaxPrimary // with more, 8 blocks could decide nothing
	leastSelf    = 5          // ms: the median of a compared function, in A or in B
	// functionThreshold is the fraction below which a difference is of no interest.
	functionThreshold = 0.05
	// scriptMeasure is the measure of values of functions.
	scriptMeasure = "script"
)

// functions are those of a run, by name and place.
type functions struct {
	times map[string]functionTime
	all   bool // the list has all that ran
	state analyze.State
}

// functionTime has the times of a function in ms. The total is with the functions that it called,
// so it does not depend on their records.
type functionTime struct {
	self  float64
	total result.Span
	brief bool // it has calls without records
}

// functionsOf returns the functions of a run; nil: their calls were not measured.
func functionsOf(s *result.Script) *functions {
	if s == nil || s.Plan != nil || !slices.Contains(s.Policies, "calls") {
		return nil
	}
	f := &functions{times: map[string]functionTime{}, all: len(s.Functions) < result.MaxFunctions && s.Brief == nil,
		state: analyze.Bounded}
	if s.Lost > 0 {
		f.state = analyze.Suspected
	}
	for i := range s.Functions {
		of := &s.Functions[i]
		name := of.InSource()
		t := f.times[name]
		t.self += of.Self.Value / 1e6
		t.total.Value += of.Total.Value / 1e6
		t.total.Low += of.Total.Low / 1e6
		t.total.High += of.Total.High / 1e6
		t.brief = t.brief || of.Brief > 0
		f.times[name] = t
	}
	return f
}

// medianSelf returns the median self time of a function in the runs of a set.
func (s *Set) medianSelf(name string) float64 {
	var all []float64
	for i := range s.Runs {
		all = append(all, s.Runs[i].functions.times[name].self)
	}
	return stats.Summarize(all).Estimate
}

// totals returns the total time of a function in each run. It is 0 if the function did not run, and
// unknown if the run's list may have left it out.
func (s *Set) totals(name string) (all []found) {
	for i := range s.Runs {
		r := &s.Runs[i]
		t, ran := r.functions.times[name]
		if !ran && !r.functions.all {
			continue
		}
		all = append(all, found{1, r.Block, analyze.Value{Name: name, Unit: "ms", Value: t.total.Value,
			Low: t.total.Low, High: t.total.High, State: r.functions.state, Better: analyze.Lower,
			Threshold: functionThreshold},
			stats.Point{Run: r.Name, Value: t.total.Value, Low: t.total.Low, High: t.total.High}})
	}
	return all
}

// compareFunctions compares the functions with the longest self times, if all runs have them.
// Functions with brief calls are left out: their times are in part times of their callers.
func (c *Comparison) compareFunctions(paired bool) error {
	runs := slices.Concat(c.A.Runs, c.B.Runs)
	if slices.ContainsFunc(runs, func(r Run) bool { return r.functions == nil }) {
		return nil
	}
	medians := map[string]float64{}
	for i := range runs {
		for name, t := range runs[i].functions.times {
			if _, known := medians[name]; !known {
				medians[name] = max(c.A.medianSelf(name), c.B.medianSelf(name))
			}
			if t.brief {
				medians[name] = 0
			}
		}
	}
	var names []string
	for name, self := range medians {
		if self >= leastSelf {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(medians[b], medians[a]), cmp.Compare(a, b))
	})
	var pairs []stats.Pair
	for _, name := range names {
		a, b := c.A.totals(name), c.B.totals(name)
		if len(a) == 0 || len(b) == 0 || len(pairs) == maxFunctions {
			continue
		}
		v, pair, why := pairOf(Key{Measure: scriptMeasure, Value: name}, a, b, nil, paired)
		if why != "" {
			return fmt.Errorf("compare functions: %s", why) // versions and units are equal
		}
		v.Family = FunctionFamily
		c.Functions, pairs = append(c.Functions, v), append(pairs, pair)
	}
	if len(pairs) == 0 {
		return nil
	}
	differences, err := stats.Compare(pairs, c.alpha())
	if err != nil {
		return err
	}
	for i := range c.Functions {
		c.Functions[i].Difference = differences[i]
	}
	slices.SortStableFunc(c.Functions, func(a, b Value) int {
		return cmp.Compare(math.Abs(b.Shift.Estimate), math.Abs(a.Shift.Estimate))
	})
	return nil
}
