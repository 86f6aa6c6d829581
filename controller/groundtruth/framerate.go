package groundtruth

import (
	"time"

	"github.com/eideticker/eideticker/analyze/result"
)

// checkFramerate: pictures that were seen, by the time for which the page says it played.
func (t *played) checkFramerate() []check {
	if !t.asked("fps") {
		return nil
	}
	c := newCheck("framerate", "frames/s", "fps.framerate")
	c.Claimed = &t.Report.ClaimedFPS
	v, ok := t.value("fps", "framerate")
	if !ok {
		c.Note = notMeasured
		return []check{c}
	}
	c.Measured = spanOf(v)
	low, mid, high := t.lasted()
	if low <= 0 {
		return []check{c.notMade("the page played for so short a time that it may be nothing")}
	}
	seen, unsure := t.changes()
	n, most := float64(len(seen)), float64(len(seen)+len(unsure))
	c.Drawn = result.Span{Value: n / mid.Seconds(), Low: n / high.Seconds(), High: most / low.Seconds()}
	c.Agrees = meet(c.Measured, c.Drawn)
	return []check{c}
}

// lasted is how long a page was seen, by its own times: from its first seen picture until its red.
// The red was on the screen after the page was called to draw it. It was there before the page had
// seen a number of further animation frames: no browser is that far ahead of its screen. The middle
// value assumes the delay of the page's pictures.
func (t *played) lasted() (low, mid, high time.Duration) {
	soonest, latest := t.delays()
	begin, red := t.Outcome.Times.Since(t.Outcome.Window.Start), t.Report.RedFrom
	low, high = red.Earliest.Sub(begin.Latest), t.Report.RedTo.Latest.Sub(begin.Earliest)
	mid = red.Mid().Add((soonest + latest) / 2).Sub(begin.Mid())
	return max(0, low), max(low, min(mid, high)), high
}

// delays returns the minimum and maximum delay of the page's pictures, from the page's call to the
// first recorded frame.
func (t *played) delays() (soonest, latest time.Duration) {
	soonest = time.Hour
	seen := -1
	for i := range t.views {
		id, ok := t.views[i].whole()
		if !ok || id <= seen {
			continue
		}
		seen = id
		at, ok := t.drawnAt(id)
		if !ok {
			continue
		}
		since := t.Outcome.Times.Since(t.views[i].frame)
		soonest = min(soonest, since.Earliest.Sub(at.Latest))
		latest = max(latest, since.Latest.Sub(at.Earliest))
	}
	return min(soonest, latest), latest
}
