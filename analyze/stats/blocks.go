package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactBlocks is up to how many blocks the distribution of the signed-rank statistic is computed.
// Beyond, it is a normal approximation.
const exactBlocks = 100

// signedRank returns the two-sided p of the signed-rank test that the differences are symmetric
// about 0. This holds for blocks in random order if the sets do not differ. Equal sizes have the
// mean of their ranks. Differences of 0 are ranked too, and then left out: they count for neither
// side, and others keep their ranks. The p is exact for these ranks: it counts all signs that the
// differences could have.
//
// Source: Wilcoxon 1945; Pratt 1959 for differences of 0.
func signedRank(differences []float64) float64 {
	r := ranksOf(differences)
	return min(1, 2*r.tail(min(r.positive, r.sum-r.positive)))
}

// ranks are those of the sizes of differences that are not 0.
type ranks struct {
	each          []int // doubled, so that all are whole
	positive, sum int   // of positive differences, and of all
	squares       float64
}

func ranksOf(differences []float64) (r ranks) {
	d := slices.Clone(differences)
	slices.SortFunc(d, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	for i := 0; i < len(d); {
		end := i + 1
		for end < len(d) && math.Abs(d[end])-math.Abs(d[i]) <= rounding*math.Abs(d[end]) {
			end++
		}
		rank := i + 1 + end
		for ; i < end; i++ {
			if d[i] == 0 {
				continue
			}
			r.each, r.sum, r.squares = append(r.each, rank), r.sum+rank, r.squares+float64(rank)*float64(rank)
			if d[i] > 0 {
				r.positive += rank
			}
		}
	}
	return r
}

// tail returns the chance that the ranks of one sign add up to at most a sum, if signs are fair.
func (r ranks) tail(most int) (p float64) {
	switch {
	case len(r.each) == 0:
		return 1
	case len(r.each) > exactBlocks:
		return math.Erfc((float64(r.sum)/2-float64(most)-1)/math.Sqrt(r.squares/2)) / 2
	}
	for _, chance := range signedRanks(r.each, most) {
		p += chance
	}
	return p
}

// signedRanks returns the chances of each sum up to most, if each rank counts with chance ½.
func signedRanks(ranks []int, most int) []float64 {
	chances := make([]float64, most+1)
	chances[0] = 1
	for _, r := range ranks {
		for s := most; s >= 0; s-- {
			if s >= r {
				chances[s] += chances[s-r]
			}
			chances[s] /= 2
		}
	}
	return chances
}

// centreOf returns the Hodges-Lehmann estimate of the centre of differences, with its interval. The
// estimate is the median of the means of all pairs, each with itself included. The interval is
// between the c-th smallest and the c-th largest mean. c is the maximum with P(W < c) ≤ alpha ÷ 2.
// W is the signed-rank statistic. It covers the centre of any continuous symmetric distribution
// with 1 − 2·P(W < c).
//
// Source: Hodges and Lehmann 1963; Tukey 1949 for the interval.
func centreOf(differences []float64, alpha float64) Interval {
	var means []float64
	for i, x := range differences {
		for _, y := range differences[i:] {
			means = append(means, x+(y-x)/2)
		}
	}
	c, confidence := centreOrder(len(differences), alpha)
	return orderInterval(means, c, confidence, func(x, y float64) float64 { return x + (y-x)/2 })
}

// centreOrder is shiftOrder for n differences.
func centreOrder(n int, alpha float64) (c int, confidence float64) {
	means := float64(n) * float64(n+1) / 2
	if n > exactBlocks {
		return normalOrder(means, math.Sqrt(means*float64(2*n+1)/12), alpha)
	}
	return exactOrder(signedRanks(upTo(n), int(means)/2), alpha)
}

func upTo(n int) (ranks []int) {
	for i := range n {
		ranks = append(ranks, i+1)
	}
	return ranks
}

// blockDifferences returns b − a of each block, and log b − log a where all values are above 0. The
// logarithms of b÷a and a÷b differ in sign only, so no set is preferred.
func blockDifferences(a, b []float64) (differences, logs []float64) {
	positive := slices.Min(a) > 0 && slices.Min(b) > 0
	for i := range a {
		differences = append(differences, b[i]-a[i])
		if positive {
			logs = append(logs, math.Log(b[i])-math.Log(a[i]))
		}
	}
	return differences, logs
}

// describeBlocks sets what depends on the pairs of runs.
func (d *Difference) describeBlocks(a, b []float64) {
	differences, logs := blockDifferences(a, b)
	d.Shift = centreOf(differences, d.Alpha)
	if ratio := centreOf(logs, d.Alpha); logs != nil {
		ratio.Estimate = math.Expm1(ratio.Estimate)
		if ratio.Exists {
			ratio.Low, ratio.High = math.Expm1(ratio.Low), math.Expm1(ratio.High)
		}
		d.Change, d.HasChange = ratio, finite(ratio)
	}
	if !d.HasChange {
		d.Change, d.HasChange = d.Shift.over(d.MedianA.Estimate)
	}
	if len(a) < FewestBlocks || d.oneValue() {
		return
	}
	if d.Tested = true; logs != nil {
		differences = logs
	}
	d.P = signedRank(differences)
}
