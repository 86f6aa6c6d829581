package schedule

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/changepoint"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// States of changes.
const (
	candidate  = "candidate"
	confirming = "confirming"
	confirmed  = "confirmed"
	refuted    = "refuted"
	undecided  = stats.Undecided
	lab        = "lab"
)

// noLevel is the reason of changes of which no size is too small.
const noLevel = "The usual value is 0, and the threshold is a part of it."

const (
	window = 150 // points that are searched
	near   = 3   // points between two places that are one change

	// Points that a candidate needs. Few equal values make any difference significant.
	minBefore = 3
	minAfter  = 2
)

// detect searches the subject's series of a set for changes, and notes new candidates.
func (e *Engine) detect(ctx context.Context, o trend.Origin, t *task, measured []trend.Measured) error {
	thresholds := map[trend.SeriesKey]float64{}
	for _, m := range measured {
		if m.Key.Role == trend.Subject {
			thresholds[m.Key] = cmp.Or(m.Threshold, stats.UsualThreshold)
		}
	}
	list, err := e.Trends.Series(ctx, api.SeriesListParams{Schedule: o.Schedule, Test: t.Test, Device: t.place(),
		Limit: 1000})
	if err != nil {
		return err
	}
	for i := range list.Series {
		s := &list.Series[i]
		threshold, is := thresholds[keyOf(s)]
		if !is {
			continue
		}
		var control *api.Series
		for k := range list.Series {
			if c := &list.Series[k]; c.Role == trend.Control && shared(keyOf(c)) == shared(keyOf(s)) &&
				c.Generation == s.Generation && (control == nil || c.LastSeq > control.LastSeq) {
				control = c // the configuration may have had another one
			}
		}
		if err := e.detectIn(ctx, s, control, threshold); err != nil {
			return fmt.Errorf("search series %d: %w", s.ID, err)
		}
	}
	return nil
}

func keyOf(s *api.Series) trend.SeriesKey {
	return trend.SeriesKey{Schedule: s.Schedule, Test: s.Test, Window: s.Window, Measure: s.Measure, Value: s.Value,
		Unit: s.Unit, Better: s.Better, Version: s.Version, Device: s.Device, Network: s.Network, Product: s.Product,
		Feed: s.Feed, Role: s.Role, Generation: s.Generation}
}

// shared is the part of a key that series of one set share, and sets of equal tests. The device is
// left out: a set has one, and fresh runs for a pool are on one of its devices.
func shared(k trend.SeriesKey) trend.SeriesKey {
	k.Schedule, k.Device, k.Product, k.Feed, k.Role, k.Generation = "", "", "", "", "", 0
	return k
}

func (e *Engine) detectIn(ctx context.Context, s, control *api.Series, threshold float64) error {
	points, err := e.Trends.Points(ctx, s.ID, 0, 0, window)
	if err != nil {
		return err
	}
	var fixed []trend.Point
	if control != nil && len(points) > 0 {
		if fixed, err = e.Trends.Points(ctx, control.ID, points[0].Seq, 0, window); err != nil {
			return err
		}
	}
	c := newCurve(points, fixed)
	limit := threshold
	if !c.relative {
		limit *= math.Abs(median(c.own))
	} else {
		limit = math.Log1p(threshold)
	}
	changes, err := changepoint.Detect(c.values, limit)
	if err != nil || len(c.values) == 0 {
		return err
	}
	moved, err := changepoint.Detect(c.control, limit)
	if err != nil {
		return err
	}
	known, err := e.Trends.Changes(ctx, api.ChangeListParams{Series: s.ID, Limit: 1000})
	if err != nil {
		return err
	}
	for _, found := range changes {
		if found.Index < minBefore || len(c.values)-found.Index < minAfter {
			continue
		}
		x := e.newChange(s, &c, found.Index-1, found.Index, found.Shift(), found.P)
		at := slices.IndexFunc(known, func(k api.SeriesShift) bool { return c.same(&k, found.Index) })
		if at >= 0 {
			if err := e.narrow(ctx, &known[at], &x); err != nil {
				return err
			}
			continue
		}
		if control == nil {
			x.Reason = "Nothing was measured beside it: the lab may have changed (no control)."
		}
		if limit == 0 {
			x.State, x.Reason = undecided, noLevel
		}
		if slices.ContainsFunc(moved, func(m changepoint.Change) bool {
			return gapBetween(m.Index, found.Index) <= near
		}) {
			x.State, x.Reason = lab, "The control changed at the same place: the lab did."
		}
		if err := e.Trends.PutChange(ctx, &x); err != nil {
			return err
		}
		e.Log.Info("a series has changed", "change", x.ID, "series", s.ID, "state", x.State,
			"build", c.points[found.Index].Build)
		known = append(known, x)
	}
	if limit == 0 {
		return nil
	}
	return e.drift(ctx, s, &c, known, limit)
}

// newChange returns a candidate between two points of a curve.
func (e *Engine) newChange(s *api.Series, c *curve, from, to int, shift, p float64) api.SeriesShift {
	if c.relative {
		shift = math.Expm1(shift)
	}
	return api.SeriesShift{Series: s.ID, FirstSeq: c.points[from].Seq, LastSeq: c.points[to].Seq, State: candidate,
		Relative: c.relative, P: p, Shift: shift, Low: shift, High: shift, Direction: direction(s.Better, shift),
		FoundNS: e.Now().UnixNano()}
}

// narrow moves a candidate that is not being confirmed to a shorter range of builds.
func (e *Engine) narrow(ctx context.Context, known, found *api.SeriesShift) error {
	if known.State != candidate || found.LastSeq-found.FirstSeq >= known.LastSeq-known.FirstSeq || e.confirming(known) {
		return nil
	}
	found.ID, found.State, found.Reason, found.FoundNS = known.ID, candidate, known.Reason, known.FoundNS
	*known = *found
	return e.put(ctx, known)
}

// curve is what the detectors see of a series. Its slices are of equal length, but for control.
type curve struct {
	points   []trend.Point
	values   []float64 // medians of the blocks' logarithms of subject ÷ control, or of the differences
	own      []float64 // medians of the subject
	control  []float64 // medians of the control, on the scale of values
	relative bool
}

// newCurve pairs a subject's points with those of its control; nil: it has none.
func newCurve(points, control []trend.Point) curve {
	c := curve{relative: true}
	beside := map[int64]map[int]float64{}
	for i, p := range slices.Concat(points, control) {
		if i >= len(points) {
			beside[p.Seq] = map[int]float64{}
		}
		for _, v := range p.Values {
			c.relative = c.relative && v.Value > 0
			if i >= len(points) {
				beside[p.Seq][v.Block] = v.Value
			}
		}
	}
	scale := func(v float64) float64 {
		if c.relative {
			return math.Log(v)
		}
		return v
	}
	for _, p := range points {
		var differences, own, fixed []float64
		for _, v := range p.Values {
			own = append(own, scale(v.Value))
			if f, is := beside[p.Seq][v.Block]; is {
				differences, fixed = append(differences, scale(v.Value)-scale(f)), append(fixed, scale(f))
			}
		}
		if control == nil {
			differences = own
		}
		if len(differences) == 0 {
			continue
		}
		c.points, c.values = append(c.points, p), append(c.values, median(differences))
		c.own = append(c.own, median(own))
		if control != nil {
			c.control = append(c.control, median(fixed))
		}
	}
	return c
}

// same reports if a known change is that at a place. A refuted or undecided one is about its own
// builds alone. Other builds of its range, or beside it, may have changed.
func (c *curve) same(known *api.SeriesShift, index int) bool {
	if known.Kind == drift {
		return false // it is about many builds
	}
	if known.State == refuted || known.State == undecided {
		return known.FirstSeq == c.points[index-1].Seq && known.LastSeq == c.points[index].Seq
	}
	if known.FirstSeq < c.points[index].Seq && c.points[index-1].Seq < known.LastSeq {
		return true
	}
	at, _ := slices.BinarySearchFunc(c.points, known.LastSeq, func(p trend.Point, seq int64) int {
		return cmp.Compare(p.Seq, seq)
	})
	return gapBetween(at, index) <= near
}

func gapBetween(a, b int) int { return max(a-b, b-a) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Summarize(values).Estimate
}

// direction says if a shift is good.
func direction(better string, shift float64) string {
	switch {
	case better == "":
		return "changed"
	case (shift > 0) == (better == "higher"):
		return "better"
	}
	return "worse"
}
