package suite

import (
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/input"
)

// Percent is a part of a hundred: 0.1 is a thousandth.
type Percent float64

// Rate is bits a second.
type Rate int64

// Size is a width and a height in pixels.
type Size struct{ Width, Height int }

// Colour is one in RGB.
type Colour struct{ R, G, B uint8 }

// Chord is keys that are held together, in the order in which they are pressed.
type Chord []input.Key

// Point is a place; see the package documentation.
type Point struct{ X, Y Coordinate }

// Coordinate is pixels from the left or upper edge, or percent of the width or height.
type Coordinate struct {
	Value   float64
	Percent bool
}

// In returns the point's pixels on the screen, for places that are counted in an area of it. 100 %
// is the last pixel.
func (p Point) In(area frame.Region) (x, y float64) {
	return p.X.in(area.X, area.Width), p.Y.in(area.Y, area.Height)
}

func (c Coordinate) in(start, length int) float64 {
	if c.Percent {
		return float64(start) + c.Value/100*float64(max(length-1, 0))
	}
	return float64(start) + c.Value
}
