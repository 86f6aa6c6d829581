package scripts

import (
	"cmp"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

const (
	maxCandidates = 3 * result.MaxLate
	maxShares     = 5 // functions of a late frame
)

// lateFrame is a late frame before its functions have places in the results.
type lateFrame struct {
	result.FrameSpan
	unexplained result.Span
	shares      []trace.Share
	// natives are the longest calls in slow functions, by function.
	natives map[uint32][]trace.Share
	realm   *trace.Realm // that was busiest
}

// late returns the late frames with the functions that ran meanwhile, the worst first.
func (r *Run) late(windows []result.Window) (all []lateFrame) {
	for i := range windows {
		for _, span := range result.FrameSpans(windows, i) {
			if span.Long || span.Lasted() >= result.LongPause {
				all = append(all, lateFrame{FrameSpan: span})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b lateFrame) int { return cmp.Compare(b.Lasted(), a.Lasted()) })
	kept := all[:0]
	for _, l := range all[:min(len(all), maxCandidates)] {
		shares := r.during(&l)
		ran := time.Duration(0)
		for _, share := range shares {
			ran += time.Duration(share.Self.Value)
		}
		if l.shares = shares[:min(len(shares), maxShares)]; l.Busy(ran) {
			kept = append(kept, l)
		}
	}
	return kept[:min(len(kept), result.MaxLate)]
}

// during returns the functions that ran before a late frame, in the realm that was busiest. It
// takes the time in which none ran from there. A worker does not hold up frames. So it counts only
// if windows and frames ran for less than a quarter.
func (r *Run) during(l *lateFrame) (busiest []trace.Share) {
	whole := l.Lasted().Nanoseconds()
	l.unexplained = span(trace.Span{Value: whole, Low: whole, High: whole})
	most := int64(0)
	for _, m := range r.Trace.During(timeline.Time(l.FromNS), timeline.Time(l.ToNS)) {
		if r.Trace.Realms[m.Realm].Kind == record.Worker && most >= whole/4 {
			break // workers are behind windows and frames
		}
		ran := int64(0)
		for _, share := range m.Functions {
			ran += share.Self.Value
		}
		if ran > most {
			most, busiest, l.unexplained = ran, m.Functions, span(m.Unexplained)
			l.realm = r.Trace.Realms[m.Realm]
		}
	}
	busiest, l.natives = r.withNatives(busiest)
	return slices.DeleteFunc(busiest, func(s trace.Share) bool { return s.Self.Value <= 0 })
}

// callers returns the callers of a function of a late frame. They are within if none of them has
// most of the function's calls.
func (r *Run) callers(l *lateFrame, function uint32) (all []result.Place, within bool) {
	numbers, direct := l.realm.Callers(function, r.callerOf, timeline.Time(l.FromNS), timeline.Time(l.ToNS),
		result.MaxCallers)
	for _, number := range numbers {
		p, f := r.Function(number)
		if f == nil {
			break
		}
		all = append(all, placeOf(p, f))
	}
	return all, len(all) > 0 && !direct
}

func placeOf(p *Program, f *Function) result.Place {
	return result.Place{Function: f.Name, URL: p.URL, Line: f.Line, Column: f.Column, Source: f.File,
		SourceLine: f.SourceLine}
}
