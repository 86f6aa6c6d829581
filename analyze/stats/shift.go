package stats

import (
	"math"
	"slices"
)

// exactRuns is up to how many runs in each set the distribution of U is computed. Beyond, its
// normal approximation gives the same order statistics or their neighbours.
const exactRuns = 30

// shiftOf returns the Hodges-Lehmann estimate of how far b is above a, with its interval. The
// estimate is the median of all differences b − a. The interval is between the c-th smallest and
// the c-th largest of them. c is the maximum with P(U < c) ≤ alpha ÷ 2. U is Mann and Whitney's
// statistic of two equal distributions without equal values. The interval covers the shift of any
// continuous distribution with 1 − 2·P(U < c). It covers any other with at least that. Time and
// memory are proportional to the product of the sizes.
//
// Source: Hodges and Lehmann 1963; Lehmann 1963 for the interval.
func shiftOf(a, b []float64, alpha float64) Interval {
	return pairwise(a, b, alpha, func(a, b float64) float64 { return b - a },
		func(x, y float64) float64 { return x + (y-x)/2 })
}

// ratioOf returns the median of all ratios b ÷ a, where all values are above 0. It is shiftOf of
// the logarithms. ok is false where a value is 0 or below.
func ratioOf(a, b []float64, alpha float64) (ratio Interval, ok bool) {
	notPositive := func(v float64) bool { return v <= 0 }
	if slices.ContainsFunc(a, notPositive) || slices.ContainsFunc(b, notPositive) {
		return Interval{}, false
	}
	middle := func(x, y float64) float64 { return math.Sqrt(x) * math.Sqrt(y) }
	ratio = pairwise(a, b, alpha, func(a, b float64) float64 { return b / a }, middle)
	if !finite(ratio) { // of numbers at both ends of what a float64 holds
		return Interval{}, false
	}
	return ratio, len(a) > 0 && len(b) > 0
}

func finite(i Interval) bool {
	return !slices.ContainsFunc([]float64{i.Estimate, i.Low, i.High},
		func(v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) })
}

// pairwise returns the median of a function of all pairs between two of its order statistics.
// middle is that of two numbers.
func pairwise(a, b []float64, alpha float64, of, middle func(x, y float64) float64) Interval {
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, of(x, y))
		}
	}
	c, confidence := shiftOrder(len(a), len(b), alpha)
	return orderInterval(all, c, confidence, middle)
}

// orderInterval returns the median of numbers between the c-th from both ends; c is 0 without such.
func orderInterval(all []float64, c int, confidence float64, middle func(x, y float64) float64) Interval {
	n := len(all)
	if n == 0 {
		return Interval{}
	}
	slices.Sort(all)
	i := Interval{Estimate: all[n/2]}
	if n%2 == 0 && all[n/2-1] != all[n/2] {
		i.Estimate = middle(all[n/2-1], all[n/2])
	}
	if c > 0 {
		i.Low, i.High, i.Confidence, i.Exists = all[c-1], all[n-c], confidence, true
	}
	return i
}

// shiftOrder returns c and the confidence, at least 1 − alpha. The c-th order statistics from both
// ends bound the shift. c is 0 if none do.
func shiftOrder(n, m int, alpha float64) (c int, confidence float64) {
	if n <= exactRuns && m <= exactRuns {
		return exactOrder(uDistribution(n, m), alpha)
	}
	pairs := float64(n) * float64(m)
	return normalOrder(pairs, math.Sqrt(pairs*float64(n+m+1)/12), alpha)
}

// exactOrder returns the order by the chances of a statistic, from 0.
func exactOrder(chances []float64, alpha float64) (c int, confidence float64) {
	below := 0.0 // P(statistic < c)
	for c < len(chances) && below+chances[c] <= alpha/2 {
		below += chances[c]
		c++
	}
	return c, 1 - 2*below
}

// normalOrder returns the order by a normal approximation of a statistic from 0 to most.
func normalOrder(most, sigma, alpha float64) (c int, confidence float64) {
	c = int(max(0, math.Floor(most/2-normalQuantile(1-alpha/2)*sigma+0.5)))
	return c, math.Erf((most/2 - (float64(c) - 0.5)) / sigma / math.Sqrt2)
}

// uDistribution returns P(U = u) for u from 0 to the middle of its range, n·m ÷ 2. The sets have n
// and m runs without equal values. It uses Mann and Whitney's recurrence. With chance n ÷ (n+m),
// the highest of all is of the first set. It is then above all m of the second. Otherwise it is of
// the second and counts nothing.
func uDistribution(n, m int) []float64 {
	half := n*m/2 + 1
	rows := make([][]float64, n+1) // for 0…n runs in the first set; of the second so many as the loop has come to
	for i := range rows {
		rows[i] = make([]float64, half)
		rows[i][0] = 1
	}
	for j := 1; j <= m; j++ {
		for i := 1; i <= n; i++ {
			sum := float64(i + j)
			for u := half - 1; u >= 0; u-- {
				p := float64(j) * rows[i][u]
				if u >= j {
					p += float64(i) * rows[i-1][u-j]
				}
				rows[i][u] = p / sum
			}
		}
	}
	return rows[n]
}

// normalQuantile is where the standard normal distribution reaches p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
