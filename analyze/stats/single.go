package stats

import "github.com/eideticker/eideticker/analyze"

// bounds returns how far one run lies from another at least and at most, by the bounds of both, and the same as a fraction.
func bounds(a, b Point) (shift, change Interval, hasChange bool) {
	shift = Interval{Estimate: b.Value - a.Value, Low: b.Low - a.High, High: b.High - a.Low, Exists: true}
	if a.Low > 0 && b.Low > 0 {
		change = Interval{Estimate: b.Value/a.Value - 1, Low: b.Low/a.High - 1, High: b.High/a.Low - 1, Exists: true}
		return shift, change, true
	}
	change, hasChange = shift.over(a.Value)
	return shift, change, hasChange
}

// judgeByBounds judges one run against one: it is Different where no value satisfies both bounds and the threshold is reached.
func (d *Difference) judgeByBounds() {
	a, b := d.A[0], d.B[0]
	apart := a.High < b.Low || b.High < a.Low
	switch {
	case apart && d.reaches(d.estimate()):
		d.Verdict, d.Direction = Different, d.direction()
	case d.within(d.interval()):
		d.Verdict = Unchanged
	default:
		d.Verdict = Inconclusive
		d.MoreA, d.MoreB = FewestRuns-1, FewestRuns-1
	}
}

// Regression says that B is worse than A in what is known: Regressed, or single runs that are Different for the worse.
func (d *Difference) Regression() bool {
	return d.Verdict == Regressed || d.Verdict == Different && d.Direction == Worse
}

// Judged says that the measure has a better direction, so that it can pass or fail.
func (d *Difference) Judged() bool {
	return d.Measure.Better == analyze.Lower || d.Measure.Better == analyze.Higher
}
