package measure

import "sort"

// Negative returns the negated numbers.
func Negative(s []float64) []float64 {
	n := make([]float64, len(s))
	for i, x := range s {
		n[i] = -x
	}
	return n
}

// Least returns the smallest possible number at a percentile's place among all of sure and any of
// more, both sorted. Each further small number lowers it until they are no longer smaller.
func Least(sure, more []float64, place func(n int) int) float64 {
	taken := 0
	if len(sure) == 0 {
		taken = 1 // a percentile is of something
	}
	x := ranked(sure, more[:taken], place(len(sure)+taken))
	for ; taken < len(more) && more[taken] <= x; taken++ {
		x = min(x, ranked(sure, more[:taken+1], place(len(sure)+taken+1)))
	}
	return x
}

// ranked returns number k of two sorted lists together, counted from 0.
func ranked(a, b []float64, k int) float64 {
	// As many of a as stand before it.
	i := max(0, k-len(b))
	i += sort.Search(min(k, len(a))-i, func(d int) bool { return a[i+d] >= b[k-i-d-1] })
	j := k - i
	if j == len(b) || i < len(a) && a[i] <= b[j] {
		return a[i]
	}
	return b[j]
}
