package analyze

import (
	"github.com/eideticker/eideticker/capture/frame"
)

// feed makes frames for the measures out of steps. It belongs to one goroutine.
type feed struct {
	*Case
	pixels bool // steps bring pixels
	differ *differ
	now    Frame
}

// frame returns the frame of a step, valid until the next call.
func (f *feed) frame(step *frame.Step) (*Frame, error) {
	f.now = Frame{Step: step, Lost: f.Times.Lost(step.Number)}
	if f.pixels {
		if step.Previous.Rows == nil { // a segment's first frame has nothing to differ from
			return &f.now, nil
		}
		f.now.Diff = f.diff(step.Change, step.Previous, step.Image)
		f.now.Unique = f.now.Diff.Pixels > f.Window.MinPixels
		return &f.now, nil
	}
	if step.Image.Rows != nil { // over frames that cannot be read
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

func (f *feed) diff(c *frame.Change, before, now frame.Image) *Diff {
	if f.differ == nil {
		f.differ = newDiffer(f.Area, f.Options.Tolerance)
	}
	return f.differ.of(c, before, now)
}

// look decides by the pixels of a frame and the one before it.
func (f *feed) look(step *frame.Step) (bool, error) {
	if step.Number == 0 {
		return false, nil
	}
	before, err := f.Recording.Image(step.Number - 1)
	if err != nil {
		return false, &unreadable{step.Number - 1, err}
	}
	now, err := f.Recording.Image(step.Number)
	if err != nil {
		return false, &unreadable{step.Number, err}
	}
	if before.Layout.Format != now.Layout.Format {
		return false, nil
	}
	return f.diff(step.Change, before, now).Pixels > 0, nil
}
