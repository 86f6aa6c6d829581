package stats

import "math"

// MostRuns is how many runs a set may be asked to have.
const MostRuns = 1000

// runsWanted returns how many more runs of A and of B would make an Inconclusive difference one way
// or the other, if the runs to come are like those that are there: an estimate, not a promise.
// There must be enough of them
//
//   - for an interval of the median, FewestRuns;
//   - for the smallest p that so many runs can have, times the measures that are compared, to be
//     below Alpha;
//   - for the interval to shrink, by the square root of the number of runs, until it fits: within
//     the threshold, where the difference is below; else away from 0 at the level that Holm's
//     method leaves it at worst.
func (d *Difference) runsWanted(family int) (moreA, moreB int) {
	a, b := len(d.A), len(d.B)
	want := FewestRuns
	for smallestP(want, want)*float64(family) >= Alpha {
		want++
	}
	if d.Tested {
		// The interval's width goes with √(1/a + 1/b); scale is by how much that sum must shrink
		// for w to become gap.
		w, gap := d.widthAndGap(family)
		scale := math.Pow(w/gap, 2)
		runs := 2 * scale / (1/float64(a) + 1/float64(b))
		if !(runs <= MostRuns) { // also where gap is 0
			return 0, 0
		}
		want = max(want, int(math.Ceil(runs)), min(a, b)+1)
	}
	if want > MostRuns {
		return 0, 0
	}
	return max(0, want-a), max(0, want-b)
}

// widthAndGap returns how far the interval reaches from the estimate, and how far it may reach.
func (d *Difference) widthAndGap(family int) (w, gap float64) {
	i := d.interval()
	size := math.Abs(i.Estimate)
	if d.reaches(i.Estimate) {
		w = i.Estimate - i.Low
		if i.Estimate < 0 {
			w = i.High - i.Estimate
		}
		return w * normalQuantile(1-Alpha/2/float64(family)) / normalQuantile(1-Alpha/2), size
	}
	return max(i.High-i.Estimate, i.Estimate-i.Low), d.limit() - size
}
