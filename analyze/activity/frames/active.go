package frames

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

// lateSpan is a late frame, or a long pause that is one if the device was busy.
type lateSpan struct {
	result.FrameSpan
	ran    int64
	active []activeOf
	lost   []string // gaps meanwhile
}

type activeOf struct {
	Activity
	source *Source
	clock  int64     // half width
	named  *activeOf // of another trace, which names the script; nil: none
	// blocked: see [result.ProfileActive].
	blocked bool
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
	b.late, b.wholes = late, map[threadOf]*Activity{}
	for _, l := range late {
		known := len(l.active) > 0 || l.Long && len(l.lost) > 0
		if !b.chosen && (!l.Busy(time.Duration(l.ran)) || !known || len(b.Late) == result.MaxLate) {
			continue
		}
		of := result.ProfileLate{Window: l.Window, Frame: l.Frame, Response: l.Response, Load: l.Load,
			FromNS: l.FromNS, ToNS: l.ToNS, Lost: l.lost[:min(len(l.lost), result.MaxLateThreads)]}
		of.Work = b.workBefore(&l)
		l.active = b.joined(l.active)
		slices.SortStableFunc(l.active, func(a, b activeOf) int {
			return cmp.Or(cmp.Compare(b.Low, a.Low), cmp.Compare(b.Running, a.Running), // certain times first
				cmp.Compare(longest(b.Waits), longest(a.Waits)))
		})
		b.blocked(&l)
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
	return all[0].NS
}

// blocked finds the thread that waited for at least half of the time, and ran before and after it.
// Main threads are before others. Only their many waits count as one, since other threads may poll.
// The thread comes first if the busiest one was idle. Otherwise it must be the busiest one, or have
// waited until that one woke it, and comes second. A thread with nothing to do waits too, but
// longer before and after. Or it runs little in all of the trace. Or it usually waits there.
func (b *builder) blocked(l *lateSpan) {
	const little = 8 // inverse of a share of the busiest thread
	most := int64(0)
	for i := range b.lanes {
		most = max(most, b.lanes[i].sum)
	}
	found, stood := -1, l.ToNS-l.FromNS
	var single, main bool // of the found one
	for i := range l.active {
		a := &l.active[i]
		if 2*longest(a.Waits) < stood || little*b.lanes[b.thread(a.source, a.Thread)].sum < most {
			continue
		}
		w, t := a.Waits[0], a.source.Threads()[a.Thread]
		of, one := t.Process != 0 && t.ID == t.Process, 2*(w.End-w.Begin) >= stood
		switch {
		case a.source.When(w.Begin) < l.FromNS-stood/2, a.source.When(w.End) >= l.ToNS, !of && !one:
		case found < 0, of && !main, of == main && one && !single:
			found, main, single = i, of, one
		}
	}
	if found < 0 || b.idle(&l.active[found]) {
		return
	}
	a, busiest, to := l.active[found], &l.active[0], 0
	if w := a.Waits[0]; found > 0 && (4*busiest.Longest.NS >= stood || 2*(busiest.Running+busiest.Runnable) >= stood) {
		if a.source != busiest.source || w.WokenBy != busiest.Thread || 2*(w.End-w.Begin) < stood {
			return
		}
		to = 1
	}
	a.blocked = true
	l.active = slices.Insert(slices.Delete(l.active, found, found+1), to, a)
}

// idle reports whether the longest wait of a thread in a late span is its usual one. Outside of
// late spans it waited there for as long, and for most of its waits. Waits without a stack are not.
func (b *builder) idle(a *activeOf) bool {
	key := threadOf{a.source, a.Thread}
	whole := b.wholes[key]
	if whole == nil {
		info := a.source.Info()
		all, err := a.source.Within(info.BeginNS, info.EndNS,
			Options{Depth: 1, Thread: func(t uint32) bool { return t == a.Thread }})
		if whole = new(Activity); err == nil && len(all) == 1 {
			whole = &all[0]
		}
		b.wholes[key] = whole
	}
	callers := a.source.callers(a.Waits[0].Path)
	there := func(of *Activity) (ns int64) {
		for _, w := range of.Waits {
			if slices.Equal(a.source.callers(w.Path), callers) {
				ns += w.NS
			}
		}
		return ns
	}
	usual, waiting := there(whole), whole.Waiting
	for i := range b.late {
		for k := range b.late[i].active {
			if of := &b.late[i].active[k]; of.source == a.source && of.Thread == a.Thread {
				usual, waiting = usual-there(&of.Activity), waiting-of.Waiting
			}
		}
	}
	return len(callers) > 0 && usual >= a.Waits[0].NS && 2*usual >= waiting
}

// waited returns the part of a wait's stack that results have. A long one is without some functions
// of the kernel, so that it has their callers in the program.
func (a *activeOf) waited(path []int32) []int32 {
	const inner = result.MaxWaitStack / 2
	outer := len(path) - len(a.source.callers(path))
	if outer > inner && len(path) > result.MaxWaitStack {
		callers := path[outer:][:min(len(path)-outer, result.MaxWaitStack-inner)]
		path = slices.Concat(path[:min(outer, result.MaxWaitStack-len(callers))], callers)
	}
	return path[:min(len(path), result.MaxWaitStack)]
}

// spanOf widens bounds by the clock's, within a length.
func (a *activeOf) spanOf(ns, low, high, whole int64) result.Span {
	return result.Span{Value: float64(ns), Low: float64(max(0, min(low-2*a.clock, ns))),
		High: float64(max(ns, min(high+2*a.clock, whole)))}
}

func (b *builder) active(a *activeOf, thread int, whole int64) result.ProfileActive {
	f := cmp.Or(a.named, a)
	of := result.ProfileActive{Thread: thread, Function: -1, Sampled: f.fromSamples, Blocked: a.blocked,
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
		wait := result.ProfileWait{NS: w.NS, Times: w.Times, BeginNS: a.source.When(w.Begin),
			EndNS: a.source.When(w.End), WokenBy: -1}
		for _, g := range a.waited(w.Path) {
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
			FrameNS: int64(t.Frame), Frames: t.Frames, P: t.P,
			Named: t.P < result.TestLevel && leastShare*(t.LateNS.Estimate-t.Other) >= t.Frame})
	}
}
