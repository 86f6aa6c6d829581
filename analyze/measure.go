package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// measure is one row of the table of measures.
type measure struct {
	name    string
	version int  // of the definition
	pixels  bool // changes are not enough for it
	// values names all values that a result may have.
	values []string
	// begin prepares to measure a window. Its error is the sentence with which the measure is
	// refused.
	begin func(*Case) (part, error)
}

// part is a measure at work on consecutive frames of a window. It belongs to one goroutine.
type part interface {
	// add takes the next frame. The first one of a window is s.
	add(*Frame)
	// fork returns an empty part for frames that follow; it may share with its origin what neither
	// changes.
	fork() part
	// merge takes what the part behind this one has found, which is not used afterwards.
	merge(next part)
	// result is called once, after all frames of the window and all merges.
	result() Result
}

// shared is a part that several measures begin with. It is added to, forked and merged once, and
// asked for the result of each.
type shared interface {
	resultOf(measure string) Result
}

// looker is a part that knows only when it begins whether changes are enough for it.
type looker interface {
	needsPixels() bool
}

// Frame is a frame of a window on its way through the measures. It is valid during add.
type Frame struct {
	*frame.Step
	Lost   int  // frames that are missing just before it
	Unique bool // it differs from the stored frame before it in more than m pixels of the area
	// Diff is where it differs. Nil where no measure needs pixels, and in the first frame of a
	// segment, which has none before it.
	Diff *diff
}

// Case is everything that a measure gets about a window. It does not change while frames are added.
type Case struct {
	Recording Recording
	Window    Window
	Options   *Options
	Layout    *frame.Layout
	Area      *Area
	Times     *Times

	start func() (frame.Image, error)
	final func() (frame.Image, error)
	load  func() (*load, error)
}

func newCase(rec Recording, w Window, o *Options, d *damage) (*Case, error) {
	segment, err := w.check(rec)
	if err != nil {
		return nil, err
	}
	if w.Red != None && w.Kind == byFrames {
		if _, err := rec.Meta(w.Red); err != nil {
			w.Red = None // it was destroyed, and tells no time
		}
	}
	c := &Case{Recording: rec, Window: w, Options: o, Layout: segment.Layout}
	region := o.Region
	if region == (frame.Region{}) {
		region = w.Region
	}
	if c.Area, err = NewArea(segment.Layout, region, o.Masks); err != nil {
		return nil, err
	}
	c.Window.Region = c.Area.Region
	c.Times = newTimes(rec, knownAtRed(rec, segment, &w), w.first(), max(w.End, c.Window.Red)+1, o.OwnClock)
	c.Times.broken = d.broken
	c.start = sync.OnceValues(func() (frame.Image, error) { return rec.Image(w.Start) })
	c.final = sync.OnceValues(func() (frame.Image, error) { return rec.Image(w.End) })
	c.load = sync.OnceValues(func() (*load, error) { return newLoad(c) })
	return c, nil
}

// finalImage returns the last content frame, fe. All measures share it. Its bytes must not change.
func (c *Case) finalImage() (frame.Image, error) { return c.final() }

// image returns a frame. Those at both ends, which several measures ask for when they begin, are
// decoded once; their bytes must not be changed.
func (c *Case) image(n int) (frame.Image, error) {
	switch n {
	case c.Window.Start:
		return c.start()
	case c.Window.End:
		return c.final()
	}
	return c.Recording.Image(n)
}

// lost returns how many frames are missing within the window, from behind its first frame to its
// end.
func (c *Case) lost() (n int) {
	for i := c.Window.first() + 1; i <= max(c.Window.End, c.Window.Red); i++ {
		n += c.Times.Lost(i)
	}
	return n
}

// origin returns T0, and true, or the time of s where T0 is not known.
func (c *Case) origin() (timeline.Interval, bool) {
	if t := c.Window.T0; t != nil {
		return timeline.Interval{Earliest: t.At.Add(-t.Uncertainty), Latest: t.At.Add(t.Uncertainty)}, true
	}
	return c.Times.Since(c.Window.Start), false
}

// refused is the result of a measure that cannot be taken.
func refused(m *measure, err error) Result {
	return Result{Measure: m.name, Version: m.version, State: Refused, Refusal: err.Error()}.complete()
}

// complete sets a result's state, the minimum of its values', and replaces nil lists, so JSON has
// no null. Afterwards each value is finite and within its bounds. Bounds are widened to hold their
// value. A NaN or infinite value is left out, since it would make the whole report unwritable.
func (r Result) complete() Result {
	r.finite()
	if r.State == "" {
		r.State = Exact
		if len(r.Values) > 0 && !slices.ContainsFunc(r.Values, func(v Value) bool { return v.State != Suspected }) {
			r.State = Suspected
		}
	}
	for i := range r.Values {
		v := &r.Values[i]
		v.Low, v.High = min(v.Low, v.Value), max(v.High, v.Value)
		if v.State == Exact && v.Low < v.High {
			v.State = Bounded
		}
		if v.State == Bounded && r.State == Exact {
			r.State = Bounded
		}
		v.Frames = orEmpty(v.Frames)
	}
	for i := range r.Series {
		s := &r.Series[i]
		s.Frames, s.Values = orEmpty(s.Frames), orEmpty(s.Values)
	}
	for i := range r.Evidence {
		e := &r.Evidence[i]
		e.Rows, e.Region = orEmpty(e.Rows), orEmpty(e.Region)
	}
	r.Values, r.Series, r.Evidence, r.Warnings = orEmpty(r.Values), orEmpty(r.Series), orEmpty(r.Evidence),
		orEmpty(r.Warnings)
	return r
}

// finite leaves out values and series with numbers that are none, and says so.
func (r *Result) finite() {
	no := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
	r.Values = slices.DeleteFunc(r.Values, func(v Value) bool {
		bad := no(v.Value) || no(v.Low) || no(v.High)
		if bad {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("%s is left out: from the times of these frames it is %v, between %v and %v", v.Name,
					v.Value, v.Low, v.High))
		}
		return bad
	})
	r.Series = slices.DeleteFunc(r.Series, func(s Series) bool {
		bad := slices.ContainsFunc(s.Values, no)
		if bad {
			r.Warnings = append(r.Warnings, fmt.Sprintf("series %s is left out: not all of its values are numbers",
				s.Name))
		}
		return bad
	})
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// exactly is a value without doubt; between one with bounds, which is exact if they meet.
func exactly(name, unit string, value float64, better Better, threshold float64) Value {
	return between(name, unit, value, value, value, better, threshold)
}

func between(name, unit string, value, low, high float64, better Better, threshold float64) Value {
	v := Value{Name: name, Unit: unit, Value: value, Low: low, High: high, State: Bounded, Better: better,
		Threshold: threshold}
	if low == high {
		v.State = Exact
	}
	return v
}

// detail turns what only one measure knows into JSON.
func detail(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("detail of a result: %v", err)) // a type of ours that cannot be encoded
	}
	return b
}
