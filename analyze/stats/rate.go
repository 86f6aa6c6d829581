package stats

import "gonum.org/v1/gonum/mathext"

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

// MaxByChance returns the count that n trials do not exceed with at least the confidence, if each
// hits with the given chance. It is the quantile of the binomial distribution.
func MaxByChance(n int, chance, confidence float64) int {
	for k := range n {
		if mathext.RegIncBeta(float64(n-k), float64(k+1), 1-chance) >= confidence { // P(at most k hit)
			return k
		}
	}
	return max(n, 0)
}
