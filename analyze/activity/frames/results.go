package frames

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

const (
	laneSteps     = 600
	minLaneStep   = time.Millisecond
	maxLanes      = 1 << 13 // threads with times by step
	maxCandidates = 3 * result.MaxLate
	leastShare    = 20 // inverse of the share of the parent from which on a function is in a tree
	longTask      = 50 * time.Millisecond
)

// builder makes the results of all traces of a run.
type builder struct {
	*result.Profile
	windows   []result.Window
	chosen    bool                           // the late frames are chosen ones
	functions map[result.ProfileFunction]int // without times
	threads   map[[2]int32]int               // the last one of a number
	places    map[threadOf]int
	origins   []*Source            // by thread: the last one that named it
	owners    map[[2]int32]*Source // that count the time of a thread
	from      int64                // of lanes
	step      int64
	lanes     []lane  // of threads
	stepped   int     // lanes with steps
	claims    []claim // of the trace that is read
}

// threadOf is a thread of a trace.
type threadOf struct {
	s      *Source
	number uint32
}

// lane is the time in which a thread ran, in ns: all of it, and by step.
type lane struct {
	sum   int64
	steps []int64
}

// Results returns the part of results.json. The windows have their results already. A trace that
// cannot be read is a warning.
func Results(traces []*activity.Trace, windows []result.Window) *result.Profile {
	return results(traces, windows, nil)
}

// Table returns the activity before chosen frames instead of late ones, in their order.
func Table(traces []*activity.Trace, windows []result.Window, chosen []result.FrameSpan) *result.Profile {
	late := make([]lateSpan, len(chosen))
	for i, s := range chosen {
		late[i].FrameSpan = s
	}
	return results(traces, windows, late)
}

func results(traces []*activity.Trace, windows []result.Window, late []lateSpan) *result.Profile {
	b := &builder{Profile: &result.Profile{}, windows: windows, functions: map[result.ProfileFunction]int{},
		threads: map[[2]int32]int{}, places: map[threadOf]int{}, owners: map[[2]int32]*Source{}}
	if len(traces) > result.MaxTraces {
		b.warn("A run has at most %d traces: %d are left out.", result.MaxTraces, len(traces)-result.MaxTraces)
		traces = traces[:result.MaxTraces]
	}
	b.setLanes(traces)
	spans := make([][]result.FrameSpan, len(windows))
	b.chosen = late != nil
	for i := range windows {
		spans[i] = result.FrameSpans(windows, i)
		for _, s := range spans[i] {
			if !b.chosen && (s.Long || s.Lasted() >= result.LongPause) {
				late = append(late, lateSpan{FrameSpan: s})
			}
		}
	}
	if !b.chosen {
		slices.SortStableFunc(late, func(a, b lateSpan) int { return cmp.Compare(b.Lasted(), a.Lasted()) })
		late = late[:min(len(late), maxCandidates)]
	}
	sources := make([]*Source, len(traces))
	for i, t := range traces {
		sources[i] = NewSource(t)
		b.own(sources[i])
	}
	for _, s := range sources {
		info := s.Info()
		for _, w := range info.Warnings {
			b.warn("%s: %s", info.Name, w)
		}
		if err := b.trace(s, spans, late); err != nil {
			b.warn("%s is not complete: %v.", info.Name, err)
		}
	}
	b.addLate(late)
	b.finish()
	return b.Profile
}

func (b *builder) warn(format string, args ...any) {
	if len(b.Warnings) < result.MaxGaps {
		b.Warnings = append(b.Warnings, activity.Clean(fmt.Sprintf(format, args...)))
	}
}

// setLanes divides the time of all traces into steps.
func (b *builder) setLanes(traces []*activity.Trace) {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range traces {
		if info := t.Info(); !info.Clock.None && info.Events > 0 {
			low, _ := info.Clock.Bounds(info.BeginNS)
			_, high := info.Clock.Bounds(info.EndNS)
			from, to = min(from, low), max(to, high)
		}
	}
	if from < to {
		b.from, b.step = from, max((to-from+laneSteps-1)/laneSteps, int64(minLaneStep))
	}
}

// trace adds a trace.
func (b *builder) trace(s *Source, spans [][]result.FrameSpan, late []lateSpan) error {
	info := s.Info()
	of := result.ProfileTrace{Name: info.Name, Engine: info.Engine, Way: info.Way, Why: info.Why, Events: info.Events,
		Lost: info.Lost, Clock: info.Clock.Text, BeginNS: s.When(info.BeginNS), EndNS: s.When(info.EndNS),
		ClockNS: max(info.Clock.HalfWidth(info.BeginNS), info.Clock.HalfWidth(info.EndNS))}
	if info.Way == activity.WaySockets {
		b.Traces = append(b.Traces, of)
		return nil
	}
	err := b.totals(s, &of)
	b.Traces = append(b.Traces, of)
	if err != nil || info.Clock.None {
		b.claims = nil
		return err
	}
	b.compareClaims(info.Name, of.ClockNS)
	for i := range late {
		l := &late[i]
		from, to := s.Between(l.FromNS, l.ToNS)
		all, err := s.Within(from, to, Options{Depth: result.MaxTreeDepth})
		if err != nil {
			return err
		}
		for _, a := range all {
			l.ran = max(l.ran, a.Running)
			l.active = append(l.active, activeOf{Activity: a, source: s, clock: of.ClockNS})
		}
	}
	tests, err := s.Compare(spans)
	if err != nil {
		return err
	}
	if tests.Gaps > 0 {
		b.warn("%s: %d frames with lost records are not compared.", info.Name, tests.Gaps)
	}
	b.tests(s, tests)
	return nil
}

// functionTotal are the times of a function in the whole trace.
type functionTotal struct{ self, total, calls int64 }

// sum adds times up to the longest of results: a trace may have any.
func sum(a, b int64) int64 { return min(a+b, result.MaxSpan) }

// totals adds the functions, threads and events of a whole trace.
func (b *builder) totals(s *Source, of *result.ProfileTrace) error {
	totals := make([]functionTotal, len(s.named))
	switched := make([]bool, len(s.Threads()))
	called := make([]bool, len(s.Threads()))
	sampled := make([]*lane, len(s.Threads())) // of threads without switches
	var samples, unnamed, cut int64
	var path []int32
	events := newEvents(b, s)
	add := func(ns int64) {
		totals[path[0]].self = sum(totals[path[0]].self, ns)
		s.once(path, func(g int32, _ int) { totals[g].total = sum(totals[g].total, ns) })
	}
	err := s.Walk(math.MinInt64/4, math.MaxInt64/4, activity.Visitor{
		Piece: func(st *activity.State, from, to int64) {
			if st.On == activity.OnCPU {
				switched[st.Thread] = true
				b.lane(s, b.laneOf(s, st.Thread), from, to)
			}
			if len(st.Calls) > 0 && st.On != activity.OffCPU {
				path = s.callsOf(path[:0], st.Calls)
				add(to - from)
				if st.On == activity.Unseen && !switched[st.Thread] && sampled[st.Thread] == nil {
					called[st.Thread] = true
					b.lane(s, b.laneOf(s, st.Thread), from, to)
				}
			}
		},
		Event: func(e activity.Event, st *activity.State) {
			events.add(e, st)
			switch e.Kind {
			case activity.Instant:
				b.addClaim(s, e)
			case activity.Sample:
				if path = s.stackOf(path[:0], e.Ref); len(path) > 0 {
					add(e.Value)
				}
				if samples++; len(path) == 0 || s.Group(path[0]).Name == "" {
					unnamed++
				}
				if len(path) < 2 {
					cut++
				}
				if !switched[e.Thread] && !called[e.Thread] {
					if sampled[e.Thread] == nil {
						sampled[e.Thread] = &lane{}
					}
					b.lane(s, sampled[e.Thread], e.At-e.Value, e.At)
				}
			case activity.Call, activity.Slice:
				totals[s.groups[e.Ref]].calls++
			}
		},
	})
	for thread, l := range sampled {
		if l != nil && !switched[thread] && !called[thread] {
			b.laneOf(s, uint32(thread)).add(l)
		}
	}
	if samples > 0 {
		of.Unnamed, of.Cut = float64(unnamed)/float64(samples), float64(cut)/float64(samples)
	}
	for g, t := range totals {
		if t.total == 0 && t.calls == 0 {
			continue
		}
		f := &b.Functions[b.function(s, int32(g))]
		f.SelfNS, f.TotalNS = max(f.SelfNS, t.self), max(f.TotalNS, t.total) // two traces may see one time
		if t.calls > 0 {
			f.Calls = max(f.Calls, t.calls)
		}
	}
	return err
}

// function returns the place of a function in the results.
func (b *builder) function(s *Source, g int32) int {
	of := functionOf(s.Group(g))
	i, ok := b.functions[of]
	if !ok {
		i = len(b.Functions)
		b.functions[of] = i
		b.Functions = append(b.Functions, of)
	}
	return i
}

// nativeName is the name of the trace of native code. It measures the time of threads.
const nativeName = "native"

// own notes the threads whose time a trace counts. Native code is before others. No time counts
// twice.
func (b *builder) own(s *Source) {
	info := s.Info()
	if info.Way == activity.WaySockets || info.Clock.None {
		return
	}
	for _, t := range s.Threads()[1:] {
		key := [2]int32{t.Process, t.ID}
		if b.owners[key] == nil || info.Name == nativeName {
			b.owners[key] = s
		}
	}
}

// owns reports whether the time of a thread is that of a trace.
func (b *builder) owns(s *Source, number uint32) bool {
	t := s.Threads()[number]
	owner := b.owners[[2]int32{t.Process, t.ID}]
	return owner == nil || owner == s
}

// thread returns the place of a thread in the results. Those of two traces with one number are one.
// Those of one trace are two if their names differ, for the system reuses numbers.
func (b *builder) thread(s *Source, number uint32) int {
	if i, ok := b.places[threadOf{s, number}]; ok {
		return i
	}
	t := s.Threads()[number]
	key := [2]int32{t.Process, t.ID}
	i, ok := b.threads[key]
	if ok && b.origins[i] != s {
		// the browser has longer names of threads, and the system more exact ones of processes
		of, isNative := &b.Threads[i], s.Info().Name == nativeName
		if t.Name != "" && (of.Name == "" || !isNative) {
			of.Name = t.Name
		}
		if t.ProcessName != "" && (of.ProcessName == "" || isNative) {
			of.ProcessName = t.ProcessName
		}
		b.origins[i] = s
	} else if !ok || b.Threads[i].Name != t.Name && t.Name != "" && b.Threads[i].Name != "" {
		i = len(b.Threads)
		b.threads[key] = i
		b.Threads = append(b.Threads, result.ProfileThread{Process: int(t.Process), ID: int(t.ID), Name: t.Name,
			ProcessName: t.ProcessName, FromNS: b.from, StepNS: b.step})
		b.lanes, b.origins = append(b.lanes, lane{}), append(b.origins, s)
	}
	b.places[threadOf{s, number}] = i
	return i
}

// laneOf returns the lane of a thread, until the next thread is added; nil: another trace counts
// its time.
func (b *builder) laneOf(s *Source, number uint32) *lane {
	i := b.thread(s, number) // it may move the lanes
	if !b.owns(s, number) {
		return nil
	}
	return &b.lanes[i]
}

// lane counts a time in which a thread ran.
func (b *builder) lane(s *Source, l *lane, from, to int64) {
	if l == nil {
		return
	}
	l.sum = sum(l.sum, to-from)
	if b.step == 0 || s.Info().Clock.None {
		return
	}
	if l.steps == nil {
		if b.stepped++; b.stepped > maxLanes {
			return
		}
		l.steps = make([]int64, laneSteps+1)
	}
	from, to = s.When(from)-b.from, s.When(to)-b.from
	for k := max(from, 0) / b.step; k*b.step < to && k < int64(len(l.steps)); k++ {
		l.steps[k] += min(to, (k+1)*b.step) - max(from, k*b.step)
	}
}

// add adds the times of another lane.
func (l *lane) add(other *lane) {
	if l == nil {
		return
	}
	l.sum = sum(l.sum, other.sum)
	if l.steps == nil {
		l.steps = other.steps
		return
	}
	for k, ns := range other.steps {
		l.steps[k] += ns
	}
}

// lateSpan is a late frame, or a long pause that is one if the device was busy.
type lateSpan struct {
	result.FrameSpan
	ran    int64
	active []activeOf
}

type activeOf struct {
	Activity
	source *Source
	clock  int64     // half width
	named  *activeOf // of another trace, which names the script; nil: none
}

// joined returns one activity for each thread. Its times are those of the trace that counts them.
// Its functions are those of another trace if only that one names a script.
func (b *builder) joined(all []activeOf) (joined []activeOf) {
	places := map[int]int{} // by thread
	for _, a := range all {
		i := b.thread(a.source, a.Thread)
		k, ok := places[i]
		if !ok {
			places[i] = len(joined)
			joined = append(joined, a)
			continue
		}
		had := joined[k]
		if b.owns(a.source, a.Thread) && !b.owns(had.source, had.Thread) {
			a, had = had, a
		}
		if had.named == nil && !had.script() && a.script() {
			had.named = &a
		}
		joined[k] = had
	}
	return joined
}

// script reports whether the longest function is one of JavaScript.
func (a *activeOf) script() bool {
	return a.Longest.Group >= 0 && a.source.Group(a.Longest.Group).Lang == activity.Script
}

// addLate adds the worst late frames.
func (b *builder) addLate(late []lateSpan) {
	for _, l := range late {
		if !b.chosen && (!l.Busy(time.Duration(l.ran)) || len(l.active) == 0 || len(b.Late) == result.MaxLate) {
			continue
		}
		of := result.ProfileLate{Window: l.Window, Frame: l.Frame, Response: l.Response, FromNS: l.FromNS, ToNS: l.ToNS}
		l.active = b.joined(l.active)
		slices.SortStableFunc(l.active, func(a, b activeOf) int {
			return cmp.Or(cmp.Compare(b.Low, a.Low), cmp.Compare(b.Running, a.Running), // certain times first
				cmp.Compare(longest(b.Waits), longest(a.Waits)))
		})
		for _, a := range l.active {
			if len(of.Threads) == result.MaxLateThreads {
				break
			}
			of.Threads = append(of.Threads, b.active(&a, b.thread(a.source, a.Thread), l.ToNS-l.FromNS))
		}
		b.Late = append(b.Late, of)
	}
}

func longest(all []Wait) int64 {
	if len(all) == 0 {
		return 0
	}
	return all[0].End - all[0].Begin
}

// spanOf widens bounds by the clock's, within a length.
func (a *activeOf) spanOf(ns, low, high, whole int64) result.Span {
	return result.Span{Value: float64(ns), Low: float64(max(0, min(low-2*a.clock, ns))),
		High: float64(max(ns, min(high+2*a.clock, whole)))}
}

func (b *builder) active(a *activeOf, thread int, whole int64) result.ProfileActive {
	f := cmp.Or(a.named, a)
	of := result.ProfileActive{Thread: thread, Function: -1, Sampled: f.Longest.Samples > 0,
		Running: a.spanOf(a.Running, a.Low, a.High, whole)}
	if a.Switches {
		of.Runnable = a.spanOf(a.Runnable, a.Runnable, a.Runnable, whole)
		of.Waiting = a.spanOf(a.Waiting, a.Waiting, a.Waiting, whole)
	} else {
		of.Runnable.High, of.Waiting.High = float64(whole), float64(whole)
	}
	if g := f.Longest.Group; g >= 0 {
		low, high := f.Longest.Bounds()
		of.Function, of.FunctionNS = b.function(f.source, g), f.spanOf(f.Longest.NS, low, high, whole)
		if span := &of.FunctionNS; f != a { // elapsed time, in which the thread may not have run
			span.Value, span.High = min(span.Value, of.Running.Value), min(span.High, of.Running.High)
			span.Low = min(span.Low, span.Value)
		}
	}
	of.Tree = b.nodes(f, 0)
	for _, w := range a.Waits[:min(len(a.Waits), result.MaxWaits)] {
		wait := result.ProfileWait{BeginNS: a.source.When(w.Begin), EndNS: a.source.When(w.End), WokenBy: -1}
		for _, g := range w.Path[:min(len(w.Path), result.MaxWaitStack)] {
			wait.Functions = append(wait.Functions, b.function(a.source, g))
		}
		if w.WokenBy > 0 {
			wait.WokenBy = b.thread(a.source, w.WokenBy)
		}
		of.Waits = append(of.Waits, wait)
	}
	return of
}

// nodes returns the longest functions below a node.
func (b *builder) nodes(a *activeOf, of int32) (all []result.ProfileNode) {
	whole := a.Tree.Nodes[of].NS
	if of == 0 {
		whole = a.Running
	}
	for _, i := range a.Tree.Nodes[of].Children {
		n := &a.Tree.Nodes[i]
		if len(all) == result.MaxTree || leastShare*n.NS < whole || n.Depth > result.MaxTreeDepth {
			break
		}
		low, high := n.Bounds()
		all = append(all, result.ProfileNode{Function: b.function(a.source, n.Group), NS: n.NS,
			LowNS: max(0, low-2*a.clock), HighNS: high + 2*a.clock, Samples: n.Samples, Callers: b.nodes(a, i)})
	}
	return all
}

// tests adds the comparison of late frames. That of the first trace with enough frames counts.
func (b *builder) tests(s *Source, c *Comparison) {
	if b.LateFrames = max(b.LateFrames, c.Late); len(b.Tests) > 0 {
		return
	}
	b.OtherFrames = max(b.OtherFrames, c.Other)
	for _, t := range c.Tests {
		b.Tests = append(b.Tests, result.ProfileTest{Function: b.function(s, t.Group), LateNS: int64(t.LateNS.Estimate),
			LowNS: int64(t.LateNS.Low), HighNS: int64(math.Ceil(t.LateNS.High)), OtherNS: int64(t.Other),
			FrameNS: int64(t.Frame), Frames: t.Frames, P: t.P, Named: t.P < result.TestLevel})
	}
}

// finish sorts and limits the lists.
func (b *builder) finish() {
	for i := range b.Threads {
		t := &b.Threads[i]
		t.RunningNS = b.lanes[i].sum
		for k, ns := range b.lanes[i].steps {
			if int64(k)*b.step+b.from < b.last() {
				t.Lane = append(t.Lane, uint8(max(0, min(100, ns/max(b.step/100, 1)))))
			}
		}
	}
	threads := b.order(len(b.Threads), result.MaxThreads, b.threadUses(), func(i, k int) int {
		return cmp.Compare(b.Threads[k].RunningNS, b.Threads[i].RunningNS)
	})
	b.Threads = picked(b.Threads, threads)
	functions := b.order(len(b.Functions), result.MaxProfileFunctions, b.functionUses(), func(i, k int) int {
		return cmp.Or(cmp.Compare(b.Functions[k].SelfNS, b.Functions[i].SelfNS),
			cmp.Compare(b.Functions[k].TotalNS, b.Functions[i].TotalNS))
	})
	b.Functions = picked(b.Functions, functions)
	b.renumber(placesOf(threads), placesOf(functions))
	slices.SortStableFunc(b.Events, func(a, b result.ProfileEvent) int {
		return cmp.Compare(a.EarliestNS, b.EarliestNS)
	})
	if left := len(b.Events) - result.MaxProfileEvents; left > 0 {
		b.Events, b.EventsLeft = b.Events[:result.MaxProfileEvents], b.EventsLeft+int64(left)
	}
	b.Warnings = b.Warnings[:min(len(b.Warnings), result.MaxGaps)]
}

func (b *builder) last() (ns int64) {
	for _, t := range b.Traces {
		ns = max(ns, t.EndNS)
	}
	return ns
}

// order returns the used ones and then the first others, up to a limit, in order.
func (b *builder) order(n, most int, used map[int]bool, compare func(i, k int) int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, compare)
	others := most - len(used)
	return slices.DeleteFunc(all, func(i int) bool {
		if !used[i] {
			others--
		}
		most--
		return most < 0 || !used[i] && others < 0
	})
}

func picked[T any](all []T, order []int) []T {
	chosen := make([]T, len(order))
	for k, i := range order {
		chosen[k] = all[i]
	}
	return chosen
}

// placesOf returns the new places by the old ones.
func placesOf(order []int) map[int]int {
	places := map[int]int{}
	for k, i := range order {
		places[i] = k
	}
	return places
}

// functionUses returns the functions that other parts refer to.
func (b *builder) functionUses() map[int]bool {
	used := map[int]bool{}
	b.eachFunction(func(i *int) { used[*i] = true })
	delete(used, -1)
	return used
}

// threadUses returns the threads of late frames.
func (b *builder) threadUses() map[int]bool {
	used := map[int]bool{}
	for _, l := range b.Late {
		for _, a := range l.Threads {
			used[a.Thread] = true
		}
	}
	return used
}

func (b *builder) eachFunction(f func(*int)) {
	var nodes func([]result.ProfileNode)
	nodes = func(all []result.ProfileNode) {
		for i := range all {
			f(&all[i].Function)
			nodes(all[i].Callers)
		}
	}
	for i := range b.Late {
		for k := range b.Late[i].Threads {
			a := &b.Late[i].Threads[k]
			f(&a.Function)
			nodes(a.Tree)
			for n := range a.Waits {
				for m := range a.Waits[n].Functions {
					f(&a.Waits[n].Functions[m])
				}
			}
		}
	}
	for i := range b.Tests {
		f(&b.Tests[i].Function)
	}
}

func (b *builder) eachThread(f func(*int)) {
	for i := range b.Late {
		for k := range b.Late[i].Threads {
			a := &b.Late[i].Threads[k]
			f(&a.Thread)
			for n := range a.Waits {
				f(&a.Waits[n].WokenBy)
			}
		}
	}
	for i := range b.Events {
		if i < result.MaxProfileEvents {
			f(&b.Events[i].Thread)
		}
	}
}

// renumber replaces places in lists by new ones. Those that are left out become -1.
func (b *builder) renumber(threads, functions map[int]int) {
	replace := func(places map[int]int) func(*int) {
		return func(i *int) {
			k, ok := places[*i]
			if *i = k; !ok {
				*i = -1
			}
		}
	}
	b.eachThread(replace(threads))
	b.eachFunction(replace(functions))
}

// events collects garbage collections and the like.
type events struct {
	*builder
	of    *Source
	kinds []string // by number of a function; empty: others
}

func newEvents(b *builder, s *Source) *events {
	e := &events{b, s, make([]string, len(s.Functions()))}
	for i, f := range s.Functions() {
		if f.Lang == activity.Category {
			e.kinds[i] = kindOf(f.Name)
		}
	}
	return e
}

// kindOf returns the kind of an event by its name in Chromium's and Firefox's traces.
func kindOf(name string) string {
	switch {
	case name == "RunTask" || name == "LongTask" || name == "ThreadControllerImpl::RunTask":
		return result.EventLongTask
	case name == "MinorGC" || name == "MajorGC" || name == "GCMajor" || name == "GCMinor" || name == "CC" ||
		strings.HasPrefix(name, "V8.GC_") && !strings.Contains(name[len("V8.GC_"):], "_"):
		return result.EventGC
	case name == "Layout" || name == "UpdateLayoutTree" || name == "Reflow" || name == "Styles":
		return result.EventLayout
	case name == "DroppedFrame" || name == "MissedDeadline" || name == "Jank":
		return result.EventMissed
	}
	return ""
}

func (e *events) add(one activity.Event, st *activity.State) {
	begin, lasted := one.At, int64(0)
	switch one.Kind {
	case activity.Slice:
		lasted = one.Value
	case activity.Return:
		if st == nil || len(st.Calls) == 0 {
			return
		}
		begin = st.Calls[len(st.Calls)-1].Begin
		lasted = one.At - begin
	case activity.Instant:
	default:
		return
	}
	kind := e.kinds[one.Ref]
	if kind == "" || kind == result.EventLongTask && lasted < int64(longTask) ||
		kind == result.EventLayout && lasted == 0 {
		return
	}
	if len(e.Events) >= 2*result.MaxProfileEvents || e.of.Info().Clock.None {
		e.EventsLeft++
		return
	}
	clock, thread := e.of.Info().Clock, -1
	earliest, latest := clock.Bounds(begin)
	if one.Thread > 0 {
		thread = e.thread(e.of, one.Thread)
	}
	e.Events = append(e.Events, result.ProfileEvent{Kind: kind, Name: e.of.Functions()[one.Ref].Name, Thread: thread,
		EarliestNS: earliest, LatestNS: latest, DurationNS: lasted, Frame: result.FrameAfter(e.windows, latest)})
}
