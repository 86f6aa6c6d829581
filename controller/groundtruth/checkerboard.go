package groundtruth

import (
	"time"

	"github.com/eideticker/eideticker/analyze/result"
)

// checkChecker: each frame has as many checkerboard pixels as the page counted. The figures that
// follow are checked too.
func (t *played) checkChecker() []check {
	if !t.asked("checkerboard") {
		return nil
	}
	shown, filled, sum := t.checkerFigures()
	frames := t.checkValue("frames with checkerboard", "frames", "checkerboard", "checkerboard_frames", shown)
	frames.claim(t, "checkerboard_frames")
	list := []check{
		t.checkCounts("checkerboard pixels", "checkerboard", "checkerboard", float64(t.Report.Truth.Pixels)),
		frames,
		t.checkValue("checkerboard × time", "ms", "checkerboard", "checkerboard_time", sum),
	}
	if t.Report.Page.Checker.Scroll == 0 { // all that is missing hangs together
		fill := t.checkValue("time to fill", "ms", "checkerboard", "longest_fill", filled)
		fill.claim(t, "filled")
		list = append(list, fill)
	}
	return list
}

// checkerFigures returns three figures of checkerboard. They are the number of frames, the time
// from the first frame to its end, and Σ Δt·A / size(R). Frames with no picture of the page, or
// with several, may show checkerboard or not.
func (t *played) checkerFigures() (shown, filled, sum result.Span) {
	times, w := t.Outcome.Times, t.Outcome.Window
	var low, high float64
	var gone [2]time.Duration // soonest and latest
	left := [2]bool{}
	for i := range t.views {
		n := t.views[i].frame
		until := w.Red
		if i+1 < len(t.views) {
			until = t.views[i+1].frame
		}
		share, ok := t.shareOf(&t.views[i])
		shares := [2]float64{share, share}
		if !ok {
			shares = [2]float64{0, 1}
		}
		took := float64(times.At(until).Sub(times.At(n)))
		low, high = low+took*shares[0], high+took*shares[1]
		for k, s := range shares {
			if s == 0 && left[k] {
				gone[k] = times.At(n).Sub(times.At(w.Start))
			}
			left[k] = s > 0
		}
		if shares[0] > 0 {
			shown.Low++
		}
		if shares[1] > 0 {
			shown.High++
		}
	}
	between := func(low, high float64) result.Span { return result.Span{Value: (low + high) / 2, Low: low, High: high} }
	return between(shown.Low, shown.High),
		between(milliseconds(min(gone[0], gone[1])), milliseconds(max(gone[0], gone[1]))), between(low/1e6, high/1e6)
}
