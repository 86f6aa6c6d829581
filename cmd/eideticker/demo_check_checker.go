package main

import (
	"math"
	"time"
)

// checkChecker: in each frame, as many pixels lie in checkerboard as the page counted; and what follows from that.
func (t *demoTruth) checkChecker() []demoCheck {
	shown, filled, sum := t.checkerFigures()
	list := []demoCheck{
		t.checkCounts("checkerboard pixels", "checkerboard", "checkerboard", float64(t.report.Truth.Pixels)),
		t.checkValue("frames with checkerboard", "frames", "checkerboard", "checkerboard_frames", float64(shown)),
		t.checkValue("checkerboard × time", "ms", "checkerboard", "checkerboard_time", milliseconds(sum)),
	}
	if t.report.Page.Checker.Scroll == 0 { // all that is missing hangs together
		fill := t.checkValue("time to fill", "ms", "checkerboard", "longest_fill", milliseconds(filled))
		if said, ok := t.report.Truth.Claim("filled"); ok {
			fill.Claimed = &said.Value
		}
		list = append(list, fill)
	}
	if said, ok := t.report.Truth.Claim("checkerboard_frames"); ok {
		list[1].Claimed = &said.Value
	}
	return list
}

// checkerFigures returns how many frames show checkerboard, when the last of it was gone, from the first frame on, and Σ Δt·A / size(R).
func (t *demoTruth) checkerFigures() (shown int, filled, sum time.Duration) {
	times, w := t.outcome.Times, t.outcome.Window
	share, held := 0.0, 0.0
	for i := range t.views {
		n := t.views[i].frame
		before := share
		if id, ok := t.views[i].whole(); ok {
			if count, ok := t.count(id); ok {
				share = float64(count) / float64(t.report.Truth.Pixels)
			}
		}
		if share > 0 {
			shown++
		} else if before > 0 {
			filled = times.At(n).Sub(times.At(w.Start))
		}
		until := w.Red
		if i+1 < len(t.views) {
			until = t.views[i+1].frame
		}
		held += float64(times.At(until).Sub(times.At(n))) * share
	}
	return shown, filled, time.Duration(held)
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// checkValue holds a value of a measure against what it should be.
func (t *demoTruth) checkValue(what, unit, measure, value string, drawn float64) demoCheck {
	c := demoCheck{What: what, Unit: unit, Drawn: demoSpan{drawn, drawn, drawn}, Note: "not measured", of: measure + "." + value}
	r := t.result(measure)
	if r == nil {
		return c
	}
	v, ok := r.Find(value)
	if !ok {
		return c
	}
	const rounding = 0.001
	c.Measured, c.Agrees, c.Note = spanOf(v), math.Abs(v.Value-drawn) < rounding, ""
	return c
}
