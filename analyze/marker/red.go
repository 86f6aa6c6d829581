package marker

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
)

// redState is the state while a red is shown.
type redState struct {
	spare    int // pixels that may change and leave it full, counted from when it was looked at
	warnings int // of the window before the red
}

// startRed begins the red with this frame.
func (d *Detector) startRed(spare int) {
	d.red = redState{spare, len(d.w.Warnings)}
	// it was there, beside a bar that slid away
	if a := &d.content.aside; !a.box.Empty() && d.n-a.first.Red > tornFrames {
		d.w = a.first
		d.w.RedTo = d.n
	} else {
		d.w = d.reddened()
		d.w.RedRegion = d.redRegion()
	}
	d.readRedCode()
	d.state = inRed
}

// redRegion returns the box of a red that fills the region.
func (d *Detector) redRegion() image.Rectangle {
	r := d.w.Region
	if !d.tracks() {
		return r
	}
	box, _ := d.eye.box(d.image, redHue)
	if box = r.Union(box); box != r {
		d.w.warn(fmt.Sprintf("the green covered %v and the red covers %v: their common part is measured", r, box))
	}
	return box
}

// redCodes is where a code may stand: a page draws it in what it covers now.
func (d *Detector) redCodes() [2]image.Rectangle {
	return [...]image.Rectangle{d.w.RedRegion, d.w.Region}
}

// drawsCode reports whether the frame changed where a code may stand that has not been read yet.
func (d *Detector) drawsCode() bool {
	if d.w.RedCode != nil {
		return false
	}
	for _, r := range d.redCodes() {
		r.Max.Y = r.Min.Y + codeLines(r)
		if d.touches(field{Rectangle: r}) {
			return true
		}
	}
	return false
}

func (d *Detector) readRedCode() {
	if d.w.RedCode != nil {
		return
	}
	for _, where := range d.redCodes() {
		if code, _, ok := d.eye.code(d.image, where); ok {
			d.w.RedCode = &code
			return
		}
	}
}

// doRed waits until the red has been held and is over. While fewer pixels change than a full red
// may lack, and the looks that are left are enough, it stands.
func (d *Detector) doRed() {
	if t := d.touched.in; t > 0 {
		d.red.spare -= t
		if (d.every || d.red.spare < 0 || d.looks.share(redHue) < fullLooks) && d.look() {
			d.looks.refresh(d.image)
			spare, ok := d.looks.full(d.image, redHue)
			if !ok {
				d.redOver()
				return
			}
			d.red.spare = spare
		}
	}
	if d.touched.any() && d.drawsCode() && d.look() {
		d.readRedCode()
	}
	d.w.RedTo = d.n
}

// redOver ends the red with the frame before this one.
func (d *Detector) redOver() {
	w := &d.w
	if d.n-w.Red >= heldFrames {
		d.emit(*w)
		d.restart()
		return
	}
	d.errs.add(Problem{Kind: TooShort, First: w.Red, Last: d.last,
		Text: fmt.Sprintf("the red of %s is gone in frame %d, want it in at least %d frames", frames(w.Red, d.last),
			d.n, heldFrames)}, w.End, d.n)
	w.End, w.TornRed, w.RedCode, w.LostBeforeRed = d.last, nil, nil, 0
	w.Warnings, w.RedRegion = w.Warnings[:d.red.warnings], image.Rectangle{}
	d.state = inContent
	d.content = contentState{bandFrom: -1, changedAt: d.n, reddest: 1, reddestAt: w.Red}
	d.doContent()
}

// stale reports a window whose markers are another run's, and warns of what else is wrong with
// their codes.
func (d *Detector) stale(w *Window) (Problem, bool) {
	wanted := d.o.Nonce != ""
	green, red := w.GreenCode, w.RedCode
	switch {
	case wanted && green != nil && !green.IsMarker(d.o.Nonce, strip.Green):
		return Problem{Kind: Stale, First: w.GreenFrom, Last: w.Green,
			Text: fmt.Sprintf("the green of %s is stale: it carries the code %s, which is not that of this run's green",
				frames(w.GreenFrom, w.Green), hex(green))}, true
	case wanted && red != nil && !red.IsMarker(d.o.Nonce, strip.Red):
		return Problem{Kind: Stale, First: w.Red, Last: w.RedTo,
			Text: fmt.Sprintf("the red of %s is stale: it carries the code %s, which is not that of this run's red",
				frames(w.Red, w.RedTo), hex(red))}, true
	}
	// A run that begins with a navigation comes from the rig's green page, which has no code. The
	// red's code then shows whose window it is.
	if wanted && green == nil && red == nil {
		w.warn(fmt.Sprintf("the green of %s carries no code, so it may be another run's", frames(w.GreenFrom, w.Green)))
	}
	if wanted && red == nil {
		w.warn(fmt.Sprintf("the red of %s carries no code, so it may be another run's", frames(w.Red, w.RedTo)))
	}
	if green != nil && red != nil && green.Page() != red.Page() {
		w.warn(fmt.Sprintf("the green is that of page %d and the red that of page %d", green.Page(), red.Page()))
	}
	return Problem{}, false
}

func hex(c *strip.Code) string { return fmt.Sprintf("%06x %06x %04x", c.ID, c.Clock, c.Free) }
