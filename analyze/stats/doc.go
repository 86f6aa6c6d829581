// Package stats reports whether two sets of runs differ, by how much, and with which confidence.
//
// It gets the values of measures, one of each run. It uses no files, and formats only a sentence.
//
// # Steps
//
//  1. A Sample holds every value of one set, in the order of its runs. Outliers and values of
//     repeated runs are kept.
//  2. Summarize returns the median with an interval that assumes no distribution: two order
//     statistics, by golang.org/x/perf/benchmath.
//  3. Compare judges a family of measures. Separate sets have the Mann-Whitney U test (by
//     benchmath) and a Hodges-Lehmann interval in units and as a ratio. Sets that were made in
//     blocks have the signed-rank test over blocks, with its own Hodges-Lehmann interval. Holm's
//     method corrects for the number of measures in the family. Describe judges no sets.
//  4. A Difference has a verdict: see Verdict.
//
// # Single runs
//
// One run against one run is not statistics, and is never Regressed or Improved. Their bounds still
// have information. Suppose that they cannot be one value and differ by at least the threshold.
// Then the sentence states the direction and the size. That is a fact about those two runs only. So
// the verdict is Inconclusive, with the number of further runs that would be enough.
//
// # Note: intervals that promise exactly 95 %
//
// An interval between two order statistics covers the median with a chance that has steps. Below 6
// runs it does not exist. It is 96.9 % with 6, 97.9 % with 10, 95.1 % with 16. Interpolating
// between the steps is closer to 95 %, but does not hold for every distribution. Frame times are
// quantised and have two peaks. So the steps stay, at least 95 % each, and Confidence has the exact
// value.
//
// The package keeps no state between calls, and does not change its arguments.
package stats
