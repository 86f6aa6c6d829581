package changepoint

import (
	"cmp"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/stats"
)

// back and ahead are the numbers of values that Ranked compares.
const (
	back     = 24
	minAhead = 3
	maxAhead = 12
)

// screened is the distance from the middle, in standard deviations, below which p is not computed.
// No p below 0.001 is nearer to the middle: 6 of 12 equal values above 24 equal ones are at 2.4.
const screened = 2

// Ranked returns the places at which 3 to 12 values differ in rank from up to 24 before, in order.
// The p of the Mann-Whitney test is exact and below 0.001. Of places within 12 values it returns
// the furthest from the middle. Outliers and two modes do not change ranks much, so that it finds
// shifts that [Split] misses.
func Ranked(series []float64) ([]Change, error) {
	if err := check(series); err != nil {
		return nil, err
	}
	type place struct {
		index    int
		distance float64 // from the middle, in standard deviations without equal values
	}
	var places []place
	sides := func(i int) (before, after []float64) {
		return series[max(0, i-back):i], series[i:min(i+maxAhead, len(series))]
	}
	for i := minAhead; i+minAhead <= len(series); i++ {
		before, after := sides(i)
		n, m := float64(len(before)), float64(len(after))
		distance := math.Abs(float64(majority(before, after))) / math.Sqrt(n*m*(n+m+1)/3)
		if distance >= screened {
			places = append(places, place{i, distance})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.distance, a.distance) })
	var changes []Change
	taken := make([]bool, len(series))
	for _, c := range places {
		if taken[c.index] {
			continue
		}
		low, high := sides(c.index)
		if majority(low, high) < 0 {
			low, high = high, low
		}
		p := min(1, 2*stats.AboveExactly(low, high))
		if p >= level {
			continue
		}
		before, after := sides(c.index)
		changes = append(changes, Change{c.index, p, median(before), median(after)})
		for i := max(0, c.index-maxAhead); i <= min(c.index+maxAhead, len(series)-1); i++ {
			taken[i] = true
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return a.Index - b.Index })
	return changes, nil
}

// majority returns the number of pairs in which b is more, minus those in which it is less.
func majority(a, b []float64) (more int) {
	for _, x := range a {
		for _, y := range b {
			if y > x {
				more++
			} else if y < x {
				more--
			}
		}
	}
	return more
}
