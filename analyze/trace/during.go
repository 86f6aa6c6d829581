package trace

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/eideticker/eideticker/capture/timeline"
)

// window is a span of page times.
type window struct{ from, to int64 }

// overlap returns the length of the part of [from, to] that is in the window.
func (w window) overlap(from, to int64) int64 {
	return max(0, min(to, w.to)-max(from, w.from))
}

// activity has the self times of functions in a span, whose place is uncertain.
type activity struct {
	realm      *Realm
	functions  map[uint32]*ran
	idle, lost ran
	last       *ran
}

// ran is the self time of a function: for the middle of the offset, in the narrowest and in the
// widest window.
type ran struct {
	function     uint32
	sum          // time: in the middle
	narrow, wide int64
}

// of returns the entry of a function.
func (a *activity) of(function uint32) *ran {
	if a.last != nil && a.last.function == function {
		return a.last
	}
	if function == 0 { // its begin is lost
		return &a.lost
	}
	if a.last = a.functions[function]; a.last == nil {
		if a.functions == nil {
			a.functions = map[uint32]*ran{}
		}
		a.last = &ran{function: function}
		a.functions[function] = a.last
	}
	return a.last
}

// add adds the course of the stack from at[first] to at[end]. After the last entry, it ends never.
func (a *activity) add(first, end int, mid, narrow, wide window) {
	r := a.realm
	var before *ran
	for i := first; i < end; i++ {
		from, to := r.at[i], int64(never)
		if i+1 < len(r.at) {
			to = r.at[i+1]
		}
		of := &a.lost
		switch top := r.top[i] &^ flags; {
		case top == idle:
			of = &a.idle
			to = min(to, max(from, r.End)) // the realm does not exist after its end
		case top < lost:
			of = a.of(r.Calls[top>>2].Function)
		}
		var above *sum
		if before != nil {
			above = &before.sum
		}
		if first < i || r.top[i]&flags == pushed {
			count(above, &of.sum, r.top[i]&flags)
		}
		before = of
		of.count(from, to, mid, narrow, wide)
	}
}

func (of *ran) count(from, to int64, mid, narrow, wide window) {
	of.time += mid.overlap(from, to)
	of.narrow += narrow.overlap(from, to)
	of.wide += wide.overlap(from, to)
}

// doubt adds the doubts of a span.
func (a *activity) doubt(narrow, wide window) {
	r := a.realm
	for _, d := range r.doubts {
		if d.from >= wide.to || d.to <= wide.from {
			continue
		}
		of := a.of(r.Calls[d.call].Function)
		if d.kind == ranOn {
			of.less += min(d.time, narrow.overlap(d.from, d.to))
		} else {
			of.more += min(d.time, wide.overlap(d.from, d.to))
		}
	}
}

// span returns the bounds of a self time within [0, limit].
func (a *activity) span(of *ran, limit int64) Span {
	s := of.sum
	if of.wide > 0 && s.own+s.child == 0 {
		s.own = 1 // at least one reading
	}
	e := a.realm.self(s)
	e.low -= float64(of.time - of.narrow)
	e.high += float64(of.wide - of.time)
	return e.span(1, limit)
}

// shares returns the functions, longest first.
func (a *activity) shares(limit int64) []Share {
	all := make([]Share, 0, len(a.functions))
	for _, of := range a.functions {
		all = append(all, Share{of.function, a.span(of, limit)})
	}
	slices.SortFunc(all, func(x, y Share) int {
		return cmp.Or(cmp.Compare(y.Self.Value, x.Self.Value), cmp.Compare(x.Function, y.Function))
	})
	return all
}

// During returns the activity of each realm that existed within a span: windows first, then frames,
// workers and Node. Realms run at the same time, so their shares do not add up.
func (t *Trace) During(from, to timeline.Time) []Meantime {
	var all []Meantime
	from, to = max(-never, from), min(never, to)
	if from >= to {
		return nil
	}
	for _, i := range kindOrder(t.Realms) {
		if m, ok := t.Realms[i].during(from, to); ok {
			m.Realm = i
			all = append(all, m)
		}
	}
	return all
}

func (r *Realm) during(from, to timeline.Time) (m Meantime, ok bool) {
	page := func(from, to, offset, later timeline.Time) window {
		return window{int64(from - offset), int64(to - later)}
	}
	o := r.Offset
	mid := page(from, to, o.Mid(), o.Mid())
	narrow := page(from, to, o.Earliest, o.Latest)
	wide := page(from, to, o.Latest, o.Earliest)
	n := len(r.at)
	if n == 0 || wide.to <= r.Begin || wide.from >= r.End && r.top[n-1] != lost {
		return m, false
	}
	a := activity{realm: r}
	first := max(0, sort.Search(n, func(i int) bool { return r.at[i] > wide.from })-1)
	end := sort.Search(n, func(i int) bool { return r.at[i] >= wide.to })
	a.add(first, end, mid, narrow, wide)
	a.doubt(narrow, wide)
	limit := int64(to - from)
	m.Functions = a.shares(limit)
	m.Lost = a.span(&a.lost, limit)
	// Before its first record and after its end, the realm ran no function.
	a.idle.count(-never, r.at[0], mid, narrow, wide)
	if r.top[n-1] != lost {
		a.idle.count(max(r.End, r.at[n-1]), never, mid, narrow, wide)
	}
	for _, of := range a.functions {
		a.idle.more = max(a.idle.more, of.less)
	}
	m.Unexplained = a.span(&a.idle, limit)
	return m, true
}

// Course iterates over the changes of the stack. It yields the page time in ns, and the index of
// the call on top from then on. The index is -1 if none is on top, or if records are lost.
func (r *Realm) Course() iter.Seq2[int64, int32] {
	return func(yield func(int64, int32) bool) {
		before := int32(-2)
		for i, at := range r.at {
			call := int32(-1)
			if top := r.top[i]; top < lost {
				call = int32(top >> 2)
			}
			if call != before && !yield(at, call) {
				return
			}
			before = call
		}
	}
}
