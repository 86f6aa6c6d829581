package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// Spread describes the spread of values.
type Spread struct {
	Median, Lower, Upper, Min, Max float64 // Lower and Upper are the quartiles
	Variation                      float64 // standard deviation ÷ |mean|; NaN: undefined
}

// NewSpread describes at least one value.
func NewSpread(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	s := Spread{Median: quantile(sorted, 0.5), Lower: quantile(sorted, 0.25), Upper: quantile(sorted, 0.75),
		Min: sorted[0], Max: sorted[n-1], Variation: math.NaN()}
	if mean, deviation := stat.MeanStdDev(sorted, nil); n > 1 && mean != 0 {
		s.Variation = deviation / math.Abs(mean)
	}
	return s
}

// quantile interpolates between two values. Source: Hyndman and Fan 1996, type 7.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Unexpected reports if a value is outside of the two-sided prediction interval of earlier ones at
// level 1-alpha: mean ± t·s·√(1+1/n). It is exact for normal values. See Hahn and Meeker,
// Statistical Intervals, 1991, chapter 4. It needs two earlier values.
func Unexpected(before []float64, now, alpha float64) bool {
	n := float64(len(before))
	mean, s := stat.MeanStdDev(before, nil)
	x := mathext.InvRegIncBeta((n-1)/2, 0.5, alpha)
	t := math.Sqrt((n - 1) * (1 - x) / x) // quantile of Student's t with n-1 degrees of freedom
	return math.Abs(now-mean) > t*s*math.Sqrt(1+1/n)
}
