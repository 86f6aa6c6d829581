package marker

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// Options of a detector; the zero value is the definition of the package.
type Options struct {
	// Tolerance is how far a pixel of a noisy green may stray from the green's mean colour, in
	// sample values of RGB; 0 for 32, which noise of ±6 in any format stays below.
	Tolerance int
	// Region is where markers are looked for, in pixels of the frame; empty for their bounding box.
	Region image.Rectangle
}

const (
	heldFrames  = 3  // frames from which on a marker is held
	tornFrames  = 3  // most frames in which a red may be torn
	spareStrays = 8  // pixels by which a noisy green may exceed its own strays
	maxProblems = 20 // kept; the rest is counted
)

// state is what the detector waits for.
type state uint8

const (
	seeking state = iota // for a green
	inGreen              // for the first change
	inContent
	inRed // for the end of the red
)

// Detector finds markers in frames that come one by one.
type Detector struct {
	o     Options
	eye   *eye
	state state
	w     Window // in the making
	done  []Window
	errs  Error

	count int // frames seen
	last  int // number of the last one

	// seeking
	box      image.Rectangle // of the green in the last frame; empty for none
	boxFrom  int             // first frame with this box
	boxEqual bool            // no frame since changed anything in the box
	stray    hue             // marker that fills the frame where none is due
	strayAt  int
	greenest float64 // highest share of green among samples so far
	greenAt  int

	// inGreen
	ref  [3]int // mean colour
	most int    // strays of any held frame

	// inContent
	band     [2]int // lines of full-width red in the last frame
	bandFrom int    // first frame with any, or -1
}

// New returns a detector that has seen nothing.
func New(o Options) *Detector {
	if o.Tolerance <= 0 {
		o.Tolerance = 32
	}
	return &Detector{o: o, last: -1, bandFrom: -1, greenAt: -1}
}

// Add takes the next frame: its number, its pixels, and how it changed from the frame before (nil if that is
// not known). Frames must be whole; numbers must ascend. Where the format changes, a window in the
// making ends with an error.
func (d *Detector) Add(n int, m frame.Image, c *frame.Change) {
	fresh := d.eye == nil || d.eye.layout.Format != m.Layout.Format
	if fresh {
		d.newFormat(n, m.Layout)
	}
	changed := fresh || d.changes(m.Layout, c)
	switch d.state {
	case seeking:
		d.seek(n, m, changed)
	case inGreen:
		d.green(n, m, c, changed)
	case inContent:
		d.content(n, m, changed)
	case inRed:
		d.red(n, m, changed)
	}
	d.count++
	d.last = n
}

// newFormat begins anew with frames of another format.
func (d *Detector) newFormat(n int, l *frame.Layout) {
	if d.eye != nil && d.state != seeking {
		d.finishWindow(fmt.Sprintf("the format changed to %v in frame %d", l.Format, n))
	}
	d.eye = newEye(l)
	d.box, d.stray = image.Rectangle{}, noHue
}

// changes reports whether anything changed where it matters: in the region once it is known.
func (d *Detector) changes(l *frame.Layout, c *frame.Change) bool {
	if c == nil {
		return true
	}
	if d.state == seeking {
		return len(c.Spans) > 0
	}
	return touches(l, c, d.w.Region)
}

func touches(l *frame.Layout, c *frame.Change, r image.Rectangle) bool {
	for _, s := range c.Spans {
		if int(s.Row) >= len(l.Rows) {
			continue
		}
		x0, y0, x1, y1 := l.Rect(int(s.Row), int(s.Start), int(s.End))
		if image.Rect(x0, y0, x1, y1).Overlaps(r) {
			return true
		}
	}
	return false
}

// seek looks for a green whose bounding box stays the same.
func (d *Detector) seek(n int, m frame.Image, changed bool) {
	if changed {
		d.lookForGreen(n, m)
	}
	if d.box.Empty() || n-d.boxFrom+1 < heldFrames {
		return
	}
	d.w = Window{GreenFrom: d.boxFrom, Region: d.box, Exact: d.boxEqual}
	d.ref = d.eye.mean(m, d.box)
	d.most = d.eye.strays(m, d.box, d.ref, d.o.Tolerance)
	d.state = inGreen
}

func (d *Detector) lookForGreen(n int, m frame.Image) {
	area := d.eye.all()
	if r := d.o.Region.Intersect(area); !r.Empty() {
		area = r
	}
	s := d.eye.sample(m, area)
	if share := s.share(greenHue); share > d.greenest {
		d.greenest, d.greenAt = share, n
	}
	var box image.Rectangle
	switch {
	case s[greenHue] == 0:
	case !d.o.Region.Empty():
		if d.eye.fullOf(m, area) == greenHue {
			box = area
		}
	default:
		box = d.eye.box(m)
	}
	if box != d.box {
		if box.Empty() {
			d.lostGreen(n)
		}
		d.box, d.boxFrom, d.boxEqual = box, n, true
	} else if !box.Empty() {
		d.boxEqual = false
	}
	d.strayRed(n, s.share(redHue) >= full)
}

// lostGreen reports a green that went without having been held. One that grew, because it was torn or bars
// slid away, is not lost.
func (d *Detector) lostGreen(n int) {
	if !d.box.Empty() && n-d.boxFrom < heldFrames {
		d.problem(TooShort, d.boxFrom, n-1, fmt.Sprintf("the green of %s covers %v and is gone in frame %d, want it in at least %d frames", frames(d.boxFrom, n-1), d.box, n, heldFrames))
	}
}

// strayRed reports a red where a green is due, once it is over.
func (d *Detector) strayRed(n int, isRed bool) {
	switch {
	case isRed && d.stray != redHue:
		d.stray, d.strayAt = redHue, n
	case !isRed && d.stray == redHue:
		d.stray = noHue
		d.problem(Missing, d.strayAt, n-1, fmt.Sprintf("%s are red, without a green before them", frames(d.strayAt, n-1)))
	}
}

// green waits for the first frame that differs from the held green.
func (d *Detector) green(n int, m frame.Image, c *frame.Change, changed bool) {
	if !changed {
		return
	}
	strays := d.eye.strays(m, d.w.Region, d.ref, d.o.Tolerance)
	// Without knowing what changed, equal bit by bit cannot be told from noise.
	if exact := d.w.Exact && c != nil; !exact && strays <= d.most+spareStrays {
		d.most = max(d.most, strays)
		d.w.Exact = false
		return
	}
	d.w.Green, d.w.Start, d.w.End = d.last, n, d.last
	d.w.TornGreen = d.tear(n, m, greenHue)
	d.state, d.bandFrom = inContent, -1
	d.content(n, m, true)
}

// tear returns where full-width rows of a marker at the top or bottom meet something else.
func (d *Detector) tear(n int, m frame.Image, h hue) *Tear {
	r := d.w.Region
	y0, y1 := d.eye.band(m, r, h)
	switch {
	case y0 == y1, y0 == r.Min.Y && y1 == r.Max.Y:
		return nil
	case y0 == r.Min.Y:
		return &Tear{n, y1}
	}
	return &Tear{n, y0}
}

// content waits for the red.
func (d *Detector) content(n int, m frame.Image, changed bool) {
	if changed {
		switch d.eye.fullOf(m, d.w.Region) {
		case redHue:
			d.endContent(n)
			return
		case greenHue:
			// The first content may leave almost all of the green; a green that comes later returned.
			if n > d.w.Start+tornFrames {
				d.greenAgain(n, m)
				return
			}
		}
		d.band[0], d.band[1] = d.eye.band(m, d.w.Region, redHue)
	}
	switch torn := d.band[1] > d.band[0]; {
	case !torn:
		d.w.End, d.bandFrom = n, -1
	case d.bandFrom < 0:
		d.bandFrom = n
	}
}

// endContent begins the red.
func (d *Detector) endContent(n int) {
	d.w.Red, d.w.RedTo = n, n
	if d.bandFrom >= 0 {
		r := d.w.Region
		if n-d.bandFrom > tornFrames {
			d.w.End = d.last // it stood too long to be a tear
		} else if d.band[0] == r.Min.Y {
			d.w.TornRed = &Tear{d.last, d.band[1]}
		} else {
			d.w.TornRed = &Tear{d.last, d.band[0]}
		}
	}
	d.state = inRed
}

// greenAgain takes a green in place of a red for the beginning of another window.
func (d *Detector) greenAgain(n int, m frame.Image) {
	d.problem(Returned, n, n, fmt.Sprintf("green returned in frame %d, before the red that is due after the content from frame %d on", n, d.w.Start))
	d.restart(n, m)
}

// restart looks for a green again, from this frame on.
func (d *Detector) restart(n int, m frame.Image) {
	d.state, d.box, d.stray = seeking, image.Rectangle{}, noHue
	d.seek(n, m, true)
}

// red waits until the red has been held and is over.
func (d *Detector) red(n int, m frame.Image, changed bool) {
	if !changed || d.eye.fullOf(m, d.w.Region) == redHue {
		d.w.RedTo = n
		return
	}
	if n-d.w.Red < heldFrames {
		d.problem(TooShort, d.w.Red, d.last, fmt.Sprintf("the red of %s is gone in frame %d, want it in at least %d frames", frames(d.w.Red, d.last), n, heldFrames))
		d.w.End, d.w.TornRed = d.last, nil
		d.state, d.bandFrom = inContent, -1
		d.content(n, m, true)
		return
	}
	d.done = append(d.done, d.w)
	d.restart(n, m)
}

func (d *Detector) problem(kind string, first, last int, text string) {
	if len(d.errs.Problems) >= maxProblems {
		d.errs.More++
		return
	}
	d.errs.Problems = append(d.errs.Problems, Problem{kind, first, last, text})
}

// finishWindow ends a window in the making; because says what cut it off.
func (d *Detector) finishWindow(because string) {
	switch d.state {
	case inGreen:
		d.problem(Missing, d.w.GreenFrom, d.last, fmt.Sprintf("nothing follows the green of %s: %s", frames(d.w.GreenFrom, d.last), because))
	case inContent:
		d.problem(Missing, d.w.Start, d.last, fmt.Sprintf("no red after the green that ends with frame %d: content from frame %d on, until %s", d.w.Green, d.w.Start, because))
	case inRed:
		if d.w.RedTo-d.w.Red+1 < heldFrames {
			d.problem(TooShort, d.w.Red, d.w.RedTo, fmt.Sprintf("the red of %s is cut off, want it in at least %d frames: %s", frames(d.w.Red, d.w.RedTo), heldFrames, because))
		} else {
			d.done = append(d.done, d.w)
		}
	}
	d.state = seeking
}

// Finish returns the windows in order. Those that are complete are returned also when something
// was wrong with others; then the error is an *Error. Nothing may be added afterwards.
func (d *Detector) Finish() ([]Window, error) {
	if d.state == seeking {
		d.lostGreen(d.last + 1)
		d.strayRed(d.last+1, false)
	}
	d.finishWindow("the recording ends")
	if len(d.done) == 0 && len(d.errs.Problems) == 0 {
		d.problem(Missing, 0, d.last, d.noGreen())
	}
	if len(d.errs.Problems) > 0 {
		return d.done, &d.errs
	}
	return d.done, nil
}

func (d *Detector) noGreen() string {
	switch {
	case d.count == 0:
		return "no green, and no frames at all"
	case d.greenAt < 0:
		return fmt.Sprintf("no green in %d frames: nothing in them is green", d.count)
	}
	return fmt.Sprintf("no green in %d frames: the most of it is %.0f %% of frame %d", d.count, 100*d.greenest, d.greenAt)
}
