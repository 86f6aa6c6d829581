package groundtruth

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/site"
)

// check is one number three times: measured, drawn, and claimed by the page.
type check struct {
	result.Check
	of string // the measured value, such as fps.framerate; empty if there is none
}

func newCheck(what, unit, of string) check { return check{result.Check{What: what, Unit: unit}, of} }

// notMade says why a check cannot be made.
func (c check) notMade(format string, args ...any) check {
	c.Unchecked, c.Agrees, c.Note = true, false, fmt.Sprintf(format, args...)
	return c
}

// claim puts beside a number what the page says of it.
func (c *check) claim(t *played, name string) {
	if said, ok := t.Report.Truth.Claim(name); ok {
		c.Claimed = &said.Value
	}
}

const notMeasured = "not measured"

func spanOf(v analyze.Value) result.Span {
	return result.Span{Value: v.Value, Low: v.Low, High: v.High}
}

func exactly(n int) result.Span { return exact(float64(n)) }

func exact(x float64) result.Span { return result.Span{Value: x, Low: x, High: x} }

// meet reports whether two numbers may be the same.
func meet(a, b result.Span) bool { return a.Low <= b.High && b.Low <= a.High }

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// checks compares each measure of a page with the drawn content.
func (t *played) checks() []check {
	list := []check{t.checkPictures()}
	if t.asked("fps") && t.repeatable() {
		list = append(list, t.checkUnique())
	}
	p := t.Report.Page
	counts := p.Loads() || p.Checker != nil || len(t.Report.Truth.Places) > 0
	switch {
	case counts && !t.pixelForPixel():
		c := newCheck("pixels of the page", "pixels", "")
		w := t.Outcome.Window.Region
		return append(list, c.notMade("the page counts those of its viewport of %dx%d, and is seen in %dx%d",
			t.Report.Width, t.Report.Height, w.Width, w.Height))
	case p.Loads():
		list = append(list, t.checkLoad()...)
	case p.Flip != nil:
		list = append(list, t.checkTearing()...)
	case p.Cadence == site.CadenceWindow:
		list = append(list, t.checkWindow()...)
	case p.Cadence == site.CadenceInput:
		list = append(list, t.checkResponse()...)
	case p.Checker != nil:
		list = append(list, t.checkChecker()...)
	default:
		list = append(list, t.checkFramerate()...)
	}
	if len(t.Report.Truth.Places) > 0 && t.asked("scroll") {
		list = append(list, t.checkMotion()...)
	}
	return append(list, t.checkScript()...)
}

// pixelForPixel reports whether a pixel of the page's viewport is one of the screen, and was
// captured as one.
func (t *played) pixelForPixel() bool {
	w := t.Outcome.Window.Region
	return t.Report.PixelRatio == 1 && t.Report.Width == w.Width && t.Report.Height == w.Height
}

// checkPictures: every picture that was seen is one that the page drew, and none is another page's.
func (t *played) checkPictures() check {
	c := newCheck("pictures seen and drawn", "pictures", "")
	claimed := float64(len(t.Report.Drawn))
	c.Claimed = &claimed
	c.Measured, c.Drawn = exactly(t.sum.Distinct), exactly(t.sum.Distinct-len(t.sum.Undrawn))
	for _, s := range t.sum.Sightings {
		if _, drawn := t.place(int(s.ID)); !drawn {
			c.Frames = append(c.Frames, s.First)
		}
	}
	c.Agrees = t.sum.Distinct > 0 && len(t.sum.Undrawn) == 0 && t.sum.Foreign == 0
	switch {
	case t.sum.Foreign > 0:
		c.Note = fmt.Sprintf("%d frames show another page", t.sum.Foreign)
	case t.sum.Distinct == 0:
		c.Note = "no frame shows a picture of the page"
	}
	return c
}

// checkUnique: a frame is unique only if its picture, or mixture of pictures, differs from the
// previous one.
func (t *played) checkUnique() check {
	drawn, unsure := t.changes()
	c := newCheck("unique frames", "frames", "fps.unique_frames")
	c.Drawn = result.Span{Value: float64(len(drawn)), Low: float64(len(drawn)), High: float64(len(drawn) + len(unsure))}
	claimed := float64(len(t.Report.Drawn))
	c.Claimed = &claimed
	v, ok := t.value("fps", "unique_frames")
	if !ok {
		c.Note = notMeasured
		return c
	}
	if len(unsure) > 0 {
		c.Note = fmt.Sprintf("left out: %d frames with a strip that cannot be read", len(unsure))
	}
	c.Frames = t.disagreements()
	c.Measured, c.Agrees = spanOf(v), len(c.Frames) == 0
	return c
}
