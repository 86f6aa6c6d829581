package scripts

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// NoRecords is the warning of a run whose pages sent nothing.
const NoRecords = "No page sent records: its scripts were not instrumented, did not run, or could not reach the rig."

// Results returns the part of results.json. The windows have their results already.
func (r *Run) Results(windows []result.Window) *result.Script {
	t := r.Trace
	s := &result.Script{
		Policies: r.Info.Policies, Records: t.Records, Lost: t.Lost, Log: LogFile,
		Cost:     result.ScriptCost{CountedNS: span(t.Counted)},
		Warnings: append(slices.Clone(r.Info.Warnings), t.Problems...),
	}
	if r.Info.Received.Batches == 0 {
		s.Warnings = append(s.Warnings, NoRecords)
	}
	s.Brief = r.brief(0, math.MaxInt64)
	r.programsTo(s)
	r.realmsTo(s)
	var late []lateFrame
	if r.times {
		late = r.late(windows)
	}
	index := r.functionsTo(s, late)
	r.tasksTo(s, index)
	r.errorsTo(s, windows)
	r.requestsTo(s)
	r.reportsTo(s)
	for _, l := range late {
		of := result.LateFrame{Window: l.Window, Frame: l.Frame, Response: l.Response, Load: l.Load,
			FromNS: l.FromNS, ToNS: l.ToNS, UnexplainedNS: l.unexplained, Brief: r.brief(l.FromNS, l.ToNS)}
		for _, share := range l.shares {
			if i, ok := index[share.Function]; ok {
				of.Functions = append(of.Functions, result.RanMeantime{Function: i, Self: span(share.Self)})
				if len(of.Functions) == 1 {
					of.Callers, of.Within = r.callers(&l, share.Function)
				}
				if all := l.natives[share.Function]; len(all) > 0 && len(of.Functions) == 1 &&
					4*all[0].Self.Value >= share.Self.Value {
					native := r.nativeOf(all[0])
					of.Native = &native
				}
			}
		}
		s.Late = append(s.Late, of)
	}
	s.Warnings = s.Warnings[:min(len(s.Warnings), result.MaxGaps)]
	return s
}

// brief returns the calls without records in tasks within a span; nil: none.
func (r *Run) brief(from, to int64) *result.BriefCalls {
	calls, all := map[uint32]int64{}, int64(0)
	for _, realm := range r.Trace.Realms {
		for _, n := range realm.Brief {
			if realm.When(n.Begin).Mid() < timeline.Time(to) && realm.When(n.End).Mid() > timeline.Time(from) {
				calls[n.Function] += n.Calls
				all += n.Calls
			}
		}
	}
	var most uint32
	for id, n := range calls {
		if _, f := r.Function(id); f != nil && (n > calls[most] || n == calls[most] && id < most) {
			most = id
		}
	}
	p, f := r.Function(most)
	if f == nil {
		return nil
	}
	return &result.BriefCalls{Calls: all, Most: placeOf(p, f)}
}

// span returns a duration within [0, result.MaxSpan], with bounds on either side.
func span(d trace.Span) result.Span {
	low := min(max(0, d.Low), result.MaxSpan)
	value := min(max(low, d.Value), result.MaxSpan)
	return result.Span{Value: float64(value), Low: float64(low),
		High: float64(min(max(value, d.High), result.MaxSpan))}
}

func (r *Run) programsTo(s *result.Script) {
	for i := range r.Info.Programs {
		p := &r.Info.Programs[i]
		s.Programs.Served++
		s.Programs.Bytes += p.Bytes
		if p.Plain != "" {
			if len(s.Plain) < result.MaxPlain {
				s.Plain = append(s.Plain, result.PlainScript{URL: p.URL, Reason: p.Plain, Count: p.Count})
			}
			continue
		}
		s.Programs.Instrumented++
		s.Programs.CoveredBytes += p.Bytes
		s.Programs.AddedBytes += p.Added
		s.Programs.Functions += p.CountFunctions()
	}
}

// realmsTo adds the realms with their clocks, costs, gaps and blocked features.
func (r *Run) realmsTo(s *result.Script) {
	kinds := map[record.RealmKind]string{record.Window: result.RealmWindow, record.Frame: result.RealmFrame,
		record.Worker: result.RealmWorker, record.Node: result.RealmNode}
	cost := &s.Cost.PerCallNS
	for i, realm := range r.Trace.Realms {
		if len(s.Realms) < result.MaxRealms {
			s.Realms = append(s.Realms, result.ScriptRealm{Kind: kinds[realm.Kind], URL: realm.URL})
		} else {
			i = -1
		}
		s.ClockNS = max(s.ClockNS, int64(realm.Offset.Width()))
		if pair := span(realm.Pair); pair.High > 0 {
			if cost.High == 0 {
				*cost = pair
			}
			cost.Low, cost.High = min(cost.Low, pair.Low), max(cost.High, pair.High)
		}
		for _, g := range realm.Gaps {
			if len(s.Gaps) < result.MaxGaps {
				s.Gaps = append(s.Gaps, result.Gap{FromNS: int64(realm.When(g.From).Mid()),
					ToNS: int64(realm.When(g.To).Mid()), Records: g.Records, Cause: g.Cause.String(), Realm: i})
			}
		}
		for _, e := range realm.Events {
			switch e.Detail.Kind {
			case "blocked":
				s.Warnings = append(s.Warnings, fmt.Sprintf("The page forbids %s.", e.Detail.What))
			case "plain":
				s.Warnings = append(s.Warnings,
					fmt.Sprintf("Code that a page made ran without insertions: %s.", e.Detail.What))
			case "failed":
				s.Warnings = append(s.Warnings,
					fmt.Sprintf("The policy %s failed in a page and was off there.", e.Detail.What))
			}
		}
	}
}

// requestsTo adds the longest requests.
func (r *Run) requestsTo(s *result.Script) {
	for _, realm := range r.Trace.Realms {
		for _, e := range realm.Events {
			if d := &e.Detail; d.Kind == "request" {
				s.Requests = append(s.Requests, result.SlowRequest{URL: d.URL, By: d.What,
					BeginNS: int64(realm.When(e.At).Mid()), WaitNS: max(-1, 1000*d.WaitUS), TookNS: 1000 * d.TookUS})
			}
		}
	}
	slices.SortStableFunc(s.Requests, func(a, b result.SlowRequest) int { return cmp.Compare(b.TookNS, a.TookNS) })
	s.Requests = s.Requests[:min(len(s.Requests), result.MaxRequests)]
	slices.SortStableFunc(s.Requests, func(a, b result.SlowRequest) int { return cmp.Compare(a.BeginNS, b.BeginNS) })
}

// functionsTo adds the functions of late frames, and then those with the longest self time. It
// returns their places by number.
func (r *Run) functionsTo(s *result.Script, late []lateFrame) map[uint32]int {
	totals := r.Trace.Totals()
	selfs := make([]trace.Share, len(totals))
	for i, t := range totals {
		selfs[i] = trace.Share{Function: t.Function, Self: t.Self}
	}
	selfs, natives := r.withNatives(selfs)
	place := map[uint32]int{} // of functions whose self times are complete
	for i, s := range selfs {
		place[s.Function] = i
	}
	totals = slices.DeleteFunc(totals, func(t trace.Total) bool { return r.callerOf(t.Function) != t.Function })
	for i := range totals {
		totals[i].Self = selfs[place[totals[i].Function]].Self
	}
	slices.SortStableFunc(totals, func(a, b trace.Total) int {
		return cmp.Compare(place[a.Function], place[b.Function])
	})
	chosen := map[uint32]bool{}
	for _, l := range late {
		for _, share := range l.shares {
			chosen[share.Function] = true
		}
	}
	unknown := 0
	totals = slices.DeleteFunc(totals, func(t trace.Total) bool {
		_, f := r.Function(t.Function)
		switch {
		case f == nil:
			unknown++
		case f.counts():
			s.Programs.CalledOfThem++
		}
		return f == nil
	})
	if unknown > 0 {
		s.Warnings = append(s.Warnings,
			fmt.Sprintf("Functions with calls that were not served: %d.", unknown))
	}
	room := result.MaxFunctions
	for _, t := range totals {
		if chosen[t.Function] {
			room--
		}
	}
	brief := map[uint32]int64{}
	for _, realm := range r.Trace.Realms {
		for _, n := range realm.Brief {
			brief[n.Function] += n.Calls
		}
	}
	index := map[uint32]int{}
	for _, t := range totals {
		if !chosen[t.Function] {
			if room <= 0 {
				continue
			}
			room--
		}
		p, f := r.Function(t.Function)
		index[t.Function] = len(s.Functions)
		s.Functions = append(s.Functions, result.Function{Name: f.Name, URL: p.URL, Line: f.Line, Column: f.Column,
			Source: f.File, SourceLine: f.SourceLine, Calls: t.Calls + brief[t.Function],
			Brief: brief[t.Function], Self: span(t.Self), Total: span(t.Total),
			Min: span(t.Min), Mean: span(t.Mean), Max: span(t.Max)})
		of := &s.Functions[len(s.Functions)-1]
		for _, native := range natives[t.Function][:min(len(natives[t.Function]), result.MaxNatives)] {
			if leastShare*native.Self.Value >= t.Self.Value {
				of.Natives = append(of.Natives, r.nativeOf(native))
			}
		}
	}
	return index
}

// tasksTo adds the longest tasks in order.
func (r *Run) tasksTo(s *result.Script, index map[uint32]int) {
	all := r.Trace.Tasks()
	whole := len(all)
	all = slices.DeleteFunc(all, func(t trace.Task) bool { return t.Realm >= len(s.Realms) })
	slices.SortStableFunc(all, func(a, b trace.Task) int { return cmp.Compare(b.End-b.Begin, a.End-a.Begin) })
	all = all[:min(len(all), result.MaxTasks)]
	s.TasksLeft = int64(whole - len(all))
	for _, t := range all {
		realm := r.Trace.Realms[t.Realm]
		of := result.Task{BeginNS: int64(realm.When(t.Begin).Mid()), EndNS: int64(realm.When(t.End).Mid()),
			Realm: t.Realm, Calls: t.Calls, Function: -1}
		if i, ok := index[r.callerOf(t.Function)]; ok {
			of.Function = i
		}
		s.Tasks = append(s.Tasks, of)
	}
	slices.SortStableFunc(s.Tasks, func(a, b result.Task) int { return cmp.Compare(a.BeginNS, b.BeginNS) })
}

// errorsTo adds the errors. Equal ones at one place count as one.
func (r *Run) errorsTo(s *result.Script, windows []result.Window) {
	type signature struct {
		kind, message, url string
		line, column       int
	}
	known := map[signature]*result.ScriptError{}
	var all []*result.ScriptError
	for _, realm := range r.Trace.Realms {
		for _, e := range realm.Events {
			d := &e.Detail
			if !failure(d.Kind) {
				continue
			}
			at := int64(realm.When(e.At).Mid())
			column, source := r.Original(d.URL, d.Line, d.Column)
			of := signature{d.Kind, cmp.Or(d.Message, d.Tag), d.URL, d.Line, column}
			if had := known[of]; had != nil {
				had.Count++
				if had.AtNS = min(had.AtNS, at); len(had.Stack) == 0 {
					had.Stack = r.stack(d.Stack)
				}
				continue
			}
			one := &result.ScriptError{Kind: of.kind, Message: of.message, URL: of.url, Line: of.line,
				Column: of.column, Source: source.File, SourceLine: source.SourceLine, AtNS: at, Count: 1,
				Stack: r.stack(d.Stack)}
			known[of] = one
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b *result.ScriptError) int { return cmp.Compare(a.AtNS, b.AtNS) })
	for _, one := range all {
		if len(s.Errors) == result.MaxErrors {
			s.ErrorsLeft += int64(one.Count)
			continue
		}
		one.Frame = result.FrameAfter(windows, one.AtNS)
		s.Errors = append(s.Errors, *one)
	}
}

func (r *Run) stack(of []record.Place) (all []result.Place) {
	for _, p := range of[:min(len(of), result.MaxStack)] {
		column, source := r.Original(p.URL, p.Line, p.Column)
		all = append(all, result.Place{Function: p.Function, URL: p.URL, Line: p.Line, Column: column,
			Source: source.File, SourceLine: source.SourceLine})
	}
	return all
}
