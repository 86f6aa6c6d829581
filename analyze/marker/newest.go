package marker

import "slices"

// open reports whether content is in the making. Its red is not held yet.
func (d *Detector) open() bool {
	return d.state == inContent || d.state == inRed && !d.redHeld()
}

func (d *Detector) redHeld() bool { return d.w.RedTo-d.w.Red+1 >= heldFrames }

// standing returns the window whose red is held and still there. More may become known of its red:
// how long it lasts, and a code that is drawn late.
func (d *Detector) standing() (Window, bool) {
	if d.state != inRed || !d.redHeld() {
		return Window{}, false
	}
	w := d.w
	w.Region, w.Warnings = w.GreenRegion.Intersect(w.RedRegion), slices.Clone(w.Warnings)
	_, stale := d.stale(&w)
	return w, !stale
}

// Newest returns the newest window that is complete by now. Its red may still be there.
func (d *Detector) Newest() (Window, bool) {
	if w, ok := d.standing(); ok {
		return w, true
	}
	if n := len(d.done); n > 0 {
		return d.done[n-1], true
	}
	return Window{}, false
}
