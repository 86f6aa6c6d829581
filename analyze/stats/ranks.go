package stats

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat/combin"
)

// mannWhitney returns the two-sided p of the Mann-Whitney U test that both sets come from one
// distribution. It is exact up to 50 runs each, or 25 with equal values. Beyond, it is a normal
// approximation. Sets of a single value, and empty ones, have 1.
//
// Source: Mann and Whitney 1947, and Klotz 1966 for equal values, as in
// golang.org/x/perf/benchmath. Benchmath doubles the lower tail of its first sample. With equal
// values and sets of two sizes the distribution is not symmetric. That is the wrong tail if the
// first sample is the higher one. So the lower one is passed first.
func mannWhitney(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	if more, less := dominance(a, b); more < less {
		a, b = b, a
	}
	one, two := benchmath.NewSample(slices.Clone(a), thresholds()), benchmath.NewSample(slices.Clone(b), thresholds())
	return min(1, benchmath.AssumeNothing.Compare(one, two).P) // doubled tails add up to more than 1 around the centre
}

// Above returns the one-sided p of the Mann-Whitney U test that values of b are above those of a.
// It is 1 if they are not above. A p below 0.05 is exact up to 100 values on one side and 1,000 in
// all. The normal approximation is wrong there, by any factor, for equal values and unequal sizes.
func Above(a, b []float64) float64 {
	if more, less := dominance(a, b); more <= less {
		return 1
	}
	if p := mannWhitney(a, b) / 2; p > 0.05 || min(len(a), len(b)) > 100 || len(a)+len(b) > 1000 {
		return p
	}
	return AboveExactly(a, b)
}

// AboveExactly is the exact p of [Above], of any size: P(U ≥ that of b above a). Time and memory
// grow with the sum of ranks times the size of the smaller side, so keep that small.
func AboveExactly(a, b []float64) float64 {
	n, size := len(a), len(a)+len(b)
	values := slices.Concat(a, b)
	sorted := slices.Sorted(slices.Values(values))
	ranks, sum := make([]int, size), 0 // doubled, so that equal values have whole ones
	for i, v := range values {
		first, _ := slices.BinarySearch(sorted, v)
		after, _ := slices.BinarySearchFunc(sorted, v, func(x, v float64) int { return cmp.Or(cmp.Compare(x, v), -1) })
		if ranks[i] = first + after + 1; 2*n > size { // b is smaller, and its ranks count from above
			ranks[i] = 2*(size+1) - ranks[i]
		}
		if i < n == (2*n <= size) {
			sum += ranks[i]
		}
	}
	if !slices.ContainsFunc(ranks, func(r int) bool { return r%2 != 0 }) {
		for i := range ranks {
			ranks[i] /= 2
		}
		sum /= 2
	}
	return lowerTail(ranks, min(n, size-n), sum)
}

// lowerTail returns the chance that n of the ranks, drawn without replacement, have at most a sum.
// It sorts the ranks.
func lowerTail(ranks []int, n, sum int) (p float64) {
	slices.Sort(ranks)
	first := make([]int, len(ranks)+1) // sums of the smallest ranks
	for i, rank := range ranks {
		first[i+1] = first[i] + rank
	}
	ways := make([][]float64, n+1) // by the number of drawn ranks and their sum
	for k := range ways {
		ways[k] = make([]float64, sum+1)
	}
	ways[0][0] = 1
	for i, rank := range ranks {
		for k := min(i+1, n); k > 0 && n-k < len(ranks)-i; k-- {
			// At least the k-1 smallest ranks come before this one, and the n-k next ones after it.
			from, to := ways[k-1], ways[k]
			for s := first[k-1] + rank; s <= sum-first[i+1+n-k]+first[i+1]; s++ {
				to[s] += from[s-rank]
			}
		}
	}
	for _, w := range ways[n] {
		p += w
	}
	return min(1, p/math.Exp(combin.LogGeneralizedBinomial(float64(len(ranks)), float64(n))))
}

// cliffsDelta returns (#(b > a) − #(b < a)) ÷ (n·m) over all pairs: 1 where every b is above every
// a, -1 where below, 0 where neither tends to be. Source: Cliff 1993.
func cliffsDelta(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	more, less := dominance(a, b)
	return float64(more-less) / float64(len(a)*len(b))
}

// dominance counts the pairs in which b is more than a, and less.
func dominance(a, b []float64) (more, less int) {
	sorted := slices.Sorted(slices.Values(a))
	for _, v := range b {
		below, _ := slices.BinarySearch(sorted, v)
		notAbove, _ := slices.BinarySearchFunc(sorted, v,
			func(x, v float64) int { return cmp.Or(cmp.Compare(x, v), -1) })
		more += below
		less += len(sorted) - notAbove
	}
	return more, less
}

// Holm returns the p values adjusted for testing them together, in their order. The i-th smallest
// of m, counted from 0, is multiplied with m − i. It is at least the adjusted smaller one, and at
// most 1. Source: Holm 1979. It does not assume independence, and measures of one recording are not
// independent.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted := make([]float64, len(p))
	least := 0.0
	for i, at := range order {
		least = max(least, min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = least
	}
	return adjusted
}

// smallestP is the smallest p that sets of n and m runs can have: all of one above all of the
// other, 2 ÷ C(n+m, n).
func smallestP(n, m int) float64 {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return 2 * math.Exp(lgamma(n)+lgamma(m)-lgamma(n+m))
}
