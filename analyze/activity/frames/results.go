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
	late      []lateSpan
	wholes    map[threadOf]*Activity // of whole traces, as far as they are needed
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
	if err := s.findGaps(); err != nil {
		return err
	}
	for i := range late {
		l := &late[i]
		from, to := s.Between(l.FromNS, l.ToNS)
		l.lost = append(l.lost, s.lost(Span{From: from, To: to})...)
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
		b.warn("%s: %d frames without their records are not compared.", info.Name, tests.Gaps)
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
