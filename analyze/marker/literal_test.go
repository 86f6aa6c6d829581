package marker

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// literal is the slow detector. It looks at every pixel of every changed frame, and does not handle
// sliding bars, codes and losses. The fast one is compared with it.

// state is what the detector waits for.
type literalState uint8

const (
	litSeeking literalState = iota // for a green
	litGreen                       // for the first change
	litContent
	litRed // for the end of the red
)

// literal finds markers in frames that come one by one.
type literal struct {
	o     Options
	eye   *literalEye
	state literalState
	w     Window // in the making
	done  []Window
	errs  Error

	count int // frames seen
	last  int // number of the last one

	// litSeeking
	box      image.Rectangle // of the green in the last frame; empty for none
	boxFrom  int             // first frame with this box
	boxEqual bool            // no frame since changed anything in the box
	stray    hue             // marker that fills the frame where none is due
	strayAt  int
	greenest float64 // highest share of green among samples so far
	greenAt  int

	// litGreen
	ref  [3]int // mean colour
	most int    // strays of any held frame

	// litContent
	band     [2]int // lines of full-width red in the last frame
	bandFrom int    // first frame with any, or -1
}

// New returns a detector that has seen nothing.
func newLiteral(o Options) *literal {
	if o.Tolerance <= 0 {
		o.Tolerance = 32
	}
	return &literal{o: o, last: -1, bandFrom: -1, greenAt: -1}
}

// Add takes the next frame: its number, its pixels, and how it changed from the frame before (nil
// if that is not known). Frames must be whole; numbers must ascend. Where the format changes, a
// window in the making ends with an error.
func (d *literal) Add(n int, m frame.Image, c *frame.Change) {
	fresh := d.eye == nil || d.eye.layout.Format != m.Layout.Format
	if fresh {
		d.newFormat(n, m.Layout)
	}
	changed := fresh || d.changes(m.Layout, c)
	switch d.state {
	case litSeeking:
		d.seek(n, m, changed)
	case litGreen:
		d.green(n, m, c, changed)
	case litContent:
		d.content(n, m, changed)
	case litRed:
		d.red(n, m, changed)
	}
	d.count++
	d.last = n
}

// newFormat begins anew with frames of another format.
func (d *literal) newFormat(n int, l *frame.Layout) {
	if d.eye != nil && d.state != litSeeking {
		d.finishWindow(fmt.Sprintf("the format changed to %v in frame %d", l.Format, n))
	}
	d.eye = newLiteralEye(l)
	d.box, d.stray = image.Rectangle{}, noHue
}

// changes reports whether anything changed where it matters: in the region once it is known.
func (d *literal) changes(l *frame.Layout, c *frame.Change) bool {
	if c == nil {
		return true
	}
	if d.state == litSeeking {
		return len(c.Spans) > 0
	}
	return literalTouches(l, c, d.w.Region)
}

func literalTouches(l *frame.Layout, c *frame.Change, r image.Rectangle) bool {
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
func (d *literal) seek(n int, m frame.Image, changed bool) {
	if changed {
		d.lookForGreen(n, m)
	}
	if d.box.Empty() || n-d.boxFrom+1 < heldFrames {
		return
	}
	d.w = Window{GreenFrom: d.boxFrom, Region: d.box, Exact: d.boxEqual}
	d.ref = d.eye.mean(m, d.box)
	d.most = d.eye.strays(m, d.box, d.ref, d.o.Tolerance)
	d.state = litGreen
}

func (d *literal) lookForGreen(n int, m frame.Image) {
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
	d.strayRed(n, s.share(redHue) >= litFull)
}

// lostGreen reports a green that went without having been held. One that grew, because it was torn
// or bars slid away, is not lost.
func (d *literal) lostGreen(n int) {
	if !d.box.Empty() && n-d.boxFrom < heldFrames {
		d.problem(TooShort, d.boxFrom, n-1,
			fmt.Sprintf("the green of %s covers %v and is gone in frame %d, want it in at least %d frames",
				frames(d.boxFrom, n-1), d.box, n, heldFrames))
	}
}

// strayRed reports a red where a green is due, once it is over.
func (d *literal) strayRed(n int, isRed bool) {
	switch {
	case isRed && d.stray != redHue:
		d.stray, d.strayAt = redHue, n
	case !isRed && d.stray == redHue:
		d.stray = noHue
		d.problem(Missing, d.strayAt, n-1, fmt.Sprintf("%s are red, without a green before them",
			frames(d.strayAt, n-1)))
	}
}

// green waits for the first frame that differs from the held green.
func (d *literal) green(n int, m frame.Image, c *frame.Change, changed bool) {
	if !changed {
		return
	}
	strays := d.eye.strays(m, d.w.Region, d.ref, d.o.Tolerance)
	// Without changes, equal bit by bit cannot be distinguished from noise.
	if exact := d.w.Exact && c != nil; !exact && strays <= d.most+spareStrays {
		d.most = max(d.most, strays)
		d.w.Exact = false
		return
	}
	d.w.Green, d.w.Start, d.w.End = d.last, n, d.last
	d.w.TornGreen = d.tear(n, m, greenHue)
	d.state, d.bandFrom = litContent, -1
	d.content(n, m, true)
}

// tear returns where full-width rows of a marker at the top or bottom meet something else.
func (d *literal) tear(n int, m frame.Image, h hue) *Tear {
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
func (d *literal) content(n int, m frame.Image, changed bool) {
	if changed {
		switch d.eye.fullOf(m, d.w.Region) {
		case redHue:
			d.endContent(n)
			return
		case greenHue:
			// The first content may leave almost all of the green; a green that comes later
			// returned.
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
func (d *literal) endContent(n int) {
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
	d.state = litRed
}

// greenAgain takes a green in place of a red for the beginning of another window.
func (d *literal) greenAgain(n int, m frame.Image) {
	d.problem(Returned, n, n,
		fmt.Sprintf("green returned in frame %d, before the red of the content from frame %d on", n,
			d.w.Start))
	d.restart(n, m)
}

// restart looks for a green again, from this frame on.
func (d *literal) restart(n int, m frame.Image) {
	d.state, d.box, d.stray = litSeeking, image.Rectangle{}, noHue
	d.seek(n, m, true)
}

// red waits until the red has been held and is over.
func (d *literal) red(n int, m frame.Image, changed bool) {
	if !changed || d.eye.fullOf(m, d.w.Region) == redHue {
		d.w.RedTo = n
		return
	}
	if n-d.w.Red < heldFrames {
		d.problem(TooShort, d.w.Red, d.last,
			fmt.Sprintf("the red of %s is gone in frame %d, want it in at least %d frames", frames(d.w.Red, d.last), n,
				heldFrames))
		d.w.End, d.w.TornRed = d.last, nil
		d.state, d.bandFrom = litContent, -1
		d.content(n, m, true)
		return
	}
	d.done = append(d.done, d.w)
	d.restart(n, m)
}

func (d *literal) problem(kind string, first, last int, text string) {
	if len(d.errs.Problems) >= maxProblems {
		d.errs.More++
		return
	}
	d.errs.Problems = append(d.errs.Problems, Problem{Kind: kind, First: first, Last: last, Text: text})
}

// finishWindow ends a window in the making; because says what cut it off.
func (d *literal) finishWindow(because string) {
	switch d.state {
	case litGreen:
		d.problem(Missing, d.w.GreenFrom, d.last,
			fmt.Sprintf("nothing follows the green of %s: %s", frames(d.w.GreenFrom, d.last), because))
	case litContent:
		d.problem(Missing, d.w.Start, d.last,
			fmt.Sprintf("no red after the green that ends with frame %d: content from frame %d on, until %s", d.w.Green,
				d.w.Start, because))
	case litRed:
		if d.w.RedTo-d.w.Red+1 < heldFrames {
			d.problem(TooShort, d.w.Red, d.w.RedTo,
				fmt.Sprintf("the red of %s is cut off, want it in at least %d frames: %s", frames(d.w.Red, d.w.RedTo),
					heldFrames, because))
		} else {
			d.done = append(d.done, d.w)
		}
	}
	d.state = litSeeking
}

// Finish returns the windows in order. Those that are complete are returned also when something
// was wrong with others; then the error is an *Error. Nothing may be added afterwards.
func (d *literal) Finish() ([]Window, error) {
	if d.state == litSeeking {
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

func (d *literal) noGreen() string {
	switch {
	case d.count == 0:
		return "no green, and no frames at all"
	case d.greenAt < 0:
		return fmt.Sprintf("no green in %d frames: nothing in them is green", d.count)
	}
	return fmt.Sprintf("no green in %d frames: the most of it is %.0f %% of frame %d", d.count, 100*d.greenest,
		d.greenAt)
}

// eye looks at frames of one layout.
type literalEye struct {
	layout *frame.Layout
	conv   *frame.Converter
	line   []byte  // one line as B G R
	col    []int32 // green pixels by column; scratch of box
	row    []int32 // green pixels by row; scratch of box
}

func newLiteralEye(l *frame.Layout) *literalEye {
	f := l.Format
	return &literalEye{l, frame.NewConverter(l), make([]byte, 3*f.Width), make([]int32, f.Width),
		make([]int32, f.Height)}
}

func (e *literalEye) all() image.Rectangle {
	return image.Rect(0, 0, e.layout.Format.Width, e.layout.Format.Height)
}

// read returns pixels of a line as B G R, valid until the next read.
func (e *literalEye) read(m frame.Image, y, x0, x1 int) []byte {
	b := e.line[:3*(x1-x0)]
	e.conv.BGRRow(b, m, y, x0, x1)
	return b
}

// literalCounts are pixels by hue.
type literalCounts [numHues]int

// share returns how many of all pixels have a hue, in 0…1.
func (c literalCounts) share(h hue) float64 {
	return float64(c[h]) / float64(max(1, c[noHue]+c[greenHue]+c[redHue]))
}

func literalCountHues(line []byte, c *literalCounts) {
	for i := 0; i+3 <= len(line); i += 3 {
		c[hueOf(int(line[i]), int(line[i+1]), int(line[i+2]))]++
	}
}

// Samples that are looked at before a frame is read whole: a grid of so many pixels.
const (
	litColumns = 32
	litRows    = 24
)

// sample literalCounts the hues of a grid over r, its edges included.
func (e *literalEye) sample(m frame.Image, r image.Rectangle) (c literalCounts) {
	for i := range litRows {
		y := r.Min.Y + i*(r.Dy()-1)/(litRows-1)
		for j := range litColumns {
			x := r.Min.X + j*(r.Dx()-1)/(litColumns-1)
			literalCountHues(e.read(m, y, x, x+1), &c)
		}
	}
	return c
}

// count literalCounts the hues of every pixel of r.
func (e *literalEye) count(m frame.Image, r image.Rectangle) (c literalCounts) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		literalCountHues(e.read(m, y, r.Min.X, r.Max.X), &c)
	}
	return c
}

const (
	litFull         = 0.99 // share of R's pixels that makes a marker litFull
	litFullOfSample = 0.90 // share of samples below which it is not worth counting
)

// fullOf returns which marker fills r, or noHue.
func (e *literalEye) fullOf(m frame.Image, r image.Rectangle) hue {
	s := e.sample(m, r)
	for _, h := range [...]hue{greenHue, redHue} {
		if s.share(h) >= litFullOfSample && e.count(m, r).share(h) >= litFull {
			return h
		}
	}
	return noHue
}

// litMinArea is the part of a frame that a green must cover to be a marker at all.
const litMinArea = 0.2

// box returns the bounding box of the green, or an empty one if the box is not full green. It omits
// rows and columns with less than half as much green as the fullest. So a green spot in a browser's
// bar does not stretch it.
func (e *literalEye) box(m frame.Image) image.Rectangle {
	clear(e.col)
	for y := range e.row {
		line := e.read(m, y, 0, len(e.col))
		n := int32(0)
		for x := range e.col {
			if hueOf(int(line[3*x]), int(line[3*x+1]), int(line[3*x+2])) == greenHue {
				e.col[x]++
				n++
			}
		}
		e.row[y] = n
	}
	x0, x1 := literalEnds(e.col)
	y0, y1 := literalEnds(e.row)
	r := image.Rect(x0, y0, x1, y1)
	if float64(r.Dx()*r.Dy()) < litMinArea*float64(len(e.col)*len(e.row)) || e.count(m, r).share(greenHue) < litFull {
		return image.Rectangle{}
	}
	return r
}

// ends returns the range outside of which no number is at least half of the highest.
func literalEnds(n []int32) (first, end int) {
	var most int32
	for _, v := range n {
		most = max(most, v)
	}
	if most == 0 {
		return 0, 0
	}
	first = -1
	for i, v := range n {
		if 2*v >= most {
			if first < 0 {
				first = i
			}
			end = i + 1
		}
	}
	return first, end
}

// band returns which lines of r are all of a hue: the longest run of them, as [y0, y1).
func (e *literalEye) band(m frame.Image, r image.Rectangle, h hue) (y0, y1 int) {
	start := -1
	for y := r.Min.Y; y <= r.Max.Y; y++ {
		if y < r.Max.Y && e.lineIs(m, r, y, h) {
			if start < 0 {
				start = y
			}
			continue
		}
		if start >= 0 && y-start > y1-y0 {
			y0, y1 = start, y
		}
		start = -1
	}
	return y0, y1
}

// lineIs reports whether a line of r has the hue, looking at a few pixels first.
func (e *literalEye) lineIs(m frame.Image, r image.Rectangle, y int, h hue) bool {
	const looks = 8
	var c literalCounts
	for j := range looks {
		x := r.Min.X + j*(r.Dx()-1)/(looks-1)
		literalCountHues(e.read(m, y, x, x+1), &c)
	}
	if c[h] < looks-1 {
		return false
	}
	c = literalCounts{}
	literalCountHues(e.read(m, y, r.Min.X, r.Max.X), &c)
	return c.share(h) >= litFull
}

// mean returns the mean colour of r.
func (e *literalEye) mean(m frame.Image, r image.Rectangle) (bgr [3]int) {
	var sum [3]int
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := e.read(m, y, r.Min.X, r.Max.X)
		for i := 0; i+3 <= len(line); i += 3 {
			sum[0] += int(line[i])
			sum[1] += int(line[i+1])
			sum[2] += int(line[i+2])
		}
	}
	n := r.Dx() * r.Dy()
	return [3]int{sum[0] / n, sum[1] / n, sum[2] / n}
}

// strays literalCounts pixels of r that differ from a colour by more than tolerance in any channel.
func (e *literalEye) strays(m frame.Image, r image.Rectangle, bgr [3]int, tolerance int) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := e.read(m, y, r.Min.X, r.Max.X)
		for i := 0; i+3 <= len(line); i += 3 {
			if literalFar(int(line[i])-bgr[0], tolerance) || literalFar(int(line[i+1])-bgr[1], tolerance) ||
				literalFar(int(line[i+2])-bgr[2], tolerance) {
				n++
			}
		}
	}
	return n
}

func literalFar(d, tolerance int) bool { return d > tolerance || -d > tolerance }
