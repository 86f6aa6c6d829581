package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/pattern"
)

const (
	maxFunctions = MaxPrimary // with more, 8 blocks could decide nothing
	leastSelf    = 5          // ms: the median of a compared function, in A or in B
	// smallCause is the share of a changed time from which on a function's change explains it.
	smallCause = 0.1
	// callerFactor is how much more a caller changed relatively than the function that it called.
	callerFactor = 1.25
	// innerCause is the share of the largest change that an inner function has, too.
	innerCause = 0.8
	// functionThreshold is the fraction below which a difference is of no interest.
	functionThreshold = 0.05
	// scriptMeasure is the measure of values of functions.
	scriptMeasure = "script"
)

// functions are those of a run, by name and place.
type functions struct {
	times    map[string]functionTime
	all      bool // the list has all that ran
	requests bool // the list has all requests
	state    analyze.State
}

// functionTime has the times of a function in ms. The total is with the functions that it called,
// so it does not depend on their records.
type functionTime struct {
	self  float64
	total result.Span
	brief bool // it has calls without records
}

// functionsOf returns the functions of a run and its requests; nil: calls were not measured.
func functionsOf(r *result.Results) *functions {
	s := r.Script
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
	requests, all := r.RequestTimes()
	f.requests = all
	for name, ns := range requests {
		ms := float64(ns) / 1e6
		f.times[name] = functionTime{self: ms, total: result.Span{Value: ms, Low: ms, High: ms}}
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
		request := isRequest(name)
		if !ran && (request && !r.functions.requests || !request && !r.functions.all) {
			continue
		}
		if !ran && request {
			t.total = result.Span{Value: briefRequest, High: briefRequest} // shorter ones are not listed
		}
		all = append(all, found{1, r.Block, analyze.Value{Name: name, Unit: "ms", Value: t.total.Value,
			Low: t.total.Low, High: t.total.High, State: r.functions.state, Better: analyze.Lower,
			Threshold: functionThreshold},
			stats.Point{Run: r.Name, Value: t.total.Value, Low: t.total.Low, High: t.total.High}})
	}
	return all
}

// briefRequest is the time in ms from which on requests are listed.
const briefRequest = float64(result.LongPause / time.Millisecond)

func isRequest(name string) bool { return strings.HasPrefix(name, result.RequestPrefix) }

// placed is a function with a line. Its groups are the name and the file. Minified functions, whose
// place has a column, have other names in each build.
var placed = pattern.New(`^(.+) \((.*[^\d:]|.*[^:]\d+):\d+\)$`)

// places returns the places of functions by name and file, or by the name alone. Then it leaves out
// functions at a place of the other set. Unnamed functions keep their lines.
func (s *Set) places(other *Set, moved map[string]string, file bool) map[string][]string {
	there := map[string]bool{}
	for i := range other.Runs {
		for name := range other.Runs[i].functions.times {
			there[name] = true
		}
	}
	all := map[string][]string{}
	for i := range s.Runs {
		for name := range s.Runs[i].functions.times {
			m := placed.FindStringSubmatch(name)
			if m == nil || moved[name] != "" || there[name] && !file || strings.HasPrefix(name, "anonymous function") {
				continue
			}
			short := m[1]
			if file {
				short += " " + m[2]
			}
			if !slices.Contains(all[short], name) {
				all[short] = append(all[short], name)
			}
		}
	}
	return all
}

// at returns the set with the places of functions in another build. Their lines may differ, and the
// names of documents with scripts. A name that a file has several times keeps its line.
func (s *Set) at(other *Set) *Set {
	moved, back := map[string]string{}, map[string]string{}
	for _, file := range []bool{true, false} {
		places := other.places(s, back, file)
		for short, own := range s.places(other, moved, file) {
			if there := places[short]; len(own) == 1 && len(there) == 1 {
				moved[own[0]], back[there[0]] = there[0], own[0]
			}
		}
	}
	s = s.clone()
	for i := range s.Runs {
		f := *s.Runs[i].functions
		f.times = map[string]functionTime{}
		for name, t := range s.Runs[i].functions.times {
			f.times[cmp.Or(moved[name], name)] = t
		}
		s.Runs[i].functions = &f
	}
	return s
}

// explain compares the functions of the sets, or those of their further runs with measuring code.
func (c *Comparison) explain(a, b *Set, paired bool) error {
	for _, s := range []*Set{a, b} {
		if s.unread != nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("further runs cannot be read: %v", s.unread))
		}
	}
	if a.why == nil || b.why == nil {
		return c.compareFunctions(a, b, paired, c.alpha())
	}
	if unmeasured(a.why, b.why) {
		return nil
	}
	c.further = min(len(a.why.Runs), len(b.why.Runs))
	both, _ := blocks(a.why, b.why)
	// their number is fixed, so that looks do not share the level
	return c.compareFunctions(a.why, b.why, both != nil, stats.Alpha/float64(max(1, c.options.Sharing)))
}

// Cause returns a sentence about the function that explains the first changed value; "": no value
// changed, or no functions were measured. It is the innermost of the functions whose times changed
// about as much.
func (c *Comparison) Cause() string {
	if !c.Changed() || c.cost || len(c.Functions) == 0 && c.further == 0 {
		return ""
	}
	v := c.Deciding()
	return c.cause(Change{Verdict: v.Verdict, Unit: v.Measure.Unit, Size: math.Abs(v.Shift.Estimate)})
}

// Change is a change of a value.
type Change struct {
	Verdict stats.Verdict // empty: neither direction is better
	Unit    string
	Size    float64 // in the unit; 0: unknown
}

// CauseOf returns the sentence of [Comparison.Cause] about a change that other runs have shown. The
// sets have runs with measuring code.
func CauseOf(a, b *Set, of Change) (string, error) {
	if unmeasured(a, b) {
		return "", errors.New("compare functions: calls of scripts were not measured")
	}
	c := &Comparison{further: min(len(a.Runs), len(b.Runs))}
	both, _ := blocks(a, b)
	if err := c.compareFunctions(a, b, both != nil, stats.Alpha); err != nil {
		return "", err
	}
	return c.cause(of), nil
}

func (c *Comparison) cause(of Change) string {
	changed := func(f *Value) bool {
		return f.Verdict == of.Verdict ||
			of.Verdict == "" && (f.Verdict == stats.Regressed || f.Verdict == stats.Improved)
	}
	size := func(v *Value) float64 { return math.Abs(v.Shift.Estimate) }
	var found, largest *Value
	for i := range c.Functions { // the largest difference first
		f := &c.Functions[i]
		if !changed(f) || of.Unit == f.Measure.Unit && size(f) < smallCause*of.Size {
			continue
		}
		if largest == nil {
			largest, found = f, f
		}
		if size(f) >= innerCause*size(largest) && math.Max(f.MedianA.Estimate, f.MedianB.Estimate) <
			math.Max(found.MedianA.Estimate, found.MedianB.Estimate) {
			found = f
		}
	}
	undecided := func(f Value) bool { return f.Verdict == stats.Inconclusive || f.Verdict == stats.Different }
	switch {
	case found == nil && slices.ContainsFunc(c.Functions, undecided):
		return "Its functions are not decided."
	case found == nil:
		return "No measured function explains it."
	}
	name, ran, most := wording.Short(found.Key.Value, maxShown), "ran for", ""
	if isRequest(name) {
		name, ran = "T"+name[1:], "took"
		if found.MedianA.Estimate == briefRequest {
			most = "at most "
		}
	}
	text := fmt.Sprintf("%s %s %s ms instead of %s%s ms, %s", name, ran, wording.Number(found.MedianB.Estimate), most,
		wording.Number(found.MedianA.Estimate), found.Sentence())
	if c.further > 0 {
		text += " with measuring code"
	}
	return text + "." + c.callers[found.Key.Value]
}

// maxShown bounds a name from a page.
const maxShown = 100

// callerOf returns a sentence about a function that changed by as much as another one, and
// relatively by more. If a helper has several callers, it is the one that changed.
func callerOf(a, b *Set, of *Value) string {
	was, is := of.MedianA.Estimate, of.MedianB.Estimate
	relative := func(a, b float64) float64 { return max(a, b) / max(min(a, b), leastSelf) }
	best, most, text := math.Inf(1), callerFactor*relative(was, is), ""
	names := map[string]bool{}
	for _, run := range slices.Concat(a.Runs, b.Runs) {
		for name := range run.functions.times {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, fewer := a.medianTotal(name)
		y, few := b.medianTotal(name)
		share := (y - x) / (is - was)
		if name == of.Key.Value || fewer || few || share < innerCause || share > 1/innerCause {
			continue
		}
		if r := relative(x, y); r > most || r == most && y < best {
			best, most = y, r
			text = fmt.Sprintf(" %s changed by as much: %s ms instead of %s ms.", wording.Short(name, maxShown),
				wording.Number(y), wording.Number(x))
		}
	}
	return text
}

// medianTotal returns the median total time of a function in the runs of a set. There may be few: a
// run may lack some of its calls.
func (s *Set) medianTotal(name string) (ms float64, few bool) {
	var all []float64
	for i := range s.Runs {
		t, ran := s.Runs[i].functions.times[name]
		all, few = append(all, t.total.Value), few || t.brief || !ran && !s.Runs[i].functions.all
	}
	return stats.Summarize(all).Estimate, few
}

// unmeasured reports whether the functions of a run were not measured.
func unmeasured(a, b *Set) bool {
	return slices.ContainsFunc(slices.Concat(a.Runs, b.Runs), func(r Run) bool { return r.functions == nil })
}

// chosen puts the longest request behind four functions, and further functions and requests behind
// it. So a page with many requests has functions, too.
func chosen(names []string) []string {
	var functions, requests []string
	for _, name := range names {
		if isRequest(name) {
			requests = append(requests, name)
		} else {
			functions = append(functions, name)
		}
	}
	first, longest := min(len(functions), maxFunctions-1), min(len(requests), 1)
	return slices.Concat(functions[:first], requests[:longest], functions[first:], requests[longest:])
}

// compareFunctions compares the functions with the longest self times, if all runs have them.
// Functions with brief calls are left out: their times are in part times of their callers.
func (c *Comparison) compareFunctions(a, b *Set, paired bool, alpha float64) error {
	if unmeasured(a, b) {
		return nil
	}
	a = a.at(b)
	runs := slices.Concat(a.Runs, b.Runs)
	medians := map[string]float64{}
	for i := range runs {
		for name, t := range runs[i].functions.times {
			if _, known := medians[name]; !known {
				medians[name] = max(a.medianSelf(name), b.medianSelf(name))
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
	names = chosen(names)
	var pairs []stats.Pair
	for _, name := range names {
		inA, inB := a.totals(name), b.totals(name)
		if len(inA) == 0 || len(inB) == 0 || len(pairs) == maxFunctions {
			continue
		}
		v, pair, why := pairOf(Key{Measure: scriptMeasure, Value: name}, inA, inB, nil, paired)
		if why != "" {
			return fmt.Errorf("compare functions: %s", why) // versions and units are equal
		}
		v.Family = FunctionFamily
		c.Functions, pairs = append(c.Functions, v), append(pairs, pair)
	}
	if len(pairs) == 0 {
		return nil
	}
	differences, err := stats.Compare(pairs, alpha)
	if err != nil {
		return err
	}
	c.callers = map[string]string{}
	for i := range c.Functions {
		f := &c.Functions[i]
		if f.Difference = differences[i]; f.Verdict == stats.Regressed || f.Verdict == stats.Improved {
			c.callers[f.Key.Value] = callerOf(a, b, f)
		}
	}
	slices.SortStableFunc(c.Functions, func(a, b Value) int {
		return cmp.Compare(math.Abs(b.Shift.Estimate), math.Abs(a.Shift.Estimate))
	})
	return nil
}
