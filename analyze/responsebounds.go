package analyze

import (
	"fmt"
	"slices"
	"sort"
)

// latencies are the answers to some pings.
type latencies struct {
	mid       []float64 // of all that seem answered
	low, high []float64 // bounds of those that are answered for certain
	// Bounds of those that may be answered or not.
	unsureLow, unsureHigh []float64
}

func (l *latencies) unsure(low, high float64) {
	l.unsureLow, l.unsureHigh = append(l.unsureLow, low), append(l.unsureHigh, high)
}

// add adds the distribution of the latencies to a result, of so many pings.
func (l *latencies) add(r *Result, asked int) {
	for _, s := range [][]float64{l.mid, l.low, l.unsureLow} {
		slices.Sort(s)
	}
	// The maximum is the minimum of the negated values.
	high, unsureHigh := negative(l.high), negative(l.unsureHigh)
	slices.Sort(high)
	slices.Sort(unsureHigh)
	add := func(name string, percent int) {
		low := least(l.low, l.unsureLow, func(n int) int { return nearestRank(percent, n) })
		high := -least(high, unsureHigh, func(n int) int { return n - 1 - nearestRank(percent, n) })
		r.Values = append(r.Values, between(name, "ms", l.mid[nearestRank(percent, len(l.mid))], low, high, Lower,
			0.05))
	}
	add("latency_min", 0)
	add("latency_p50", 50)
	add("latency_p95", 95)
	if asked >= 100 {
		add("latency_p99", 99)
	} else {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d pings are too few for a 99th percentile: that needs 100",
			asked))
	}
	add("latency_max", 100)
	r.Values = append(r.Values, between("latency_mean", "ms", mean(l.mid), minMean(l.low, l.unsureLow),
		-minMean(high, unsureHigh), Lower, 0.05))
}

// nearestRank is the index of a percentile among n sorted numbers.
func nearestRank(percent, n int) int { return max(0, (percent*n+99)/100-1) }

func negative(s []float64) []float64 {
	n := make([]float64, len(s))
	for i, x := range s {
		n[i] = -x
	}
	return n
}

// least returns the smallest possible number at a percentile's place among all of sure and any of
// more, both sorted. Each further small number lowers it until they are no longer smaller.
func least(sure, more []float64, place func(n int) int) float64 {
	taken := 0
	if len(sure) == 0 {
		taken = 1 // a percentile is of something
	}
	x := ranked(sure, more[:taken], place(len(sure)+taken))
	for ; taken < len(more) && more[taken] <= x; taken++ {
		x = min(x, ranked(sure, more[:taken+1], place(len(sure)+taken+1)))
	}
	return x
}

// ranked returns number k of two sorted lists together, counted from 0.
func ranked(a, b []float64, k int) float64 {
	// As many of a as stand before it.
	i := max(0, k-len(b))
	i += sort.Search(min(k, len(a))-i, func(d int) bool { return a[i+d] >= b[k-i-d-1] })
	j := k - i
	if j == len(b) || i < len(a) && a[i] <= b[j] {
		return a[i]
	}
	return b[j]
}

func mean(s []float64) float64 {
	sum := 0.0
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

// minMean returns the smallest mean of all of sure and any of more, both sorted.
func minMean(sure, more []float64) float64 {
	if len(sure) == 0 {
		return more[0]
	}
	sum, n := mean(sure)*float64(len(sure)), float64(len(sure))
	for _, x := range more {
		if x >= sum/n {
			break
		}
		sum, n = sum+x, n+1
	}
	return sum / n
}
