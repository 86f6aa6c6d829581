package trace

import (
	"cmp"
	"math"
	"slices"
)

// Errors of times in steps of the page's clock.
const (
	sumError = 1.2 // of a difference of two readings, in 95 % of the cases
	oneError = 2   // the largest of a difference
)

// estimate is a time with its bounds, without the errors of readings.
type estimate struct {
	value, low, high float64
	square           float64 // of the errors of readings
}

// estimate subtracts the cost of pairs. Its error is that of n differences.
func (r *Realm) estimate(s sum, value float64, low, high, n uint32) estimate {
	e := sumError * float64(r.Step)
	return estimate{
		value:  float64(s.time) - value*float64(r.Pair.Value),
		low:    float64(s.time-s.less) - float64(high)*float64(r.Pair.High),
		high:   float64(s.time+s.more) - float64(low)*float64(r.Pair.Low),
		square: e * e * float64(n),
	}
}

// self estimates the self time. Each pair is partly in the function and partly in its caller.
func (r *Realm) self(s sum) estimate {
	value := float64(s.own+s.ownClosed+s.child+s.childClosed)/4 + float64(s.extra)/2
	low, high := min(s.ownClosed, s.childClosed), max(s.own, s.child)+s.extra
	return r.estimate(s, value, low, high, s.own+s.child)
}

// whole estimates the time of outermost calls. It has all pairs above, and a part of its own.
func (r *Realm) whole(s sum) estimate {
	return r.estimate(s, float64(s.own+s.child+s.childClosed)/2, s.childClosed, s.child+s.own, s.own)
}

func (e *estimate) add(o estimate) {
	e.value, e.low, e.high = e.value+o.value, e.low+o.low, e.high+o.high
	e.square += o.square
}

// span returns the bounds divided by n, within [0, limit].
func (e estimate) span(n float64, limit int64) Span {
	wrong := math.Sqrt(e.square)
	return limited(e.value/n, (e.low-wrong)/n, (e.high+wrong)/n, limit)
}

// total collects a function's times of all realms.
type total struct {
	Total
	self, whole, sum estimate
	// value, low and high of the shortest and the longest call
	min, max [3]float64
	lasted   [3]float64 // min, sum and max
}

// Totals returns the times of each function, longest self time first.
func (t *Trace) Totals() []Total {
	index := map[uint32]*total{}
	var all []*total
	for _, r := range t.Realms {
		local := make(map[uint32]*total, len(r.functions))
		for _, f := range r.functions {
			of := index[f.id]
			if of == nil {
				inf := math.Inf(1)
				of = &total{min: [3]float64{inf, inf, inf}, max: [3]float64{-inf, -inf, -inf},
					lasted: [3]float64{inf, 0, 0}}
				of.Function, index[f.id] = f.id, of
				all = append(all, of)
			}
			of.Calls += f.calls
			of.Open += f.open
			of.self.add(r.self(f.self))
			of.whole.add(r.whole(f.total))
			local[f.id] = of
		}
		r.each(local)
	}
	totals := make([]Total, 0, len(all))
	for _, of := range all {
		if of.Function == 0 { // begins of its calls are lost
			continue
		}
		totals = append(totals, of.result())
	}
	slices.SortStableFunc(totals, func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.Self.Value, a.Self.Value), cmp.Compare(a.Function, b.Function))
	})
	return totals
}

// each adds the times of each call.
func (r *Realm) each(totals map[uint32]*total) {
	less, more := r.doubtsOfCalls()
	var last *total // calls of a function often follow each other
	for i := range r.Calls {
		c := &r.Calls[i]
		if last == nil || last.Function != c.Function {
			last = totals[c.Function]
		}
		s := sum{time: c.Total,
			pairs: pairs{own: c.spans, child: c.begun, childClosed: c.closed}}
		if less != nil {
			s.less, s.more = less[int32(i)], more[int32(i)]
		}
		e := r.whole(s)
		last.sum.add(e)
		lasted := max(0, e.value+float64(max(c.End, r.callbacks[int32(i)])-c.Begin-c.Total))
		last.lasted[0], last.lasted[1], last.lasted[2] = min(last.lasted[0], lasted), last.lasted[1]+lasted,
			max(last.lasted[2], lasted)
		wrong := oneError * float64(r.Step) * math.Sqrt(float64(s.own))
		for k, x := range [3]float64{e.value, e.low - wrong, e.high + wrong} {
			last.min[k], last.max[k] = min(last.min[k], x), max(last.max[k], x)
		}
	}
}

// doubtsOfCalls returns the time by which the total of calls may be less or more.
func (r *Realm) doubtsOfCalls() (less, more map[int32]int64) {
	if len(r.doubts) == 0 {
		return nil, nil
	}
	less, more = map[int32]int64{}, map[int32]int64{}
	for _, d := range r.doubts {
		switch d.kind {
		case ranOn:
			less[d.call] += d.to - d.from
		case missing:
			more[d.call] += min(d.to, r.End) - d.from
		}
	}
	return less, more
}

func (of *total) result() Total {
	t := of.Total
	t.Self = of.self.span(1, never)
	t.Total = of.whole.span(1, never)
	t.Mean = of.sum.span(float64(max(1, t.Calls)), never)
	t.Min = limited(of.min[0], of.min[1], of.min[2], never)
	t.Max = limited(of.max[0], of.max[1], of.max[2], never)
	lasted := [3]float64{of.lasted[0], of.lasted[1] / float64(max(1, t.Calls)), of.lasted[2]}
	lasted[1] = max(lasted[0], min(lasted[1], lasted[2])) // despite rounding
	for i, x := range lasted {
		t.Lasted[i] = int64(math.Round(min(x, never)))
	}
	// The mean of many calls is known better than each call. The shortest is not above it.
	t.Min = Span{min(t.Min.Value, t.Mean.Value), min(t.Min.Low, t.Mean.Low), min(t.Min.High, t.Mean.High)}
	t.Max = Span{max(t.Max.Value, t.Mean.Value), max(t.Max.Low, t.Mean.Low), max(t.Max.High, t.Mean.High)}
	return t
}

// Tasks returns the tasks of all realms, in the order of their begins.
func (t *Trace) Tasks() []Task {
	var all []Task
	for i, r := range t.Realms {
		for _, s := range r.tasks {
			a := activity{realm: r}
			from, to := r.at[s.first], r.at[s.last]
			a.add(int(s.first), int(s.last), window{from, to}, window{from, to}, window{from, to})
			task := Task{Realm: i, Begin: from, End: to, Calls: int(s.calls)}
			if shares := a.shares(to - from); len(shares) > 0 {
				task.Function, task.Self = shares[0].Function, shares[0].Self
			}
			all = append(all, task)
		}
	}
	slices.SortStableFunc(all, func(a, b Task) int {
		return cmp.Compare(t.Realms[a.Realm].When(a.Begin).Mid(), t.Realms[b.Realm].When(b.Begin).Mid())
	})
	return all
}
