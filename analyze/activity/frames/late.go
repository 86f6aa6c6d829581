package frames

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
)

// Sizes of the test of late frames.
const (
	testedFunctions = 100
	shuffles        = 10_000
	resamples       = 10_000
	testedFrames    = 20_000
	minLate         = 5
	seed            = 1
)

// Test compares a function's share of frame time in late frames and in others. The time is that
// with the function on the stack of a thread on a CPU, of all threads together.
type Test struct {
	Group  int32
	P      float64        // after Holm's correction
	LateNS stats.Interval // mean of late frames
	Other  float64        // mean of others
	Frame  float64        // mean length of late frames
	Frames int            // late ones
	order  float64        // of functions with one p
}

// Comparison is the result of all tests.
type Comparison struct {
	Tests       []Test // least p first
	Late, Other int    // compared frames; Late has those of gaps too, if there are too few
	Gaps        int    // frames with lost records, which are left out
}

// weight is the time of a function within the spans, and a sum over the pieces of its time. Equal
// sums are those of functions that were always on the stack together.
type weight struct {
	total, self int64
	sum         uint64
}

// Compare compares late frames with others in the windows that have both. Windows without late
// frames do not take part. Neither do frames beyond the first 20,000, and those with lost records.
// Without any late frame it counts all frames.
//
// The tested functions are those with the most time in these frames. Of functions that were always
// on the stack together, only that with the most self time takes part. Functions with one p are in
// the order of their share of late frames beyond that of others. Self time counts twice. Callers
// that run in all frames count less.
func (s *Source) Compare(windows [][]result.FrameSpan) (*Comparison, error) {
	var l stats.Labelled
	var lengths []float64
	var within []Spans
	c := &Comparison{}
	if err := s.findGaps(); err != nil {
		return nil, err
	}
	lost := 0 // late frames in gaps
	for w, all := range windows {
		all = slices.DeleteFunc(slices.Clone(all), func(f result.FrameSpan) bool { return f.Response })
		all = all[:min(len(all), testedFrames-len(l.Chosen))]
		if !slices.ContainsFunc(all, func(f result.FrameSpan) bool { return f.Long }) {
			continue
		}
		var at Spans
		for i, span := range s.Spans(all) {
			f := all[i]
			if !s.recorded(span) {
				if c.Gaps++; f.Long {
					lost++
				}
				continue
			}
			span.Row = len(l.Chosen)
			at = append(at, span)
			l.Chosen, l.Strata = append(l.Chosen, f.Long), append(l.Strata, w)
			lengths = append(lengths, float64(f.ToNS-f.FromNS))
			if f.Long {
				c.Late++
			} else {
				c.Other++
			}
		}
		within = append(within, at)
	}
	if len(within) == 0 { // without late frames
		for _, f := range slices.Concat(windows...) {
			if !f.Response {
				c.Other++
			}
		}
	}
	if c.Late < minLate || c.Other < minLate {
		c.Late += lost
		return c, nil
	}
	all := make([]weight, len(s.named))
	mark := uint64(0)
	err := s.Each(within, func(p *Part) {
		mark += 0x9e3779b97f4a7c15
		all[p.Path[0]].self += p.CPU
		s.once(p.Path, func(g int32, _ int) {
			all[g].total += p.CPU
			all[g].sum += mark * (mark>>32 | 1)
		})
	})
	if err != nil {
		return nil, err
	}
	chosen := choose(all, func(g int, w weight) bool { return describes(s.Group(int32(g)), w.self, w.total) })
	column := make([]int, len(s.named))
	for i, g := range chosen {
		column[g] = i + 1
	}
	l.Rows = make([][]float32, len(l.Chosen))
	selfs := make([][]float32, len(l.Chosen))
	for i := range l.Rows {
		l.Rows[i], selfs[i] = make([]float32, len(chosen)), make([]float32, len(chosen))
	}
	err = s.Each(within, func(p *Part) {
		share := float32(float64(p.CPU) / lengths[p.Row])
		if k := column[p.Path[0]]; k > 0 {
			selfs[p.Row][k-1] += share
		}
		s.once(p.Path, func(g int32, _ int) {
			if k := column[g]; k > 0 {
				l.Rows[p.Row][k-1] += share
			}
		})
	})
	if err != nil {
		return nil, err
	}
	p := stats.Holm(l.Above(shuffles, seed))
	for i, g := range chosen {
		t := Test{Group: g, P: p[i], Frames: c.Late}
		share, more, self := 0.0, 0.0, 0.0 // of late frames; how much more than in others
		for row, late := range l.Chosen {
			total, own := float64(l.Rows[row][i]), float64(selfs[row][i])
			if late {
				t.Frame += lengths[row] / float64(c.Late)
				share += total / float64(c.Late)
				more, self = more+total/float64(c.Late), self+own/float64(c.Late)
			} else {
				t.Other += total * lengths[row] / float64(c.Other)
				more, self = more-total/float64(c.Other), self-own/float64(c.Other)
			}
		}
		if share > 0 {
			t.order = more / share * (more + self)
		}
		c.Tests = append(c.Tests, t)
	}
	slices.SortStableFunc(c.Tests, func(a, b Test) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.order, a.order))
	})
	c.Tests = c.Tests[:min(len(c.Tests), result.MaxTests)]
	for i := range c.Tests {
		t := &c.Tests[i]
		var times []float64
		k := column[t.Group] - 1
		for row, late := range l.Chosen {
			if late {
				times = append(times, float64(l.Rows[row][k])*lengths[row])
			}
		}
		t.LateNS = stats.BootstrapMean(times, resamples, seed)
	}
	return c, nil
}

// choose returns the functions with the most time, longest first. Those whose names do not describe
// their time take no part.
func choose(all []weight, describes func(int, weight) bool) (chosen []int32) {
	best := map[uint64]int32{}
	for g, w := range all {
		if !describes(g, w) {
			continue
		}
		if had, ok := best[w.sum]; w.total > 0 && (!ok || all[had].self < w.self) {
			best[w.sum] = int32(g)
		}
	}
	for _, g := range best {
		chosen = append(chosen, g)
	}
	slices.SortFunc(chosen, func(a, b int32) int {
		return cmp.Or(cmp.Compare(all[b].total, all[a].total), cmp.Compare(a, b))
	})
	return chosen[:min(len(chosen), testedFunctions)]
}
