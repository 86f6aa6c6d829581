package analyze

import (
	"context"

	"github.com/eideticker/eideticker/capture/frame"
)

// lateTearing looks for the disjoint images of a window while its frames come, as findImages does,
// and feeds tearing from where they are known. What came before that, at most a few seconds, is
// taken from the recording in the end. Where there are no such images, or too few frames to know,
// all of it is.
//
// Content that is made of disjoint images changes everywhere when it changes, so it is given up
// where that was not seen within the first few changes: looking for images would cost too much
// then.
type lateTearing struct {
	*Case
	scan    *changeScan
	gallery gallery
	waiting []frame.Image // of the first states, until all of R has changed
	last    frame.Image   // of the last state
	set     *imageSet     // nil: not known yet
	over    bool          // it is left to the end

	from int
	part *tearing // fed from frame from on; nil: not yet
	s    *witness // as s shows it
}

const wholeWithin = 4 // states

func newLateTearing(c *Case) *lateTearing {
	if len(c.Options.Tearing.Images) > 0 {
		return nil // they may lie anywhere in the recording
	}
	return &lateTearing{Case: c, scan: newChangeScan(c), gallery: gallery{lineEqual: newLineEqual(c), most: c.images()}}
}

// add takes the next frame, and reports whether frames are to come with their diff from now on.
func (t *lateTearing) add(f *Frame) (pixels bool) {
	switch {
	case t == nil || t.over:
		return false
	case t.part != nil:
		t.part.add(f)
		return true
	}
	if f.Number == t.Window.Start && !t.Options.Tearing.Disjoint {
		t.s = newWitness(t.Case, f.Image)
	}
	if !t.scan.add(f.Step) {
		return false
	}
	n := len(t.scan.states)
	if t.set == nil {
		if n > 1 {
			t.waiting = append(t.waiting, t.last)
		}
		t.look(n)
		if n <= maxLooks && !t.over {
			t.last = copyOf(f.Image)
		}
	}
	if t.set == nil || t.over {
		return false
	}
	t.from, t.part = f.Number+1, &tearing{Case: t.Case, set: t.set, guessed: !t.Options.Tearing.Disjoint, witness: t.s,
		pairRule: true, suspects: suspects{Case: t.Case}}
	return true
}

// look shows the gallery the images whose states are over. The n-th state has begun.
func (t *lateTearing) look(n int) {
	if t.scan.left.pixels > 0 {
		t.over = n > wholeWithin
		return
	}
	for i, m := range t.waiting {
		if why := t.gallery.add(m, t.scan.states[n-1-len(t.waiting)+i]); why != "" {
			t.over = true
			return
		}
	}
	t.waiting = t.waiting[:0]
	if n > maxLooks {
		t.set, _ = t.gallery.set()
		t.over = t.set == nil
	}
}

func copyOf(m frame.Image) frame.Image {
	pix := make([]byte, m.Layout.Size)
	m.CopyTo(pix)
	return m.Layout.View(pix)
}

// result takes the frames before those that were fed, and returns false where none were.
func (t *lateTearing) result(ctx context.Context) (Result, bool, error) {
	if t == nil || t.part == nil {
		return Result{}, false, nil
	}
	front := t.part.fork().(*tearing)
	run := run{Case: t.Case, parts: []part{front}, pixels: true}
	if err := run.share(ctx, run.parts, t.Window.Start, t.from); err != nil {
		return Result{}, false, err
	}
	front.merge(t.part)
	m := tearingMeasure()
	r := front.result()
	r.Measure, r.Version = m.name, m.version
	return r.complete(), true, nil
}
