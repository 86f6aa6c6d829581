package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"golang.org/x/perf/benchmath"
)

const (
	// Level is the confidence of all intervals: each covers what it is about with at least this
	// chance.
	Level = 0.95
	// Alpha is the chance of a false alarm that is accepted, over all measures of a family
	// together.
	Alpha = 0.05
	// FewestRuns have a 95 % interval of their median: of 5 runs all lie on one side of it in 2 of
	// 32 cases, which is 6.3 %.
	FewestRuns = 6
	// FewestBlocks are enough for a family of up to 6 measures: the smallest p is 2 of 256.
	FewestBlocks = 8
	// UsualThreshold is that of values which have no better direction, and so no threshold of their
	// own.
	UsualThreshold = 0.03
)

// Point is what one run says.
type Point struct {
	Run   string  `json:"run"` // its name
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Sample is what the runs of one set say of one measure, in the order of the runs.
type Sample []Point

// Values returns the points' values, in their order.
func (s Sample) Values() []float64 {
	values := make([]float64, len(s))
	for i, p := range s {
		values[i] = p.Value
	}
	return values
}

// check refuses what no arithmetic can be done with.
func (s Sample) check() error {
	for _, p := range s {
		for _, v := range []float64{p.Value, p.Low, p.High} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("run %s has %g for a value", p.Run, v)
			}
		}
		if p.Low > p.Value || p.Value > p.High {
			return fmt.Errorf("run %s has %g outside its bounds %g and %g", p.Run, p.Value, p.Low, p.High)
		}
	}
	return nil
}

// Measure is the compared measure.
type Measure struct {
	Name, Unit string
	Better     analyze.Better
	Threshold  float64 // a fraction: smaller differences are of no interest
}

// Interval lies around an estimate.
type Interval struct {
	Estimate, Low, High float64
	// Confidence is the chance with which such an interval covers the truth, at least Level where
	// Exists.
	Confidence float64
	Exists     bool // false: there are too few runs for Low and High
}

// Summarize returns the median with its interval, the values x(l) and x(u) in ascending order. Its
// confidence is that of continuous distributions, P(l ≤ K < u) with K binomial(n, ½); of others it
// is at least that.
func Summarize(values []float64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), thresholds()), Level)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return Interval{Estimate: s.Center}
	}
	return Interval{s.Center, s.Lo, s.Hi, s.Confidence, true}
}

// Closest returns the index of the value that is closest to the median: that of the run which is
// shown for all. Of equally close ones it is the first. Without values it is -1.
func Closest(values []float64) int {
	median := Summarize(values).Estimate
	best := -1
	for i, v := range values {
		if best < 0 || math.Abs(v-median) < math.Abs(values[best]-median) {
			best = i
		}
	}
	return best
}

func thresholds() *benchmath.Thresholds { return &benchmath.Thresholds{CompareAlpha: Alpha} }
