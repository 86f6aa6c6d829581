package groundtruth

import "github.com/eideticker/eideticker/analyze/result"

// checkWindow: a window is complete with the first frame that shows the page's last picture in its
// final size. That is not before the page was called to draw it.
func (t *played) checkWindow() []check {
	if !t.asked("windowopen") {
		return nil
	}
	w, times := t.Outcome.Window, t.Outcome.Times
	last := t.lastDrawn()
	i := len(t.views) - 1
	if !t.endsWithLast() || w.T0 == nil {
		c := newCheck("window complete", "ms", "windowopen.last_visual_change")
		return []check{c.notMade(
			"frame %d, with which the content ends, does not show the last picture that the page drew, number %d",
			t.views[i].frame, last)}
	}
	for i > 0 {
		if id, ok := t.views[i-1].whole(); !ok || id != last {
			break
		}
		i--
	}
	n := t.views[i].frame
	complete := t.checkValue("window complete", "ms", "windowopen", "last_visual_change",
		exact(milliseconds(times.At(n).Sub(w.T0.At))))
	return []check{complete, t.checkDrawnBefore(n)}
}

// checkDrawnBefore: a picture is on the screen after the page was called to draw it.
func (t *played) checkDrawnBefore(n int) check {
	c := newCheck("last picture, drawn and then seen", "ms", "")
	w := t.Outcome.Window
	at, _ := t.drawnAt(t.lastDrawn())
	since := t.Outcome.Times.Since(n)
	span := func(low, mid, high float64) result.Span { return result.Span{Value: mid, Low: low, High: high} }
	c.Measured = span(milliseconds(since.Earliest.Sub(w.T0.At)), milliseconds(t.Outcome.Times.At(n).Sub(w.T0.At)),
		milliseconds(since.Latest.Sub(w.T0.At)))
	c.Drawn = span(milliseconds(at.Earliest.Sub(w.T0.At)), milliseconds(at.Mid().Sub(w.T0.At)),
		milliseconds(at.Latest.Sub(w.T0.At)))
	c.Agrees = c.Measured.High >= c.Drawn.Low
	return c
}
