package response

import (
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
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
func (l *latencies) add(r *measure.Result, asked int) {
	for _, s := range [][]float64{l.mid, l.low, l.unsureLow} {
		slices.Sort(s)
	}
	// The maximum is the minimum of the negated values.
	high, unsureHigh := measure.Negative(l.high), measure.Negative(l.unsureHigh)
	slices.Sort(high)
	slices.Sort(unsureHigh)
	add := func(name string, percent int) {
		low := measure.Least(l.low, l.unsureLow, func(n int) int { return nearestRank(percent, n) })
		high := -measure.Least(high, unsureHigh, func(n int) int { return n - 1 - nearestRank(percent, n) })
		r.Add(measure.Between(name, "ms", l.mid[nearestRank(percent, len(l.mid))], low, high, measure.Lower, 0.05))
	}
	add("latency_min", 0)
	add("latency_p50", 50)
	add("latency_p95", 95)
	if asked >= 100 {
		add("latency_p99", 99)
	} else {
		r.Warnf("%d pings %s a 99th percentile: that needs 100", asked, measure.TooFew)
	}
	add("latency_max", 100)
	r.Add(measure.Between("latency_mean", "ms", mean(l.mid), minMean(l.low, l.unsureLow), -minMean(high, unsureHigh),
		measure.Lower, 0.05))
}

// nearestRank is the index of a percentile among n sorted numbers.
func nearestRank(percent, n int) int { return max(0, (percent*n+99)/100-1) }

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
