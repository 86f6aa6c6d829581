package groundtruth

import (
	"fmt"
	"math"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
)

// checkLoad: in each frame, as many pixels equal the last frame as the page counted. It also checks
// the load figures that follow. They are computed again in their simplest form, from the page's
// counts and the frames with its pictures.
func (t *played) checkLoad() (list []check) {
	if t.asked("loadhist") {
		list = append(list, t.endingWithLast(t.checkCounts("final pixels", "loadhist", "equal_pixels", 1)))
	}
	if t.asked("speedindex") {
		complete, index := t.loadFigures()
		list = append(list, t.endingWithLast(t.checkFigure("visually complete", "pixel.complete_100",
			"visually_complete", complete)),
			t.endingWithLast(t.checkFigure("speed index", "pixel.speed_index", "speed_index", index)))
	}
	return list
}

// endingWithLast leaves out a check against the last frame if that does not show the page's last
// picture.
func (t *played) endingWithLast(c check) check {
	if t.endsWithLast() {
		return c
	}
	last := t.views[len(t.views)-1].frame
	c.Frames = nil
	return c.notMade("frame %d, the content's last, does not show picture %d, the last drawn", last, t.lastDrawn())
}

// origin is when load figures begin, and what they are called for it.
func (t *played) origin() (begin time.Duration, prefix string) {
	w := t.Outcome.Window
	if w.T0 == nil {
		return 0, "from_first_change."
	}
	return t.Outcome.Times.At(w.Start).Sub(w.T0.At), ""
}

// loadFigures returns when all pixels of the last picture were visible, and Σ Δt·(1 − p). Both
// count from the first frame, or from the command before it. In frames with no picture of the page,
// or with several, any number of pixels may be final. The green has none.
func (t *played) loadFigures() (complete, index result.Span) {
	times := t.Outcome.Times
	start := times.At(t.Outcome.Window.Start)
	begin, _ := t.origin()
	low, high := float64(begin), float64(begin)
	var p, most float64 // at least and at most
	var done time.Duration
	for i := range t.views {
		n := t.views[i].frame
		if i > 0 {
			took := float64(times.At(n).Sub(times.At(t.views[i-1].frame)))
			low, high = low+took*(1-most), high+took*(1-p)
		}
		before := p
		share, ok := t.shareOf(&t.views[i])
		if p, most = share, share; !ok {
			p, most = 0, 1
		}
		if p == 1 && before < 1 {
			done = times.At(n).Sub(start)
		}
	}
	ms := func(ns float64) float64 { return ns / 1e6 }
	return exact(milliseconds(begin + done)), result.Span{Value: ms((low + high) / 2), Low: ms(low), High: ms(high)}
}

// checkFigure compares a load figure with the expected one. It also shows the page's claim, which
// counts from its first picture.
func (t *played) checkFigure(what, value, claim string, drawn result.Span) check {
	_, prefix := t.origin()
	c := t.checkValue(what, "ms", "speedindex", prefix+value, drawn)
	if t.Outcome.Window.T0 == nil {
		c.claim(t, claim)
	}
	return c
}

// checkCounts compares a series with the page's counts, frame by frame. A factor converts the
// series to pixels. The table shows the number of frames.
func (t *played) checkCounts(what, measure, name string, factor float64) check {
	c := newCheck(what+", exact in", "frames", "")
	s := t.series(measure, name)
	if s == nil {
		c.Note = notMeasured
		return c
	}
	equal, all := 0, 0
	for i := range t.views {
		id, ok := t.views[i].whole()
		if !ok {
			continue
		}
		want, ok := t.count(id)
		if !ok {
			continue
		}
		all++
		if got, ok := heldAt(s, t.views[i].frame); ok && math.Round(got*factor) == float64(want) {
			equal++
		} else {
			c.Frames = append(c.Frames, t.views[i].frame)
		}
	}
	c.Measured, c.Drawn, c.Agrees = exactly(equal), exactly(all), equal == all
	if all == 0 {
		return c.notMade("no frame shows a picture of the page, and nothing else")
	}
	if left := len(t.views) - all; left > 0 {
		c.Note = fmt.Sprintf("left out: %d frames that do not show one picture alone", left)
	}
	return c
}

// rounding is that of sums, in the unit of a value.
const rounding = 0.001

// checkValue holds a value of a measure against what it should be.
func (t *played) checkValue(what, unit, measure, value string, drawn result.Span) check {
	c := newCheck(what, unit, measure+"."+value)
	c.Drawn = drawn
	v, ok := t.value(measure, value)
	if !ok {
		c.Note = notMeasured
		return c
	}
	c.Measured, c.Agrees = spanOf(v), v.Value > drawn.Low-rounding && v.Value < drawn.High+rounding
	return c
}
