package stats

import "math"

// MaxRuns is how many runs a set may be asked to have.
const MaxRuns = 1000

// runsWanted returns how many more runs of A and of B would decide an Inconclusive difference. It
// estimates, assuming that further runs are like the present ones. The number must be enough for:
//
//   - the test: see Test.Needed.
//   - the interval to shrink, by the square root of the number of runs, until it fits. If the
//     difference is below the threshold, it must be within the threshold. Otherwise it must exclude
//     0 at the worst level of Holm's method.
func (d *Difference) runsWanted(family int) (moreA, moreB int) {
	a, b := len(d.A), len(d.B)
	want := d.Test.Needed(family, d.Alpha)
	if d.Tested {
		// The interval's width goes with √(1/a + 1/b); scale is by how much that sum must shrink
		// for w to become gap.
		w, gap := d.widthAndGap(family)
		scale := math.Pow(w/gap, 2)
		runs := 2 * scale / (1/float64(a) + 1/float64(b))
		if !(runs <= MaxRuns) { // also where gap is 0
			return 0, 0
		}
		want = max(want, int(math.Ceil(runs)), min(a, b)+1)
	}
	if want > MaxRuns {
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
		return w * normalQuantile(1-d.Alpha/2/float64(family)) / normalQuantile(1-d.Alpha/2), size
	}
	return max(i.High-i.Estimate, i.Estimate-i.Low), d.limit() - size
}
