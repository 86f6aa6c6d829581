package marker

import (
	"fmt"
	"image"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
)

// Options of a detector; the zero value is the definition of the package.
type Options struct {
	// Tolerance is the maximum difference of a pixel from a noisy green's mean colour, in RGB
	// values. 0 means 32. Noise of ±6 in any format stays below that.
	Tolerance int
	// Region is where markers are looked for, in pixels of the frame; empty for their bounding box.
	Region image.Rectangle
	// Nonce names the run whose markers are wanted. Markers with the code of another run are
	// refused as stale. A red without a code is named in the window's warnings, and so is its green
	// without a code. If Nonce is empty, any code is accepted.
	Nonce string
	// Stop is asked by [Find] before each frame, as a context's Err: an error ends the search. May
	// be nil.
	Stop func() error
}

const (
	heldFrames  = 3 // frames from which on a marker is held
	tornFrames  = 3 // most frames in which a red may be torn
	spareStrays = 8 // pixels by which a noisy green may exceed its own strays
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
	looks *looks
	every bool // look at every frame that changed, trusting no bound: for tests
	state state
	w     Window // in the making
	done  []Window
	errs  Error

	count    int    // frames seen
	last     int    // number of the last one
	sequence uint64 // of the last one
	asked    int    // frames whose pixels were asked for
	unread   []unread

	// The frame that is being added.
	n       int
	change  *frame.Change
	touched touched
	lost    int // frames that are missing just before it
	pixels  func() (frame.Image, error)
	step    frame.Image
	image   frame.Image // its rows are nil until the frame is looked at
	err     error       // why it could not be

	seek    seekState
	green   greenState
	content contentState
	red     redState
}

// New returns a detector that has seen nothing.
func New(o Options) *Detector {
	if o.Tolerance <= 0 {
		o.Tolerance = 32
	}
	d := &Detector{o: o, last: -1}
	d.seek.greenAt = -1
	return d
}

// Add takes the next frame. It uses the step's number, metadata, change (nil if unknown) and its
// image's layout. If the change alone is not enough, Add calls pixels for the frame's image, at
// most once. A nil pixels stands for the step's own image. Numbers must ascend. A change of the
// format ends a window in the making with an error.
//
// An error means that the frame could not be looked at. The detector continues with the facts that
// do not need its pixels.
func (d *Detector) Add(step *frame.Step, pixels func() (frame.Image, error)) error {
	switch {
	case step.Image.Layout == nil:
		return fmt.Errorf("look for markers in frame %d: its layout is not known", step.Number)
	case step.Number <= d.last:
		return fmt.Errorf("look for markers in frame %d: frame %d was there before it", step.Number, d.last)
	}
	fresh := d.eye == nil || d.eye.layout.Format != step.Image.Layout.Format
	d.n, d.change, d.pixels, d.step, d.err, d.lost = step.Number, step.Change, pixels, step.Image, nil, 0
	if gap := step.Meta.Sequence - d.sequence - 1; d.count > 0 && step.Meta.Sequence > d.sequence && gap < 1<<31 {
		d.lost = int(gap)
	}
	if fresh {
		d.newFormat(step.Image.Layout)
		d.change = nil
	}
	d.touch()
	switch d.state {
	case seeking:
		d.doSeek()
	case inGreen:
		d.doGreen()
	case inContent:
		d.doContent()
	case inRed:
		d.doRed()
	}
	d.count++
	d.last, d.sequence = d.n, step.Meta.Sequence
	d.image, d.step, d.pixels, d.change = frame.Image{}, frame.Image{}, nil, nil
	if d.err != nil {
		return fmt.Errorf("look for markers in frame %d: %w", d.n, d.err)
	}
	return nil
}

// look sees to it that the frame's pixels are there, and reports whether they are.
func (d *Detector) look() bool {
	if d.image.Rows != nil {
		return true
	}
	if d.err != nil {
		return false
	}
	d.asked++
	m := d.step
	if d.pixels != nil {
		if m, d.err = d.pixels(); d.err != nil {
			return false
		}
	}
	if d.err = d.eye.check(m); d.err != nil {
		return false
	}
	d.image = m
	return true
}

// newFormat begins anew with frames of another format.
func (d *Detector) newFormat(l *frame.Layout) {
	if d.eye != nil {
		d.finish(fmt.Sprintf("the format changed to %v in frame %d", l.Format, d.n))
	}
	d.eye = newEye(l)
	d.looks = newLooks(d.eye)
	d.begin()
}

// begin looks for a green from here on.
func (d *Detector) begin() {
	d.state = seeking
	d.seek.candidate, d.seek.red = candidate{}, false
	d.looks.reset(d.searched())
}

// searched is where markers are looked for.
func (d *Detector) searched() image.Rectangle {
	if r := d.o.Region.Intersect(d.eye.all()); !r.Empty() {
		return r
	}
	return d.eye.all()
}

// tracks reports whether a marker is where its bounding box is.
func (d *Detector) tracks() bool { return d.o.Region.Empty() }

// touched says how much of a frame changed: pixels, some of them twice where a format keeps colour
// apart.
type touched struct {
	in  int // in the field that the state is about
	out int // anywhere else
}

func (t touched) any() bool { return t.in+t.out > 0 }

// touch takes the frame's spans into account.
func (d *Detector) touch() {
	f := d.field()
	if d.change == nil { // anything may have changed
		d.looks.forget(d.looks.area)
		d.touched = touched{f.pixels(), max(1, area(d.eye.all())-f.pixels())}
		return
	}
	d.touched = touched{}
	for i := range d.change.Spans {
		r := d.eye.rect(&d.change.Spans[i])
		in := area(r.Intersect(f.Rectangle)) - area(r.Intersect(f.code))
		d.touched.in += in
		d.touched.out += area(r) - in
		d.looks.forget(r)
	}
	if d.every && d.touched.any() {
		d.looks.forget(d.looks.area)
	}
}

func (e *eye) rect(s *frame.Span) image.Rectangle { return rectOf(e.layout, s) }

// rectOf returns the pixels of a span, and none for one that lies outside the frame.
func rectOf(l *frame.Layout, s *frame.Span) image.Rectangle {
	if s.Row < 0 || int(s.Row) >= len(l.Rows) {
		return image.Rectangle{}
	}
	start, end := max(0, int(s.Start)), min(int(s.End), l.Rows[s.Row].Seen)
	if start >= end {
		return image.Rectangle{}
	}
	x0, y0, x1, y1 := l.Rect(int(s.Row), start, end)
	return image.Rect(x0, y0, x1, y1)
}

// touches reports whether the frame changed in a field.
func (d *Detector) touches(f field) bool {
	if d.change == nil {
		return true
	}
	for i := range d.change.Spans {
		r := d.eye.rect(&d.change.Spans[i])
		if area(r.Intersect(f.Rectangle)) > area(r.Intersect(f.code)) {
			return true
		}
	}
	return false
}

// field is what the state is about: the green's box, without its code, or the region.
func (d *Detector) field() field {
	switch d.state {
	case seeking:
		return d.seek.candidate.field
	case inGreen:
		return d.green.held.field
	}
	return field{Rectangle: d.w.Region}
}

// emit ends the window in the making, whose red was held. The measured region is inside both
// markers' boxes.
func (d *Detector) emit(w Window) {
	w.Region = w.GreenRegion.Intersect(w.RedRegion)
	if p, stale := d.stale(&w); stale {
		d.errs.add(p, w.Green, w.Red)
		return
	}
	d.tellUnread(&w, w.RedTo)
	d.done = append(d.done, w)
}

// windows returns the windows that are complete by now, in order; the last one's red may still
// stand.
func (d *Detector) windows() []Window {
	all := slices.Clone(d.done)
	if w, ok := d.standing(); ok {
		all = append(all, w)
	}
	return all
}

// finish ends a window in the making; because says what cut it off.
func (d *Detector) finish(because string) {
	switch d.state {
	case seeking:
		d.lostGreen(d.last + 1)
		d.strayRed(d.last+1, false)
	case inGreen:
		d.errs.add(Problem{Kind: Missing, First: d.w.GreenFrom, Last: d.last,
			Text: fmt.Sprintf("nothing follows the green of %s: %s", frames(d.w.GreenFrom, d.last), because)})
	case inContent:
		d.noRed(d.last, because)
	case inRed:
		if d.w.RedTo-d.w.Red+1 < heldFrames {
			d.errs.add(Problem{Kind: TooShort, First: d.w.Red, Last: d.w.RedTo,
				Text: fmt.Sprintf("the red of %s is cut off, want it in at least %d frames: %s",
					frames(d.w.Red, d.w.RedTo), heldFrames, because)}, d.w.End)
		} else {
			d.emit(d.w)
		}
	}
	d.state, d.seek.candidate, d.seek.red = seeking, candidate{}, false
}

// close returns the windows in order. Those that are complete are returned also when something
// was wrong with others; then the error is an *Error. Nothing may be added afterwards.
func (d *Detector) close() ([]Window, error) {
	if d.open() {
		w := d.w
		w.End, w.Red, w.RedTo = d.last, -1, -1
		w.Warnings = slices.Clone(w.Warnings)
		d.tellUnread(&w, d.last)
		d.errs.Open = &w
	}
	d.finish("the recording ends")
	if len(d.done) == 0 && len(d.errs.Problems) == 0 {
		text, shown := d.noGreen()
		d.errs.add(Problem{Kind: Missing, First: 0, Last: d.last, Text: text}, shown)
	}
	d.unreadProblems()
	if len(d.errs.Problems) > 0 {
		return d.done, &d.errs
	}
	return d.done, nil
}
