package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze"
)

// Verdict is what a comparison comes to.
type Verdict string

const (
	// Regressed: Holm-adjusted p below the family's level, and the difference at least the measure's
	// threshold, in the worse direction.
	Regressed Verdict = "regressed"
	// Improved: the same in the better direction.
	Improved Verdict = "improved"
	// Different is the same for a measure without a better direction. It also applies to single
	// runs of such a measure. Their bounds must not overlap, and their values must differ by at
	// least the threshold.
	Different Verdict = "different"
	// Unchanged: the interval of the difference, or for single runs all that the bounds allow, lies
	// within the threshold; or all runs of both sets have one value.
	Unchanged Verdict = "unchanged"
	// Inconclusive: none of these. Of sets with fewer than FewestRuns nothing else can be said
	// unless all runs have one value; single runs whose bounds do not overlap have a direction with
	// it.
	Inconclusive Verdict = "inconclusive"
	// Untested is that of sets in a measure that [Describe] describes, unless all runs have one
	// value.
	Untested Verdict = "untested"
)

// Test is the way in which a measure is judged.
type Test string

const (
	// Bounds compares one run with one, without statistics.
	Bounds Test = "bounds"
	// MannWhitney compares sets whose runs are not paired.
	MannWhitney Test = "mann-whitney"
	// SignedRank compares the runs of blocks.
	SignedRank Test = "signed-rank"
)

// Needed returns the min number of runs of each set, or of blocks, for a verdict in a family. The
// smallest possible p, times the number of measures, is then below alpha. At Alpha, 6 runs
// of each set are enough for 3 measures, or 8 blocks.
func (t Test) Needed(measures int, alpha float64) int {
	n := map[Test]int{MannWhitney: FewestRuns, SignedRank: FewestBlocks}[t]
	for t != Bounds && t.smallestP(n)*float64(measures) >= alpha {
		n++
	}
	return n
}

// smallestP is the smallest p with n runs of each set, or n blocks: all runs of one are above all
// of the other, or above their partners.
func (t Test) smallestP(n int) float64 {
	if t == SignedRank {
		return math.Ldexp(2, -n)
	}
	return smallestP(n, n)
}

// Direction says for whom a difference is.
type Direction string

const (
	worse  Direction = "worse"
	better Direction = "better"
)

// Pair is one measure in both sets; A is the base.
type Pair struct {
	Measure Measure
	A, B    Sample
	Blocks  bool // the runs of one place in A and B are of one block, so there are as many of both
}

// Difference is the result of B against A in one measure.
type Difference struct {
	Measure Measure
	A, B    Sample
	Test    Test
	Alpha   float64 // level of the family; 1 − Alpha is the confidence of Shift and Change
	// MedianA and MedianB are in the measure's unit. Single runs have their own bounds instead of
	// an interval: Exists is false then.
	MedianA, MedianB Interval
	// Shift is B − A, in the measure's unit; for single runs within their bounds, with no
	// confidence.
	Shift Interval
	// Change is B ÷ A − 1. Where a value is 0 or below, it is Shift ÷ |median of A|. HasChange is
	// false where that is 0.
	Change    Interval
	HasChange bool
	Delta     float64 // Cliff's: cliffsDelta
	// P is that of Test, and AdjustedP is P after Holm's method. A measure with too few runs,
	// or one value in all runs, takes no part. Tested is then false, and both are 1.
	P, AdjustedP float64
	Tested       bool
	Verdict      Verdict
	// of a Regressed or Improved measure, or seen in single runs; empty without a direction
	Direction Direction
	// MoreA and MoreB are how many more runs would do where the verdict is Inconclusive: see
	// runsWanted. Both are 0 where no number up to MaxRuns would, and at least one is not
	// otherwise.
	MoreA, MoreB int
}

// single says that one run is compared with one.
func (d *Difference) single() bool { return len(d.A) == 1 && len(d.B) == 1 }

// Compare compares B with A in the measures of a family, which share the level alpha by Holm's
// method. A measure with one value in all runs cannot have a p below 1, so it takes no part. Time
// and memory are proportional to the product of the sets' sizes.
func Compare(pairs []Pair, alpha float64) ([]Difference, error) {
	all, err := describeAll(pairs, alpha)
	if err != nil {
		return nil, err
	}
	adjust(all)
	family := testable(all)
	for i := range all {
		if !all[i].single() {
			all[i].judge(family)
		}
	}
	return all, nil
}

// Describe states how far B is from A, and judges single runs only.
func Describe(pairs []Pair) ([]Difference, error) {
	all, err := describeAll(pairs, Alpha)
	for i := range all {
		d := &all[i]
		if d.single() {
			continue
		}
		if d.Test, d.Tested, d.P, d.Verdict = "", false, 1, Untested; d.oneValue() {
			d.Verdict = Unchanged
		}
	}
	return all, err
}

// describeAll leaves sets without a verdict.
func describeAll(pairs []Pair, alpha float64) ([]Difference, error) {
	all := make([]Difference, len(pairs))
	for i, p := range pairs {
		if len(p.A) == 0 || len(p.B) == 0 {
			return nil, fmt.Errorf("compare %s: %d and %d runs have it, want at least one each", p.Measure.Name,
				len(p.A), len(p.B))
		}
		if p.Blocks && len(p.A) != len(p.B) {
			return nil, fmt.Errorf("compare %s: blocks have %d and %d runs", p.Measure.Name, len(p.A), len(p.B))
		}
		for _, s := range []Sample{p.A, p.B} {
			if err := s.check(); err != nil {
				return nil, fmt.Errorf("compare %s: %w", p.Measure.Name, err)
			}
		}
		if all[i] = describe(p, alpha); all[i].single() {
			all[i].judgeByBounds()
		}
	}
	return all, nil
}

// testable counts what would take part in Holm's method if there were enough runs of all.
func testable(all []Difference) (n int) {
	for i := range all {
		if !all[i].single() && !all[i].oneValue() {
			n++
		}
	}
	return n
}

func describe(p Pair, alpha float64) Difference {
	a, b := p.A.Values(), p.B.Values()
	d := Difference{
		Measure: p.Measure, A: p.A, B: p.B, MedianA: Summarize(a), MedianB: Summarize(b),
		Delta: cliffsDelta(a, b), P: 1, AdjustedP: 1, Test: MannWhitney, Alpha: alpha,
	}
	switch {
	case d.single():
		d.Test = Bounds
		d.Shift, d.Change, d.HasChange = bounds(p.A[0], p.B[0])
		return d
	case p.Blocks:
		d.Test = SignedRank
		d.describeBlocks(a, b)
		return d
	}
	d.Shift = shiftOf(a, b, alpha)
	if ratio, ok := ratioOf(a, b, alpha); ok {
		ratio.Estimate, ratio.Low, ratio.High = ratio.Estimate-1, ratio.Low-1, ratio.High-1
		if !ratio.Exists {
			ratio.Low, ratio.High = 0, 0
		}
		d.Change, d.HasChange = ratio, true
	} else {
		d.Change, d.HasChange = d.Shift.over(d.MedianA.Estimate)
	}
	if len(a) >= FewestRuns && len(b) >= FewestRuns && !d.oneValue() {
		d.P, d.Tested = mannWhitney(a, b), true
	}
	return d
}

// over returns the interval as a fraction of a base.
func (i Interval) over(base float64) (Interval, bool) {
	base = math.Abs(base)
	i.Estimate, i.Low, i.High = i.Estimate/base, i.Low/base, i.High/base
	if !finite(i) {
		return Interval{}, false
	}
	return i, true
}

// adjust sets AdjustedP of all that were tested.
func adjust(all []Difference) {
	var p []float64
	for _, d := range all {
		if d.Tested {
			p = append(p, d.P)
		}
	}
	adjusted := Holm(p)
	for i := range all {
		if all[i].Tested {
			all[i].AdjustedP, adjusted = adjusted[0], adjusted[1:]
		}
	}
}

// oneValue says that all runs of both sets agree.
func (d *Difference) oneValue() bool {
	first := d.A[0].Value
	other := func(p Point) bool { return p.Value != first }
	return !slices.ContainsFunc(d.A, other) && !slices.ContainsFunc(d.B, other)
}

func (d *Difference) judge(family int) {
	switch {
	case d.oneValue():
		d.Verdict = Unchanged
	case !d.Tested:
		d.Verdict = Inconclusive
	case d.AdjustedP < d.Alpha && d.reaches(d.estimate()):
		d.Direction = d.direction()
		d.Verdict = map[Direction]Verdict{worse: Regressed, better: Improved, "": Different}[d.Direction]
	case d.within(d.interval()):
		d.Verdict = Unchanged
	default:
		d.Verdict = Inconclusive
	}
	if d.Verdict == Inconclusive {
		d.MoreA, d.MoreB = d.runsWanted(family)
	}
}

// interval is compared with the threshold: the change, or the shift if the change is undefined.
func (d *Difference) interval() Interval {
	if d.HasChange {
		return d.Change
	}
	return d.Shift
}

func (d *Difference) estimate() float64 { return d.interval().Estimate }

// limit is the threshold in the interval's terms. With a base of 0 every difference is one.
func (d *Difference) limit() float64 {
	if !d.HasChange {
		return 0
	}
	return max(0, d.Measure.Threshold)
}

// rounding is by how much a fraction may miss the threshold for having been computed: 103 ÷ 100 − 1
// is 3 %.
const rounding = 1e-9

// reaches says that a difference is one, and at least the threshold.
func (d *Difference) reaches(change float64) bool {
	return change != 0 && math.Abs(change) >= d.limit()-rounding
}

// within says that nothing in the interval reaches the threshold.
func (d *Difference) within(i Interval) bool {
	return i.Exists && !d.reaches(i.Low) && !d.reaches(i.High)
}

func (d *Difference) direction() Direction {
	up := d.estimate() > 0
	switch d.Measure.Better {
	case analyze.Lower:
		return map[bool]Direction{true: worse, false: better}[up]
	case analyze.Higher:
		return map[bool]Direction{true: better, false: worse}[up]
	}
	return ""
}
