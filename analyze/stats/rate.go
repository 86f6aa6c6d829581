package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/combin"
)

// Rate returns how often something happens that was seen k times in n trials, with its interval:
// all chances under which as few, or as many, are not rarer than half of what confidence leaves. It
// holds at least the confidence, whatever the chance. Source: Clopper and Pearson 1934.
func Rate(k, n int, confidence float64) Interval {
	if n <= 0 || k < 0 || k > n {
		return Interval{}
	}
	tail := (1 - confidence) / 2
	i := Interval{Estimate: float64(k) / float64(n), Low: 0, High: 1, Confidence: confidence, Exists: true}
	if k > 0 {
		i.Low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), tail)
	}
	if k < n {
		i.High = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-tail)
	}
	return i
}

// MaxByChance returns the count that n trials do not exceed, with at least the confidence. Each
// trial hits with the given chance. It is the quantile of the binomial distribution.
func MaxByChance(n int, chance, confidence float64) int {
	for k := range n {
		if mathext.RegIncBeta(float64(n-k), float64(k+1), 1-chance) >= confidence { // P(at most k hit)
			return k
		}
	}
	return max(n, 0)
}

// Fisher returns the p of Fisher's exact test for k of n trials and l of m trials. It is two-sided:
// it adds all tables that are as likely or less. Source: Fisher 1935.
func Fisher(k, n, l, m int) (p float64) {
	if k < 0 || l < 0 || k > n || l > m {
		return 1
	}
	log := func(n, k int) float64 { return combin.LogGeneralizedBinomial(float64(n), float64(k)) }
	chance := func(i int) float64 { return math.Exp(log(n, i) + log(m, k+l-i) - log(n+m, k+l)) }
	seen := chance(k) * (1 + 1e-9)
	for i := max(0, k+l-m); i <= min(n, k+l); i++ {
		if c := chance(i); c <= seen {
			p += c
		}
	}
	return min(p, 1)
}
