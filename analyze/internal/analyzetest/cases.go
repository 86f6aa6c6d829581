// Package analyzetest has what tests of several packages of analyze need. Only tests import it.
package analyzetest

import "testing"

// Seeds is how many of n random cases are looked at: with -short, a tenth.
func Seeds[N int | uint64](n N) N {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}

// Some are the cases of a list that are looked at: with -short, the first third.
func Some[T any](list []T) []T {
	if testing.Short() {
		return list[:(len(list)+2)/3]
	}
	return list
}
