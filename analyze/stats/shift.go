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
// the c-th largest of them. c is the maximum with P(U < c) ≤ 2.5 %. U is Mann and Whitney's
// statistic of two equal distributions without equal values. The interval covers the shift of any
// continuous distribution with 1 − 2·P(U < c), and of any other with at least that. Time and memory
// are proportional to the product of the sizes.
//
// Source: Hodges and Lehmann 1963; Lehmann 1963 for the interval.
func shiftOf(a, b []float64) Interval {
	return pairwise(a, b, func(a, b float64) float64 { return b - a },
		func(x, y float64) float64 { return x + (y-x)/2 })
}

// ratioOf returns the median of all ratios b ÷ a, where all values are above 0. It is shiftOf of
// the logarithms. ok is false where a value is 0 or below.
func ratioOf(a, b []float64) (ratio Interval, ok bool) {
	notPositive := func(v float64) bool { return v <= 0 }
	if slices.ContainsFunc(a, notPositive) || slices.ContainsFunc(b, notPositive) {
		return Interval{}, false
	}
	middle := func(x, y float64) float64 { return math.Sqrt(x) * math.Sqrt(y) }
	ratio = pairwise(a, b, func(a, b float64) float64 { return b / a }, middle)
	for _, v := range []float64{ratio.Estimate, ratio.Low, ratio.High} {
		if math.IsInf(v, 0) || math.IsNaN(v) { // of numbers at both ends of what a float64 holds
			return Interval{}, false
		}
	}
	return ratio, len(a) > 0 && len(b) > 0
}

// pairwise returns the median of a function of all pairs between two of its order statistics.
// middle is that of two numbers.
func pairwise(a, b []float64, of, middle func(x, y float64) float64) Interval {
	if len(a) == 0 || len(b) == 0 {
		return Interval{}
	}
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, of(x, y))
		}
	}
	slices.Sort(all)
	n := len(all)
	i := Interval{Estimate: all[n/2]}
	if n%2 == 0 && all[n/2-1] != all[n/2] {
		i.Estimate = middle(all[n/2-1], all[n/2])
	}
	if c, confidence := shiftOrder(len(a), len(b)); c > 0 {
		i.Low, i.High, i.Confidence, i.Exists = all[c-1], all[n-c], confidence, true
	}
	return i
}

// shiftOrder returns c and the confidence: the c-th order statistics from both ends bound the
// shift. c is 0 if none do.
func shiftOrder(n, m int) (c int, confidence float64) {
	tail := (1 - Level) / 2
	if n <= exactRuns && m <= exactRuns {
		below := 0.0 // P(U < c)
		for _, p := range uDistribution(n, m) {
			if below+p > tail {
				break
			}
			below += p
			c++
		}
		return c, 1 - 2*below
	}
	pairs := float64(n) * float64(m)
	sigma := math.Sqrt(pairs * float64(n+m+1) / 12)
	c = int(max(0, math.Floor(pairs/2-normalQuantile(1-tail)*sigma+0.5)))
	return c, math.Erf((pairs/2 - (float64(c) - 0.5)) / sigma / math.Sqrt2)
}

// uDistribution returns P(U = u) for u from 0 to the middle of its range, n·m ÷ 2. The sets have n
// and m runs without equal values. It uses Mann and Whitney's recurrence. The highest of all is of
// the first set, and above all m of the second, with chance n ÷ (n+m). Otherwise it is of the
// second and counts nothing.
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
