package frames

import (
	"math"
	"sort"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

// Spans are those of frames on the trace's clock, in order and without overlaps.
type Spans []Span

// Span is that of one frame. Row is a number of the caller.
type Span struct {
	From, To int64
	Row      int
}

// Spans returns the spans of frames. Their rows count from 0.
func (s *Source) Spans(all []result.FrameSpan) Spans {
	spans := make(Spans, len(all))
	for i, f := range all {
		from, to := s.Between(f.FromNS, f.ToNS)
		spans[i] = Span{from, to, i}
	}
	return spans
}

// parts calls f for the spans that a time touches.
func (all Spans) parts(from, to int64, f func(row int, ns int64)) {
	i := sort.Search(len(all), func(i int) bool { return all[i].To > from })
	for ; i < len(all) && all[i].From < to; i++ {
		if ns := min(to, all[i].To) - max(from, all[i].From); ns > 0 {
			f(all[i].Row, ns)
		}
	}
}

// Within returns how much of a time is within the spans.
func (all Spans) Within(from, to int64) (ns int64) {
	i := 0
	if len(all) > 1 {
		i = sort.Search(len(all), func(i int) bool { return all[i].To > from })
	}
	for ; i < len(all) && all[i].From < to; i++ {
		ns += max(0, min(to, all[i].To)-max(from, all[i].From))
	}
	return ns
}

// Part is a time within a span with one stack: a sample, or a piece of calls.
type Part struct {
	Row     int
	Thread  uint32
	Path    []int32 // groups, innermost first; valid during the call
	CPU     int64
	Wall    int64
	Sampled bool
}

// Each calls f for the stacks of all threads within spans. A sample is in the span with its time.
// Each list of spans may overlap others.
func (s *Source) Each(within []Spans, f func(*Part)) error {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, spans := range within {
		if len(spans) > 0 {
			first, last = min(first, spans[0].From), max(last, spans[len(spans)-1].To)
		}
	}
	var p Part
	return s.Walk(first, last, activity.Visitor{
		Piece: func(st *activity.State, from, to int64) {
			if len(st.Calls) == 0 {
				return
			}
			p.Path, p.Thread, p.Sampled = s.callsOf(p.Path[:0], st.Calls), st.Thread, false
			for _, spans := range within {
				spans.parts(from, to, func(row int, ns int64) {
					p.Row, p.Wall, p.CPU = row, ns, ns
					if st.On == activity.OffCPU {
						p.CPU = 0
					}
					f(&p)
				})
			}
		},
		Event: func(e activity.Event, st *activity.State) {
			if e.Kind != activity.Sample || e.Ref == 0 {
				return
			}
			p.Path, p.Thread, p.Sampled = s.stackOf(p.Path[:0], e.Ref), e.Thread, true
			for _, spans := range within {
				spans.parts(e.At, e.At+1, func(row int, _ int64) {
					p.Row, p.Wall, p.CPU = row, e.Value, e.Value
					f(&p)
				})
			}
		},
	})
}
