package marker

import (
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// Glance looks at single pictures, for whoever waits for a marker while it is recorded: [Detector]
// says afterwards where windows begin and end. A frame without a marker costs a few pixels. It
// belongs to one goroutine.
type Glance struct{ eye *eye }

// NewGlance looks at pictures of a layout.
func NewGlance(l *frame.Layout) *Glance { return &Glance{newEye(l)} }

// Green returns the box of a green marker, wherever it is.
func (g *Glance) Green(m frame.Image) (box image.Rectangle, ok bool) {
	return g.find(m, greenHue)
}

// Red reports whether a red marker covers a region, but for bars that may have slid over its edge.
func (g *Glance) Red(m frame.Image, region image.Rectangle) bool {
	box, ok := g.find(m, redHue)
	return ok && similar(box, region)
}

// StillGreen reports whether a region is full of green.
func (g *Glance) StillGreen(m frame.Image, region image.Rectangle) bool {
	_, ok := g.eye.full(m, region, greenHue)
	return ok
}

func (g *Glance) find(m frame.Image, h hue) (image.Rectangle, bool) {
	if g.eye.check(m) != nil || !g.maybe(m, h) {
		return image.Rectangle{}, false
	}
	box, _ := g.eye.box(m, h)
	return box, !box.Empty()
}

// maybe samples a grid of places. Any marker that is large enough covers some of them.
func (g *Glance) maybe(m frame.Image, h hue) bool {
	const across = 8
	f, n := g.eye.layout.Format, 0
	for y := range across {
		for x := range across {
			if g.eye.hueAt(m, (2*x+1)*f.Width/(2*across), (2*y+1)*f.Height/(2*across)) == h {
				n++
			}
		}
	}
	return n > 0
}
