package analyze

import (
	"github.com/eideticker/eideticker/capture/frame"
)

// feed makes frames for the measures out of steps. It belongs to one goroutine.
type feed struct {
	*Case
	pixels bool // steps bring pixels
	early  []follower
	differ *differ
	now    Frame
}

// follower is a part that looks at the pixels of lines that changed as soon as these have been compared, while they are still in the
// processor's cache. Only where pixels are read.
type follower interface {
	// meet is told of a frame before it follows its lines. What lines there are is not known yet.
	meet(*Frame)
	// follow takes lines of the frame in which something changed: those of one band, and bands from top to bottom.
	follow(*Frame, []Line)
}

// followers returns the parts that are followers.
func followers(parts []part) (all []follower) {
	for _, p := range parts {
		if f, ok := p.(follower); ok {
			all = append(all, f)
		}
	}
	return all
}

// frame returns the frame of a step, valid until the next call.
func (f *feed) frame(step *frame.Step) (*Frame, error) {
	f.now = Frame{Step: step, Lost: f.Times.Lost(step.Number)}
	if f.pixels {
		for _, p := range f.early {
			p.meet(&f.now)
		}
		if step.Previous.Rows == nil { // a segment's first frame has nothing to differ from
			return &f.now, nil
		}
		f.now.Diff = f.follow(step)
		f.now.Unique = f.now.Diff.Pixels > f.Window.MinPixels
		return &f.now, nil
	}
	if f.Times.Broken(step.Number - 1) { // a bridge, which brings pixels
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

// follow makes the diff of a step, and lets the followers see each band of it.
func (f *feed) follow(step *frame.Step) *Diff {
	d := f.prepared()
	d.begin(step.Change, step.Previous, step.Image)
	for lines := d.band(); lines != nil; lines = d.band() {
		for _, p := range f.early {
			p.follow(&f.now, lines)
		}
	}
	return &d.diff
}

func (f *feed) diff(c *frame.Change, before, now frame.Image) *Diff {
	return f.prepared().of(c, before, now)
}

func (f *feed) prepared() *differ {
	if f.differ == nil {
		f.differ = newDiffer(f.Area, f.Options.Tolerance)
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
