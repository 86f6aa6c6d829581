package tearing

import (
	"github.com/eideticker/eideticker/analyze/codestrip"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

// stripCheck decides by the code strip whether frames that look torn are. The page writes the id of
// the frame that it draws into each copy: where the copies above and below a tear say the same id,
// the page drew it like that. It belongs to one goroutine.
type stripCheck struct {
	*measure.Case
	decoder *strip.Decoder
	against int // frames that look torn, and are not
	silent  int // frames of which it cannot tell
	// an image of the set may be torn itself: the most frequent picture need not be whole
	doubts bool
}

// newStripCheck returns nil where a frame, which is s, shows no strip.
func newStripCheck(c *measure.Case, s frame.Image) *stripCheck {
	const least = 192 // pixels; a strip does not fit into less
	if c.Area.Region.Width < least {
		return nil
	}
	d := codestrip.NewDecoder(c)
	if d == nil {
		return nil
	}
	for _, copy := range d.Read(s).Copies {
		if copy.OK && !copy.Code.OnMarker() {
			return &stripCheck{Case: c, decoder: d}
		}
	}
	return nil
}

func (w *stripCheck) fork() *stripCheck {
	if w == nil {
		return nil
	}
	return &stripCheck{Case: w.Case, decoder: codestrip.NewDecoder(w.Case)}
}

// hold looks whether the images of a set are whole: whether all copies of the strip in each say the
// same.
func (w *stripCheck) hold(set *imageSet) {
	if w == nil {
		return
	}
	for _, m := range set.images {
		copies := w.decoder.Read(m).Copies
		for i := range copies {
			if c := &copies[i]; !c.OK || c.Code.OnMarker() || c.Code.ID != copies[0].Code.ID {
				w.doubts = true
			}
		}
	}
}

// look takes a frame that looks torn at some lines.
func (w *stripCheck) look(m frame.Image, rows []int) {
	if w == nil {
		return
	}
	copies, cell := w.decoder.Read(m).Copies, w.decoder.Geometry().Cell
	silent := false
	for _, y := range rows {
		var above, below *strip.Copy
		for i := range copies {
			switch c := &copies[i]; {
			case !c.OK || c.Code.OnMarker():
			case c.Top+cell <= y:
				above = c
			case c.Top >= y && below == nil:
				below = c
			}
		}
		switch {
		case above == nil || below == nil:
			silent = true
		case above.Code.ID == below.Code.ID:
			w.against++
			return
		}
	}
	if silent {
		w.silent++
	}
}

func (w *stripCheck) merge(n *stripCheck) {
	if w != nil && n != nil {
		w.against, w.silent = w.against+n.against, w.silent+n.silent
	}
}

// confirms reports whether all frames that look torn are.
func (w *stripCheck) confirms() bool { return w != nil && w.against == 0 && w.silent == 0 && !w.doubts }

// refutes reports whether some frames that look torn are not.
func (w *stripCheck) refutes() bool { return w != nil && w.against > 0 }
