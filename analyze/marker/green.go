package marker

import (
	"fmt"
	"image"
)

// greenState is the state while a green is held.
type greenState struct {
	held    candidate
	outside int       // pixels beside the box that changed since the box was looked for
	grown   candidate // another box that the green has
}

// hold takes a candidate for the held green.
func (d *Detector) hold(c *candidate) {
	d.w = Window{GreenFrom: c.from}
	d.settle(c)
}

// settle makes a candidate's box the region.
func (d *Detector) settle(c *candidate) {
	held := *c
	d.seek.candidate, d.green = candidate{}, greenState{held: held}
	d.w.Region, d.w.GreenRegion, d.w.Exact = held.Rectangle, held.Rectangle, held.equal
	d.w.TornGreen, d.w.LostBeforeStart = nil, 0
	if held.code != nil {
		d.w.GreenCode = held.code
	}
	d.state = inGreen
	d.looks.reset(held.Rectangle)
}

// doGreen waits for the first frame that differs from the held green.
//
// If the green's frames are equal, that is the first one with a change in it. Beside the green,
// bars may slide away and leave more room for it. Changes that are large enough for that are looked
// at.
func (d *Detector) doGreen() {
	g, t := &d.green, d.touched
	g.outside += t.out
	grows := d.tracks() && t.out > 0 && (d.every || !g.grown.Empty() || g.outside >= g.held.reach)
	if (t.in > 0 || grows) && d.look() {
		if t.in > 0 && d.differs() {
			d.startContent()
			return
		}
		if grows {
			box, reach := d.eye.box(d.image, greenHue)
			g.outside, g.held.reach = 0, reach
			if box == g.held.Rectangle || !similar(box, g.held.Rectangle) {
				box = image.Rectangle{}
			}
			d.watch(&g.grown, box, reach)
		}
		if d.readCode(&g.held); g.held.code != nil {
			d.w.GreenCode = g.held.code
		}
	}
	if g.grown.held(d.n) {
		d.moved(g.grown.Rectangle, g.grown.from)
		d.settle(&g.grown)
	}
}

// differs reports whether a frame that changed differs from the held green by more than its noise.
func (d *Detector) differs() bool {
	h := &d.green.held
	if d.readCode(h); h.code != nil && !d.touches(h.field) { // it was drawn later than the green
		return false
	}
	// Without changes, equal bit by bit cannot be distinguished from noise.
	if d.w.Exact && d.change != nil {
		return true
	}
	strays := d.eye.strays(d.image, h.field, h.ref, d.o.Tolerance)
	if strays > h.most+spareStrays {
		return true
	}
	h.most = max(h.most, strays)
	d.w.Exact = false
	return false
}

// moved tells that the green has another box.
func (d *Detector) moved(box image.Rectangle, from int) {
	d.w.warn(fmt.Sprintf("the green covered %v and covers %v from frame %d on: its place changed while it was held",
		d.w.GreenRegion, box, from))
}

// startContent begins the content with a frame that differs from the green.
func (d *Detector) startContent() {
	d.looks.refresh(d.image)
	d.w.Green, d.w.Start, d.w.End, d.w.LostBeforeStart = d.last, d.n, d.last, d.lost
	d.w.TornGreen = d.tear(greenHue)
	d.state = inContent
	d.content = contentState{bandFrom: -1, slides: d.tracks(), slide: candidate{}, changedAt: d.n, reddestAt: -1}
	d.doContent()
}

// tear returns where full-width rows of a marker at the top or bottom meet something else.
func (d *Detector) tear(h hue) *Tear {
	y0, y1 := d.looks.band(d.image, h)
	return d.tearAt(d.n, y0, y1)
}

// tearAt is tear for rows [y0, y1) of frame n. A code hides the first rows.
func (d *Detector) tearAt(n, y0, y1 int) *Tear {
	r := d.w.Region
	top := y0 == r.Min.Y || d.w.GreenCode != nil && y0 <= d.green.held.field.code.Max.Y
	switch {
	case y0 == y1, top && y1 == r.Max.Y:
		return nil
	case top:
		return &Tear{n, y1}
	}
	return &Tear{n, y0}
}

// slid follows the green after a frame that differs from it. Perhaps bars only slide over its edge.
// If the green is held again, the content has not begun, and slid reports true.
func (d *Detector) slid() (green bool) {
	c, r := &d.content, d.w.Region
	if d.touched.any() && d.look() {
		d.looks.refresh(d.image)
		var box image.Rectangle
		reach := 0
		if d.looks.share(greenHue) >= similarShare {
			box, reach = d.eye.box(d.image, greenHue)
		}
		switch {
		case box == r && d.n > d.w.Start && !d.strayed(): // what covered it is gone
			d.w.warn(fmt.Sprintf("something covered the edge of the green in %s", frames(d.w.Start, d.n-1)))
			held := d.green.held
			d.settle(&held)
			return true
		case box == r || !similar(box, r):
			c.slides = false
		default:
			d.watch(&c.slide, box, reach)
		}
	}
	if c.slides && c.slide.held(d.n) {
		d.moved(c.slide.Rectangle, c.slide.from)
		d.settle(&c.slide)
		return true
	}
	return false
}

// strayed reports whether the frame that is looked at has other pixels than the held green.
func (d *Detector) strayed() bool {
	h := &d.green.held
	return d.eye.strays(d.image, h.field, h.ref, d.o.Tolerance) > h.most+spareStrays
}
