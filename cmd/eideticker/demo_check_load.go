package main

import (
	"math"
	"time"
)

// checkLoad: in each frame, as many pixels are as in the last frame as the page counted; and the load figures that follow, here once
// more in their plainest form, from the page's counts and the frames in which the strip shows its pictures.
func (t *demoTruth) checkLoad() []demoCheck {
	complete, index := t.loadFigures()
	return []demoCheck{
		t.checkCounts("final pixels", "loadhist", "equal_pixels", 1),
		t.checkFigure("visually complete", "from_first_change.pixel.complete_100", "visually_complete", complete),
		t.checkFigure("speed index", "from_first_change.pixel.speed_index", "speed_index", index),
	}
}

// loadFigures returns when the last picture's pixels were all there, and Σ Δt·(1 − p), both from the first frame on.
func (t *demoTruth) loadFigures() (complete, index time.Duration) {
	times := t.outcome.Times
	begin := times.At(t.outcome.Window.Start)
	sum, p := 0.0, 0.0
	for i := range t.views {
		n := t.views[i].frame
		if i > 0 {
			sum += float64(times.At(n).Sub(times.At(t.views[i-1].frame))) * (1 - p)
		}
		before := p
		if id, ok := t.views[i].whole(); ok {
			if count, ok := t.count(id); ok {
				p = float64(count) / float64(t.report.Truth.Pixels)
			}
		}
		if p == 1 && before < 1 {
			complete = times.At(n).Sub(begin)
		}
	}
	return complete, time.Duration(sum)
}

// checkFigure holds a load figure against what it should be, beside what the page claims.
func (t *demoTruth) checkFigure(what, value, claim string, drawn time.Duration) demoCheck {
	c := t.checkValue(what, "ms", "speedindex", value, milliseconds(drawn))
	if said, ok := t.report.Truth.Claim(claim); ok {
		c.Claimed = &said.Value
	}
	return c
}

// checkCounts holds a series, times a factor that makes pixels of it, against the page's counts, frame by frame. What stands in the table is
// the number of frames.
func (t *demoTruth) checkCounts(what, measure, name string, factor float64) demoCheck {
	c := demoCheck{What: what + ", exact in", Unit: "frames"}
	s := t.series(measure, name)
	if s == nil {
		c.Note = "not measured"
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
	c.Measured, c.Drawn, c.Agrees = exactSpan(equal), exactSpan(all), equal == all && all > 0
	return c
}
