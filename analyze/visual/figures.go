package visual

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// ErrProgress is wrapped by every error about a progress that none can be.
var ErrProgress = errors.New("bad progress")

// Moment is when something happened: a time, and the interval in which it lies, not always in the
// middle.
type Moment struct {
	Value timeline.Time
	timeline.Interval
}

// Middle is the moment whose value is an interval's midpoint.
func Middle(i timeline.Interval) Moment { return Moment{i.Mid(), i} }

// Point is a step of a progress: from At on, until the next point, the picture was P of the way to
// the last one.
type Point struct {
	At Moment
	P  float64 // at most 1; a similarity may be negative, down to -1
}

// Elapsed is a time counted from T0, and its bounds. The value is the distance of the moments'
// values.
type Elapsed struct {
	Value, Low, High time.Duration
	Point            int  // whose it is, by its index
	Some             bool // false: it never came to this; all else is 0
}

// Levels returns the fractions for which visually complete is computed.
func Levels() [4]float64 { return [...]float64{0.85, 0.95, 0.99, 1} }

// Figures are what follows from a progress.
type Figures struct {
	FirstChange, LastChange Elapsed
	Complete                [4]Elapsed // for each of Levels: first point from which on all have P ≥ level
	Crossed                 [4]Elapsed // for each of Levels: first point with P ≥ level
	SpeedIndex              Index
}

// Index is an area above a progress, in milliseconds, and its bounds.
type Index struct {
	Value, Low, High float64
}

// Start says what time is counted from.
type Start struct {
	T0 Moment // the navigation, launch or input command
	// FirstChange counts from the second point instead, the first visual change. T0 is ignored.
	FirstChange bool
}

// NewFigures computes the figures of a progress.
//
// points[0] is the picture at T0, whatever its time. Each further point is a frame that differs
// from the previous one. So the first visual change is points[1] and the last visual change is the
// last point. P need not move: a pixel may turn from one wrong colour into another. With one point,
// neither exists.
//
// The Speed Index is Σ Δt·(1 − P) from T0 to the end. P is that of the last point not after the
// moment, beginning with points[0].P. The end matters only if the last P is not 1. A negative P
// counts as it is.
//
// Bounds: each time is anywhere in its interval, independently of the others. Regrouped by times,
// the index is
//
//	Σ ti·(pi − pi−1) + end·(1 − plast) − T0·(1 − p0)
//
// It is minimal with each ti at its earliest if the factor is positive. If the factor is negative,
// ti is at its latest. It is maximal the other way round. The order of the times is not used.
// So bounds are a little wide where intervals overlap.
//
// Values must not go back, and P must be a number from -1 to 1. The end must not be wholly before a
// point. No point but the first may be wholly before T0. The error names the point.
func NewFigures(start Start, points []Point, end Moment) (Figures, error) {
	if err := checkProgress(start, points, end); err != nil {
		return Figures{}, err
	}
	var f Figures
	last := len(points) - 1
	if last > 0 {
		f.FirstChange = elapsed(start, points, 1)
		f.LastChange = elapsed(start, points, last)
	}
	for i, level := range Levels() {
		f.Complete[i] = complete(start, points, level)
		f.Crossed[i] = crossed(start, points, level)
	}
	f.SpeedIndex = speedIndex(start, points, end)
	return f, nil
}

func checkProgress(start Start, points []Point, end Moment) error {
	switch {
	case len(points) == 0:
		return fmt.Errorf("%w: it has no points", ErrProgress)
	case start.FirstChange && len(points) < 2:
		return fmt.Errorf("%w: time is to count from the first change, and nothing changes", ErrProgress)
	case !sane(end) || !start.FirstChange && !sane(start.T0):
		return fmt.Errorf("%w: its start or end is not an interval, or more than 70 years from the clock's zero",
			ErrProgress)
	}
	for i, p := range points {
		switch {
		case math.IsNaN(p.P) || p.P < -1 || p.P > 1:
			return fmt.Errorf("%w: point %d is %v, not from -1 to 1", ErrProgress, i, p.P)
		case !sane(p.At):
			return fmt.Errorf("%w: the time of point %d is not an interval, or more than 70 years from zero",
				ErrProgress, i)
		case i > 0 && p.At.Value < points[i-1].At.Value:
			return fmt.Errorf("%w: point %d comes before point %d", ErrProgress, i, i-1)
		case i > 0 && !start.FirstChange && p.At.Latest < start.T0.Earliest:
			return fmt.Errorf("%w: point %d comes before the start", ErrProgress, i)
		case end.Latest < p.At.Earliest:
			return fmt.Errorf("%w: point %d comes after the end", ErrProgress, i)
		}
	}
	return nil
}

// sane reports whether a moment is in its interval, and near enough to 0 that differences of times
// are durations.
func sane(m Moment) bool {
	const far = 1 << 61
	return m.Earliest <= m.Value && m.Value <= m.Latest && m.Earliest >= -far && m.Latest <= far
}

// origin returns what time is counted from.
func (s Start) origin(points []Point) Moment {
	if s.FirstChange {
		return points[1].At
	}
	return s.T0
}

// elapsed returns the time of a point, counted from the start. From itself it is 0, whatever its
// uncertainty.
func elapsed(s Start, points []Point, i int) Elapsed {
	if s.FirstChange && i <= 1 {
		return Elapsed{Point: i, Some: true}
	}
	t0, t := s.origin(points), points[i].At
	if i == 0 { // the picture was there
		return Elapsed{Point: i, Some: true}
	}
	return Elapsed{
		Value: t.Value.Sub(t0.Value),
		Low:   t.Earliest.Sub(t0.Latest),
		High:  t.Latest.Sub(t0.Earliest),
		Point: i,
		Some:  true,
	}
}

func complete(s Start, points []Point, level float64) Elapsed {
	i := len(points)
	for i > 0 && points[i-1].P >= level {
		i--
	}
	if i == len(points) {
		return Elapsed{}
	}
	return elapsed(s, points, i)
}

func crossed(s Start, points []Point, level float64) Elapsed {
	for i, p := range points {
		if p.P >= level {
			return elapsed(s, points, i)
		}
	}
	return Elapsed{}
}

// speedIndex sums, over times counted from the start's value so that the numbers stay small.
func speedIndex(s Start, points []Point, end Moment) Index {
	t0 := s.origin(points)
	base := t0.Value
	var x Index
	add := func(at Moment, factor float64) {
		early, late := float64(at.Earliest.Sub(base)), float64(at.Latest.Sub(base))
		if factor < 0 {
			early, late = late, early
		}
		x.Value += float64(factor * float64(at.Value.Sub(base)))
		x.Low += float64(factor * early)
		x.High += float64(factor * late)
	}
	from := 1 // first point whose time matters
	if s.FirstChange {
		from = 2
		add(t0, points[1].P-1) // it is the start and a step of the progress at once
	} else {
		add(t0, points[0].P-1)
	}
	for i := from; i < len(points); i++ {
		add(points[i].At, points[i].P-points[i-1].P)
	}
	if rest := 1 - points[len(points)-1].P; rest != 0 {
		add(end, rest)
	}
	const ms = float64(time.Millisecond)
	return Index{x.Value / ms, x.Low / ms, x.High / ms}
}
