package marker

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
)

// candidate is a green's box that may turn out to be held.
type candidate struct {
	field
	from  int  // first frame with this box
	equal bool // no frame since changed anything in it
	ref   [3]int
	most  int // pixels of the last frame that stray from ref, the mean colour
	reach int // as of eye.box
	code  *strip.Code
}

func (c *candidate) held(n int) bool { return !c.Empty() && n-c.from+1 >= heldFrames }

// watch goes on with a candidate whose box is this in the frame that is looked at.
func (d *Detector) watch(c *candidate, box image.Rectangle, reach int) {
	switch {
	case box.Empty():
		*c = candidate{}
		return
	case box != c.Rectangle:
		*c = candidate{field: field{Rectangle: box}, from: d.n, equal: true}
		d.readCode(c)
	default:
		d.readCode(c)
		c.equal = c.equal && !d.touches(c.field)
	}
	c.reach = reach
	c.ref = d.eye.mean(d.image, c.field)
	c.most = d.eye.strays(d.image, c.field, c.ref, d.o.Tolerance)
}

// readCode reads the code in a candidate, unless it was read before.
func (d *Detector) readCode(c *candidate) {
	if c.code != nil {
		return
	}
	if code, place, ok := d.eye.code(d.image, c.Rectangle); ok {
		c.code, c.field.code = &code, place
	}
}

// seekState is the state of the search for a green.
type seekState struct {
	candidate candidate
	red       bool // a red stands where none is due
	redFrom   int
	greenest  float64 // highest share of green among the frames that were looked at
	greenAt   int     // its frame, or -1
}

// doSeek looks for a green whose bounding box stays the same.
func (d *Detector) doSeek() {
	s, l := &d.seek, d.looks
	// A box needs at least minShare of the looks, a red fullLooks. A candidate has them, so that
	// each change is looked at.
	if d.touched.any() && (d.every || l.bound(greenHue) >= minShare || l.bound(redHue) >= fullLooks) && d.look() {
		d.lookForGreen()
	}
	if s.candidate.held(d.n) {
		d.hold(&s.candidate)
	}
}

func (d *Detector) lookForGreen() {
	s, l := &d.seek, d.looks
	l.refresh(d.image)
	if share := l.share(greenHue); share > s.greenest {
		s.greenest, s.greenAt = share, d.n
	}
	var box image.Rectangle
	reach := 0
	switch {
	case l.share(greenHue) < minShare:
	case d.tracks():
		box, reach = d.eye.box(d.image, greenHue)
	default:
		if _, ok := l.full(d.image, greenHue); ok {
			box = l.area
		}
	}
	if box.Empty() {
		d.lostGreen(d.n)
	}
	d.watch(&s.candidate, box, reach)
	_, red := l.full(d.image, redHue)
	d.strayRed(d.n, red)
}

// lostGreen reports a green that went, in frame n, without having been held. One that grew, because
// it was torn or bars slid away, is not lost.
func (d *Detector) lostGreen(n int) {
	if c := &d.seek.candidate; !c.Empty() && n-c.from < heldFrames {
		d.errs.add(Problem{Kind: TooShort, First: c.from, Last: n - 1,
			Text: fmt.Sprintf("the green of %s covers %v and is gone in frame %d, want it in at least %d frames",
				frames(c.from, n-1), c.Rectangle, n, heldFrames)}, min(n, d.n))
	}
}

// strayRed reports a red where a green is due, once it is over, in frame n.
func (d *Detector) strayRed(n int, isRed bool) {
	s := &d.seek
	switch {
	case isRed && !s.red:
		s.red, s.redFrom = true, n
	case !isRed && s.red:
		s.red = false
		p := Problem{Kind: Missing, First: s.redFrom, Last: n - 1,
			Text: fmt.Sprintf("%s are red, without a green before them", frames(s.redFrom, n-1))}
		if k := len(d.done); k > 0 {
			p.Kind = Returned
			p.Text = fmt.Sprintf("the red of %s returned in %s, without a green between",
				frames(d.done[k-1].Red, d.done[k-1].RedTo), frames(s.redFrom, n-1))
		}
		d.errs.add(p, s.redFrom-1)
	}
}

// noGreen describes how the marker is missing, and returns the frame that shows it best.
func (d *Detector) noGreen() (text string, frame int) {
	switch s := &d.seek; {
	case d.count == 0:
		return "no green, and no frames at all", -1
	case s.greenAt < 0:
		return fmt.Sprintf("no green in %d frames: nothing in them is green", d.count), -1
	default:
		return fmt.Sprintf("no green in %d frames: the most of it is %.0f %% of frame %d", d.count, 100*s.greenest,
			s.greenAt), s.greenAt
	}
}
