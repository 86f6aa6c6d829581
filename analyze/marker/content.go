package marker

import (
	"fmt"
	"image"
)

// contentState is the state between green and red.
type contentState struct {
	band     [2]int // lines of full-width red in the last frame
	bandFrom int    // first frame with any, or -1
	bandLost int    // frames that are missing before it and those behind it

	slides bool      // the green may go on in another box
	slide  candidate // that box

	// A red in another box than the green's. It counts only if no other comes.
	aside  aside
	sawRed bool
	asideW Window // the window with that red; valid if sawRed is set

	changedAt int     // last frame that changed
	reddest   float64 // highest share of red among the frames that were looked at
	reddestAt int     // its frame, or -1
}

// aside is a red that does not fill the region.
type aside struct {
	box   image.Rectangle
	from  int    // first frame with this box
	w     Window // with a red that begins there
	first Window // with a red that begins with the first of the boxes in a row
}

// doContent waits for the red.
//
// A frame is looked at in three cases. It may be all red or green, or have an all red line. It may
// also have a red box beside a bar. looks finds this without pixels. The content of the last look
// is kept in the bounds, so every change of it is looked at.
func (d *Detector) doContent() {
	c, l := &d.content, d.looks
	if c.slides && d.slid() {
		return
	}
	if d.touched.in > 0 {
		c.changedAt = d.n
		if (d.every || l.redLines > 0 || l.bound(redHue) >= similarShare || l.bound(greenHue) >= fullLooks) &&
			d.look() && d.judge() {
			return
		}
	}
	if torn := c.band[1] > c.band[0]; !torn {
		d.w.End, c.bandFrom, c.bandLost = d.n, -1, 0
	} else {
		if c.bandFrom < 0 {
			c.bandFrom = d.n
		}
		c.bandLost += d.lost
	}
	if a := &c.aside; !a.box.Empty() && d.n-a.from+1 >= heldFrames {
		c.sawRed, c.asideW = true, a.w
		c.asideW.RedTo = d.n
	}
}

// judge looks at a frame, and reports whether the content ends with it.
func (d *Detector) judge() (over bool) {
	c, l := &d.content, d.looks
	l.refresh(d.image)
	if share := l.share(redHue); share > c.reddest {
		c.reddest, c.reddestAt = share, d.n
	}
	if spare, ok := l.full(d.image, redHue); ok {
		d.startRed(spare)
		return true
	}
	// The first content may leave almost all of the green; a green that comes later returned.
	if d.n > d.w.Start+tornFrames {
		if _, ok := l.full(d.image, greenHue); ok {
			d.greenAgain()
			return true
		}
	}
	c.band[0], c.band[1] = l.band(d.image, redHue)
	d.redAside()
	return false
}

// redAside follows a red that a bar keeps from filling the region.
func (d *Detector) redAside() {
	a := &d.content.aside
	var box image.Rectangle
	if d.tracks() && d.looks.share(redHue) >= similarShare {
		box, _ = d.eye.box(d.image, redHue)
	}
	if r := d.w.Region; !similar(box, r) || !spans(box, r) {
		*a = aside{}
		return
	}
	if box == a.box {
		return
	}
	w := d.reddened()
	w.RedRegion = box
	if code, _, ok := d.eye.code(d.image, box); ok {
		w.RedCode = &code
	}
	w.warn(fmt.Sprintf("the green covered %v and the red covers %v only: their common part is measured", w.GreenRegion,
		box))
	first := a.first
	if a.box.Empty() {
		first = w
	}
	*a = aside{box, d.n, w, first}
}

// reddened returns the window with this frame as its red.
func (d *Detector) reddened() Window {
	c, w := &d.content, d.w
	w.Warnings = append([]string(nil), w.Warnings...)
	w.Red, w.RedTo, w.LostBeforeRed = d.n, d.n, d.lost
	if c.bandFrom >= 0 {
		if d.n-c.bandFrom > tornFrames {
			w.End = d.last // it stood too long to be a tear
		} else {
			w.TornRed = d.tearAt(d.last, c.band[0], c.band[1])
			w.LostBeforeRed += c.bandLost
		}
	}
	return w
}

// greenAgain takes a green in place of a red for the beginning of another window.
func (d *Detector) greenAgain() {
	if d.content.sawRed {
		d.emit(d.content.asideW)
	} else {
		d.errs.add(Problem{Kind: Returned, First: d.n, Last: d.n,
			Text: fmt.Sprintf("green returned in frame %d, before the red of the content from frame %d on",
				d.n, d.w.Start)}, d.w.Start, d.last, d.content.reddestAt)
	}
	d.restart()
}

// restart looks for a green again, from this frame on.
func (d *Detector) restart() {
	d.begin()
	d.doSeek()
}

// noRed ends content that no red follows, with frame last.
func (d *Detector) noRed(last int, because string) {
	c, w := &d.content, &d.w
	if c.sawRed {
		d.emit(c.asideW)
		return
	}
	text := fmt.Sprintf("no red after the green that ends with frame %d: content from frame %d on, until %s", w.Green,
		w.Start, because)
	if c.reddest >= 0.01 {
		text += fmt.Sprintf("; the most red is about %.0f %% of frame %d", 100*c.reddest, c.reddestAt)
	}
	if c.changedAt < last {
		text += fmt.Sprintf("; nothing changes after frame %d", c.changedAt)
	}
	shown := -1
	if c.reddest >= 0.01 {
		shown = c.reddestAt
	}
	d.errs.add(Problem{Kind: Missing, First: w.Start, Last: last, Text: text}, w.Green, c.changedAt, shown)
}
