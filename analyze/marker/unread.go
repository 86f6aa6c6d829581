package marker

import (
	"errors"
	"fmt"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// # Frames that cannot be read
//
// Unreadable frames of a damaged file count as lost. The next frame is compared with the last one
// before them. They are included in the missing frames beside a marker. A window with unreadable
// frames between or in its markers has a warning that names them. Unreadable frames outside windows
// are a problem of their own, since markers may have been among them. A marker is held if the
// frames that show it and the unreadable ones between them are three.

// maxUnread is how many places of a sequence may be damaged before it is given up.
const maxUnread = 64

// unread are frames in a row that cannot be read.
type unread struct {
	first, last int
	why         error
	told        bool
}

// stopped is why nobody wants to know any more.
type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

// tryAdd adds a frame. If it is unreadable, tryAdd restores the state, except for the knowledge
// about pixels.
func (d *Detector) tryAdd(step *frame.Step, pixels func() (frame.Image, error)) error {
	before := *d
	var area image.Rectangle
	if d.looks != nil {
		area = d.looks.area
	}
	err := d.Add(step, pixels)
	if err != nil {
		*d = before
		if d.looks != nil {
			d.looks.reset(area)
		}
	}
	return err
}

// stepOver continues with the first readable frame after a faulty one, and returns the next one. It
// returns an error if that is not possible.
func (d *Detector) stepOver(seq Sequence, fault, to int, why error) (next int, err error) {
	if s := (stopped{}); errors.As(why, &s) {
		return fault, s.error
	}
	for n := fault; n < to; n++ {
		if err := d.mayGoOn(nil); err != nil {
			return n, errors.Unwrap(err)
		}
		step, err := d.bridge(seq, n)
		if err != nil {
			continue
		}
		if len(d.unread) == maxUnread {
			return n, fmt.Errorf("the recording is damaged in more than %d places, the last at %s; choose frames: %w",
				maxUnread, frames(fault, n-1), why)
		}
		if d.tryAdd(step, nil) != nil {
			continue
		}
		if n > fault {
			d.unread = append(d.unread, unread{first: fault, last: n - 1, why: why})
		}
		return n + 1, nil
	}
	if d.count == 0 {
		return fault, why
	}
	d.unread = append(d.unread, unread{first: fault, last: to - 1, why: why})
	return to, nil
}

// bridge is the step from the last frame that could be read to frame n.
func (d *Detector) bridge(seq Sequence, n int) (*frame.Step, error) {
	err := fmt.Errorf("frame %d does not exist", n)
	var step frame.Step
	for s, fault := range seq.Changes(n, n+1) {
		if err = fault; err == nil {
			step = *s
		}
		break
	}
	if err != nil {
		return nil, err
	}
	step.Change = nil
	if step.Image, err = seq.Image(n); err != nil {
		return nil, err
	}
	if d.count == 0 {
		return &step, nil
	}
	before, err := seq.Image(d.last)
	l := step.Image.Layout
	if err != nil || l == nil || before.Layout == nil || before.Layout.Format != l.Format ||
		len(step.Image.Rows) != len(l.Rows) || len(before.Rows) != len(l.Rows) {
		return &step, nil // the change is unknown
	}
	step.Change = new(frame.Change)
	for y, r := range l.Rows {
		if start, end, ok := l.Tighten(y, before.Rows[y], step.Image.Rows[y], 0, r.Bytes); ok {
			step.Change.Spans = append(step.Change.Spans,
				frame.Span{Row: int32(y), Start: int32(start), End: int32(end)})
		}
	}
	return &step, nil
}

// tellUnread warns of frames of a window, up to its last one, that cannot be read.
func (d *Detector) tellUnread(w *Window, last int) {
	for i := range d.unread {
		u := &d.unread[i]
		if u.last < w.GreenFrom || u.first > last {
			continue
		}
		text := frames(u.first, u.last) + " cannot be read, and counted as lost"
		switch {
		case u.first > w.Green && u.last < w.Start:
			text += ": the green may end and the content begin there"
		case w.Red >= 0 && u.first > w.End && u.last < w.Red:
			text += ": the content may end and the red begin there"
		}
		w.warn(text)
		u.told = true
	}
}

// unreadProblems reports the frames that cannot be read and are in no window.
func (d *Detector) unreadProblems() {
	for i := range d.unread {
		if u := &d.unread[i]; !u.told {
			d.errs.add(Problem{Kind: Unread, First: u.first, Last: u.last,
				Text: fmt.Sprintf("%s cannot be read, and may have been part of a marker: %v", frames(u.first, u.last),
					u.why)})
		}
	}
}
