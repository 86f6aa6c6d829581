package load

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # Load figures where frames are lost
//
// A lost frame may have shown anything. Between the last frame before a hole and the first one
// after it:
//
//   - p may have been anything from its minimum to 1. The Speed Index may be off by that times the
//     hole's length.
//   - The picture may have changed earlier than the first seen change, or later than the last one.
//   - p may have reached a level before it was seen to, or fallen below one that it had reached.
//
// contentful divides by the most edges of any frame. A lost frame may have had more: then every p
// may be less.
//
// Between e and r the last content itself, to which all others are compared, may be lost. Figures
// may then be anything between T0 and r.

// hole is where frames are lost.
type hole struct {
	before   int           // the stored frame behind it
	from, to timeline.Time // the earliest and latest time at which lost frames were on the screen
}

// doubt is the uncertainty of a window in which load figures are computed.
type doubt struct {
	load   *part
	steps  []int // indices of the noted frames that are points of a progress
	frames []int // theirs
	unique []int // points that are changes
	end    visual.Moment
	origin timeline.Interval // of time
	zero   bool              // it is the first change
	holes  []hole
	within int // how many of them lie before the first change
	final  bool
}

// doubt finds the lost frames. If time counts from the first change, earlier frames are not part of
// the progress.
func (l *part) doubt(start *visual.Start) *doubt {
	d := &doubt{load: l, zero: start.FirstChange, origin: start.T0.Interval}
	for i := range l.frames {
		if i > 0 && !l.unique[i] && len(d.unique) == 0 && d.zero {
			continue
		}
		if l.unique[i] {
			d.unique = append(d.unique, len(d.steps))
		}
		d.steps, d.frames = append(d.steps, i), append(d.frames, l.frames[i])
	}
	w := &l.Window
	for n := w.First() + 1; n <= w.End; n++ {
		if l.Times.Lost(n) > 0 {
			d.holes = append(d.holes, hole{n, l.Times.Since(n).Earliest, l.Times.Bounds(n).Latest})
		}
	}
	behind, _ := l.LostAtEnd()
	d.final = behind > 0
	t, in := l.Times.End(w)
	d.end = visual.Moment{Value: t, Interval: in}
	if len(d.unique) == 0 {
		return d
	}
	first := d.frames[d.unique[0]]
	for d.within < len(d.holes) && d.holes[d.within].before <= first {
		d.within++
	}
	if d.zero {
		d.origin = l.Times.Bounds(first)
		if d.within > 0 {
			d.origin.Earliest = min(d.origin.Earliest, d.holes[0].from)
		}
	}
	return d
}

// points are a progress with its times.
func (l *part) points(p []float64, d *doubt) []visual.Point {
	points := make([]visual.Point, len(d.steps))
	for k, i := range d.steps {
		n := l.frames[i]
		points[k] = visual.Point{At: visual.Moment{Value: l.Times.At(n), Interval: l.Times.Bounds(n)}, P: p[i]}
	}
	if d.zero && len(points) > 1 {
		points[1].At.Interval = d.origin
	}
	return points
}

// lower and upper widen a time to what it is if it was at another moment.
func (d *doubt) lower(e *visual.Elapsed, t timeline.Time) {
	low := t.Sub(d.origin.Latest)
	if d.zero {
		low = max(low, 0)
	}
	e.Low = min(e.Low, low)
}

func (d *doubt) upper(e *visual.Elapsed, t timeline.Time) {
	e.High = max(e.High, t.Sub(d.origin.Earliest))
}

// anywhere widens a time to all there is.
func (d *doubt) anywhere(e *visual.Elapsed) {
	e.Low = min(e.Low, 0)
	d.upper(e, d.end.Latest)
}

// changes returns the times of the first and the last change.
func (d *doubt) changes(points []visual.Point) (first, last visual.Elapsed) {
	if len(d.unique) == 0 {
		return first, last
	}
	at := func(k int) visual.Elapsed {
		e := visual.Elapsed{Point: k, Some: true}
		if t := points[k].At; !d.zero || k > 1 {
			e.Value, e.Low, e.High = t.Value.Sub(d.origin.Earliest+(d.origin.Latest-d.origin.Earliest)/2),
				t.Earliest.Sub(d.origin.Latest), t.Latest.Sub(d.origin.Earliest)
			if d.zero {
				e.Value = t.Value.Sub(points[1].At.Value)
			}
		}
		return e
	}
	k, end := d.unique[0], d.unique[len(d.unique)-1]
	first, last = at(k), at(end)
	if !d.zero && d.within > 0 {
		d.lower(&first, d.holes[0].from)
	}
	if !d.zero || end > 1 {
		d.lower(&last, d.load.Times.Since(d.frames[end]).Earliest)
	}
	d.later(&last, end)
	if d.final {
		d.upper(&last, d.end.Latest)
	}
	return first, last
}

// later widens a time to the end of the last hole behind a point.
func (d *doubt) later(e *visual.Elapsed, k int) {
	if d.zero && k == 1 && d.within > 0 { // time may have begun before it
		d.upper(e, d.load.Times.Bounds(d.frames[k]).Latest)
	}
	if n := len(d.holes); n > 0 && d.holes[n-1].before > d.frames[k] {
		d.upper(e, d.holes[n-1].to)
	}
}

// widen widens the bounds of all that follows from a progress.
func (d *doubt) widen(f *visual.Figures, c *curve, points []visual.Point) {
	if len(d.holes) == 0 && !d.final {
		return
	}
	for i := range f.Complete {
		for crossed, e := range []*visual.Elapsed{&f.Complete[i], &f.Crossed[i]} {
			if !e.Some {
				continue
			}
			k := e.Point
			switch n := d.frames[k]; {
			case k == 0 || d.zero && k == 1: // no time is sooner
			case crossed == 0:
				d.lower(e, d.load.Times.Since(n).Earliest)
			case len(d.holes) > 0 && d.holes[0].before <= n:
				d.lower(e, d.holes[0].from)
			}
			if crossed == 0 || d.zero && k == 1 {
				d.later(e, k)
			}
			if c.scaled {
				d.upper(e, d.end.Latest)
			}
			if d.final {
				d.anywhere(e)
			}
		}
	}
	d.widenIndex(&f.SpeedIndex, c, points)
}

// widenIndex widens by the area that each hole may hide.
func (d *doubt) widenIndex(x *visual.Index, c *curve, points []visual.Point) {
	all := measure.MS(d.end.Latest.Sub(d.origin.Earliest))
	if d.zero && d.within > 0 { // from the first change, that may be lost, to the first that was seen
		x.High += (points[1].P - c.least) * measure.MS(d.origin.Latest.Sub(d.origin.Earliest))
	}
	k := 0
	for i, h := range d.holes {
		if d.zero && i < d.within {
			continue
		}
		for k+1 < len(points) && d.frames[k+1] < h.before {
			k++
		}
		long := measure.MS(max(0, h.to.Sub(h.from)))
		x.Low -= long * (1 - points[k].P)
		x.High += long * (points[k].P - c.least)
	}
	if c.scaled || d.final {
		x.High = max(x.High, (1-c.least)*all)
	}
	if d.final {
		x.Low = min(x.Low, 0)
	}
}

// warnings returns sentences about the lost frames.
func (d *doubt) warnings() (list []string) {
	if n := d.load.Lost(); n > 0 {
		list = append(list, fmt.Sprintf(
			"%d frames of the window are lost: figures are bounded by all that these may have shown", n))
	}
	if d.final {
		list = append(list, lostFinal)
	}
	return list
}

const lostFinal = "frames are lost just before the end: the last content may be among them, to which all is compared"

// longest is how long all that was recorded of the window may have lasted.
func (d *doubt) longest() time.Duration {
	return d.end.Latest.Sub(d.load.Times.Bounds(d.load.Window.First()).Earliest)
}
