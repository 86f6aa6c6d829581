// Package analyzetest has what tests of several packages of analyze need. Only tests import it.
package analyzetest

import (
	"os"
	"testing"
)

// Seeds returns how many of n random cases a test tries: a third, with -short a tenth, with
// EIDETICKER_SOAK all.
func Seeds[N int | uint64](n N) N {
	switch {
	case testing.Short():
		return max(1, n/10)
	case os.Getenv("EIDETICKER_SOAK") != "":
		return n
	}
	return max(1, n/3)
}

// Some are the cases of a list that are looked at: with -short, the first third.
func Some[T any](list []T) []T {
	if testing.Short() {
		return list[:(len(list)+2)/3]
	}
	return list
}
