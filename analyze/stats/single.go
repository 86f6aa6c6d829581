package stats

import "github.com/eideticker/eideticker/analyze"

// bounds returns the minimum and maximum distance of one run from another, by the bounds of both.
// It also returns them as a fraction.
func bounds(a, b Point) (shift, change Interval, hasChange bool) {
	shift = Interval{Estimate: b.Value - a.Value, Low: b.Low - a.High, High: b.High - a.Low, Exists: true}
	if a.Low > 0 && b.Low > 0 {
		change = Interval{Estimate: b.Value/a.Value - 1, Low: b.Low/a.High - 1, High: b.High/a.Low - 1, Exists: true}
		return shift, change, true
	}
	change, hasChange = shift.over(a.Value)
	return shift, change, hasChange
}

// judgeByBounds judges one run against one. If no value satisfies both bounds and the threshold is
// reached, these two runs differ. The next two may not. So a measure that can pass or fail is
// Inconclusive, with the direction that was seen.
func (d *Difference) judgeByBounds() {
	a, b := d.A[0], d.B[0]
	apart := a.High < b.Low || b.High < a.Low
	switch {
	case apart && d.reaches(d.estimate()) && !d.Judged():
		d.Verdict = Different
	case d.within(d.interval()):
		d.Verdict = Unchanged
	default:
		d.Verdict = Inconclusive
		if apart && d.reaches(d.estimate()) {
			d.Direction = d.direction()
		}
		d.MoreA, d.MoreB = FewestRuns-1, FewestRuns-1
	}
}

// Judged says that the measure has a better direction, so that it can pass or fail.
func (d *Difference) Judged() bool {
	return d.Measure.Better == analyze.Lower || d.Measure.Better == analyze.Higher
}
