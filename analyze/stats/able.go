package stats

import (
	"cmp"
	"slices"
)

// Able tells of each difference of a comparison whether these runs could have been called
// Regressed, Improved or Different at all: whether they would have been if all low values were in A
// and all high ones in B. Of sets that are too small for as many measures, or whose values all lie
// closer than the threshold, nothing else than Unchanged or Inconclusive can come, and that nothing
// else came shows nothing.
func Able(all []Difference) []bool {
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

// furthestApart is what the same values come to, dealt out as unevenly as they can be, with the
// smallest p of all that were tested.
func (d *Difference) furthestApart(tested int) *Difference {
	points := slices.SortedFunc(slices.Values(slices.Concat(d.A, d.B)),
		func(a, b Point) int { return cmp.Compare(a.Value, b.Value) })
	apart := describe(Pair{d.Measure, points[:len(d.A)], points[len(d.A):]})
	apart.AdjustedP = min(1, apart.P*float64(tested))
	apart.judge(tested)
	return &apart
}
