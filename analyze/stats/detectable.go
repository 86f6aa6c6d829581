package stats

import (
	"cmp"
	"slices"
)

// Detectable reports for each difference whether these runs could have been Regressed,
// Improved or Different at all. It assigns all low values to A and all high ones to B, and judges
// that. Sets may be too small for the number of measures, or their values closer than the
// threshold. Then only Unchanged or Inconclusive is possible, and such a verdict shows nothing.
func Detectable(all []Difference) []bool {
	tested := 0
	for i := range all {
		if all[i].Tested {
			tested++
		}
	}
	able := make([]bool, len(all))
	for i := range all {
		if all[i].Tested {
			able[i] = all[i].furthestApart(tested).Found()
		}
	}
	return able
}

// Found says that the verdict is that the sets differ.
func (d *Difference) Found() bool {
	return d.Verdict == Regressed || d.Verdict == Improved || d.Verdict == Different
}

// furthestApart is the difference of the same values, dealt out as unevenly as possible: in blocks,
// the lower value of each is A's. tested is the number of tested measures, and its p is the
// smallest.
func (d *Difference) furthestApart(tested int) *Difference {
	if d.Test == SignedRank {
		p := Pair{d.Measure, slices.Clone(d.A), slices.Clone(d.B), true}
		for i := range p.A {
			if p.A[i].Value > p.B[i].Value {
				p.A[i], p.B[i] = p.B[i], p.A[i]
			}
		}
		return p.judged(tested, d.Alpha)
	}
	points := slices.SortedFunc(slices.Values(slices.Concat(d.A, d.B)),
		func(a, b Point) int { return cmp.Compare(a.Value, b.Value) })
	return Pair{d.Measure, points[:len(d.A)], points[len(d.A):], false}.judged(tested, d.Alpha)
}

func (p Pair) judged(tested int, alpha float64) *Difference {
	apart := describe(p, alpha)
	apart.AdjustedP = min(1, apart.P*float64(tested))
	apart.judge(tested)
	return &apart
}
