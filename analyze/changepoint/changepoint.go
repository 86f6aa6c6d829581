// Package changepoint finds the places at which the level of a series changes. Two detectors run
// over the values of builds: [Split] compares means in windows, and [Ranked] compares ranks around
// each value. Both may be wrong, so a change is a candidate until fresh runs confirm it: see
// Confirmation of package stats.
package changepoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// MaxValues limits the length of a series.
const MaxValues = 100_000

// maxSize limits values, so that squares of sums stay finite.
const maxSize = 1e100

// level is the p below which both detectors report a change.
const level = 0.001

// Change is a place at which the level of a series changes.
type Change struct {
	Index         int     // of the first value after the change
	P             float64 // of its detector
	Before, After float64 // medians of at most a window on each side
}

// Shift is After − Before.
func (c Change) Shift() float64 { return c.After - c.Before }

// Detect returns the changes that either detector finds, the strongest first. These are those of
// the smallest p, and of equal ones those of the largest shift. Shifts below the threshold are left
// out. Of both detectors' changes in one direction within 12 values only Split's is returned.
func Detect(series []float64, threshold float64) ([]Change, error) {
	changes, err := Split(series, SplitOptions{})
	if err != nil {
		return nil, err
	}
	ranked, err := Ranked(series)
	if err != nil {
		return nil, err
	}
	for _, r := range ranked {
		same := func(c Change) bool {
			return max(c.Index-r.Index, r.Index-c.Index) <= maxAhead && (c.Shift() > 0) == (r.Shift() > 0)
		}
		if !slices.ContainsFunc(changes, same) {
			changes = append(changes, r)
		}
	}
	changes = slices.DeleteFunc(changes, func(c Change) bool { return !(math.Abs(c.Shift()) >= threshold) })
	slices.SortFunc(changes, stronger)
	return changes, nil
}

// stronger orders by p, then by shift, then by place.
func stronger(a, b Change) int {
	return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(math.Abs(b.Shift()), math.Abs(a.Shift())),
		cmp.Compare(a.Index, b.Index))
}

// check rejects values that cannot be compared.
func check(series []float64) error {
	if len(series) > MaxValues {
		return fmt.Errorf("changepoint series: %d values, at most %d are possible", len(series), MaxValues)
	}
	for i, v := range series {
		if !(math.Abs(v) <= maxSize) {
			return fmt.Errorf("changepoint series: value %d is %v; leave out builds without a value", i, v)
		}
	}
	return nil
}

// median returns that of values, which it does not change.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return s[n/2-1] + (s[n/2]-s[n/2-1])/2
	}
	return s[len(s)/2]
}
