package main

import (
	"fmt"
	"math"
	"slices"
)

// spreadOf describes how far values lie apart.
type spreadOf struct {
	median, lower, upper, least, most float64 // lower and upper are the quartiles
	variation                         float64 // standard deviation ÷ |mean|
	hasVariation                      bool
}

// newSpread describes at least one value.
func newSpread(values []float64) (s spreadOf) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	s.least, s.most = sorted[0], sorted[n-1]
	s.lower, s.median, s.upper = quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)
	mean := 0.0
	for _, v := range sorted {
		mean += v / float64(n)
	}
	squares := 0.0
	for _, v := range sorted {
		squares += (v - mean) * (v - mean)
	}
	if n > 1 && mean != 0 {
		s.variation, s.hasVariation = math.Sqrt(squares/float64(n-1))/math.Abs(mean), true
	}
	return s
}

// quantile is the one that lies between two values in proportion. Source: Hyndman and Fan 1996,
// type 7.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// variationText is the standard deviation as a part of the mean.
func (s spreadOf) variationText() string {
	if !s.hasVariation {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*s.variation)
}
