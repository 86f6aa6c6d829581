package measure

import (
	"github.com/eideticker/eideticker/capture/frame"
)

// feed makes frames for the measures out of steps. It belongs to one goroutine.
type feed struct {
	*Case
	pixels bool // steps bring pixels
	begun  bool // they have brought a frame
	early  []Follower
	differ *Differ
	now    Frame
}

// Follower is a part that reads the pixels of changed lines as soon as they have been compared.
// They are then still in the processor's cache. It is used only where pixels are read.
type Follower interface {
	// Meet gets a frame before its lines. The lines of the frame are not known yet. Pixels may be
	// incomplete, except in the first frame that meet gets and in frames whose lines are not
	// followed.
	Meet(*Frame)
	// Follow takes lines of the frame in which something changed: those of one band, and bands from
	// top to bottom.
	Follow(*Frame, []Line)
}

// NewFeed returns a feed for some parts.
func NewFeed(c *Case, parts []Part, pixels bool) *feed {
	f := &feed{Case: c, pixels: pixels}
	for _, p := range parts {
		if p, ok := p.(Follower); ok {
			f.early = append(f.early, p)
		}
	}
	return f
}

// Frame returns the frame of a step, valid until the next call.
func (f *feed) Frame(step *frame.Step) (*Frame, error) {
	f.now = Frame{Step: step, Lost: f.Times.Lost(step.Number)}
	if f.pixels {
		nothing := step.Previous.Rows == nil // before a segment's first frame, from which it could differ
		if !f.begun || nothing {
			if err := f.fill(step, len(f.Layout.Rows)); err != nil {
				return nil, err
			}
		}
		f.begun = true
		for _, p := range f.early {
			p.Meet(&f.now)
		}
		if nothing {
			return &f.now, nil
		}
		if err := f.follow(step); err != nil {
			return nil, err
		}
		f.now.Unique = f.now.Diff.Pixels > f.Window.MinPixels
		return &f.now, nil
	}
	if f.Times.IsUnreadable(step.Number - 1) { // a bridge, which brings pixels
		f.now.Unique = f.diff(step.Change, step.Previous, step.Image).Pixels > 0
		return &f.now, nil
	}
	switch f.Area.judge(step.Change) {
	case different:
		f.now.Unique = true
	case unsure:
		unique, err := f.look(step)
		if err != nil {
			return nil, err
		}
		f.now.Unique = unique
	}
	return &f.now, nil
}

// fill has the rows before the given one brought.
func (f *feed) fill(step *frame.Step, rows int) error {
	if step.Fill == nil {
		return nil
	}
	if err := step.Fill(rows); err != nil {
		return &UnreadableError{step.Number, err}
	}
	return nil
}

// follow makes the diff of a step, and lets the followers see each band of it.
func (f *feed) follow(step *frame.Step) error {
	d := f.prepared()
	d.begin(step.Change, step.Previous, step.Image)
	f.now.Diff = &d.diff
	all := len(f.Layout.Rows)
	for end := d.bandEnd(); end > 0; end = d.bandEnd() {
		rows := end
		if all > f.Layout.Format.Height { // chroma is behind luma
			rows = all
		}
		if err := f.fill(step, rows); err != nil {
			return err
		}
		lines := d.band()
		for _, p := range f.early {
			p.Follow(&f.now, lines)
		}
	}
	return f.fill(step, all)
}

func (f *feed) diff(c *frame.Change, before, now frame.Image) *Diff {
	return f.prepared().Of(c, before, now)
}

func (f *feed) prepared() *Differ {
	if f.differ == nil {
		f.differ = NewDiffer(f.Area, f.Tolerance)
	}
	return f.differ
}

// look decides by the pixels of a frame and the one before it.
func (f *feed) look(step *frame.Step) (bool, error) {
	if step.Number == 0 {
		return false, nil
	}
	before, err := f.Recording.Image(step.Number - 1)
	if err != nil {
		return false, &UnreadableError{step.Number - 1, err}
	}
	now, err := f.Recording.Image(step.Number)
	if err != nil {
		return false, &UnreadableError{step.Number, err}
	}
	if before.Layout.Format != now.Layout.Format {
		return false, nil
	}
	return f.diff(step.Change, before, now).Pixels > 0, nil
}
