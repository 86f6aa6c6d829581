package marker

import "slices"

// Content returns the window that is in the making, and the last frame that is its content whatever
// comes: what lies behind that may turn out to be part of a torn red, or a red that is not held.
// These are never more than [Undecided] frames. ok is false where no content is in the making, also
// from when its red is held.
//
// Of the window, what concerns the green and s is known; it may be given up all the same, where the
// green comes back or something only slid over its edge. Its Region is the green's.
func (d *Detector) Content() (w Window, certain int, ok bool) {
	switch c := &d.content; {
	case d.state == inContent && (c.bandFrom < 0 || d.last+1-c.bandFrom > tornFrames):
		return d.w, d.last, true
	case d.state == inContent, d.state == inRed && !d.redHeld():
		return d.w, d.w.End, true
	}
	return Window{}, 0, false
}

// Undecided is how many frames of content there can be of which it is not known yet whether they
// are any: those of a torn red, and a red that is not held.
const Undecided = tornFrames + heldFrames - 1

func (d *Detector) redHeld() bool { return d.w.RedTo-d.w.Red+1 >= heldFrames }

// Newest returns the newest window that is complete by now. While its red stands, more may come to
// be known of it: how long it stands, and a code that is drawn late.
func (d *Detector) Newest() (Window, bool) {
	if d.state == inRed && d.redHeld() {
		w := d.w
		w.Region, w.Warnings = w.GreenRegion.Intersect(w.RedRegion), slices.Clone(w.Warnings)
		if _, stale := d.stale(&w); !stale {
			return w, true
		}
	}
	if n := len(d.done); n > 0 {
		return d.done[n-1], true
	}
	return Window{}, false
}
