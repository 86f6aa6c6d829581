// Package stats says whether two sets of runs differ, by how much, and how sure that is.
//
// Place in the flow: behind the results of runs, before a table or a report. It is given the values
// that measures returned, one of each run; it knows no file, and prints nothing but a sentence.
//
// # Steps
//
//  1. A Sample holds every value of one set, in the order of its runs. None is dropped: not the odd
//     one out, and not one of a run that had to be begun again.
//  2. Summarize gives the median with an interval that assumes no distribution: two order
//     statistics, by golang.org/x/perf/benchmath.
//  3. Compare holds two sets against each other, measure by measure: Mann-Whitney U (by benchmath),
//     the size of the difference as a Hodges-Lehmann interval, in units and as a ratio, and Cliff's
//     delta. Holm's method then makes up for how many measures were looked at together.
//  4. A Difference has a verdict: see Verdict.
//
// # Single runs
//
// One run against one run is no statistics, and is never Regressed or Improved. Their bounds still
// tell something: where the two cannot be one value, and the difference is at least the threshold,
// it has a direction, and the sentence says by how much. That is a fact of those two runs; whether
// the next two would do the same it cannot say, so the verdict is Inconclusive, and how many more
// runs would do stands with it.
//
// # Note: intervals that promise exactly 95 %
//
// An interval between two order statistics covers the median with a chance that comes in steps:
// none below 6 runs, 96.9 % with 6, 97.9 % with 10, 95.1 % with 16. Interpolating between the steps
// comes nearer to 95 %, but no longer holds for every distribution, and frame times are quantised
// and have two peaks. So the steps stay, at least 95 % each, and Confidence says which.
//
// Nothing is kept between calls, and what is passed in is not changed.
package stats
