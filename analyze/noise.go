package analyze

import (
	"fmt"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// Noise is what a capture adds to a picture that stands still, and the tolerance that follows from it.
//
// # Calibration
//
// Frames of a held screen (the green, or a grey or textured pattern) show the same; how they differ is noise. d is the greatest
// difference among R, G and B of a pixel between one frame and the next, over all pixels and all pairs of frames:
//
//   - τ is the largest d that was seen;
//   - m bounds how many pixels of a frame may exceed τ by chance. None did in N pairs, so with 95 % confidence they are fewer than 3/N a
//     pair (the rule of three), and m is the least number for which a Poisson count of that mean exceeds m with a probability of at most
//     FalseRate.
//
// Where nothing differs at all, as in every digital RGB capture, τ and m are 0: then one pixel by one level is seen.
type Noise struct {
	Frames    int     `json:"frames"`     // that were held
	Tolerance int     `json:"tolerance"`  // τ
	MinPixels int     `json:"min_pixels"` // m
	FalseRate float64 `json:"false_rate"` // of frames that are taken for unique and are not
	// Smallest is the change that is certainly seen: so many pixels, by so many levels.
	SmallestPixels int `json:"smallest_pixels"`
	SmallestLevels int `json:"smallest_levels"`
	// Tiles of NoiseTile pixels, row by row, from the region's corner: the largest d in each.
	Columns int   `json:"columns"`
	Tiles   []int `json:"tiles"`
}

// NoiseTile is the side of the tiles in which noise is told.
const NoiseTile = 64

// falseRate is for how many frames a calibration takes one wrongly for unique.
const falseRate = 1e-4

// leastHeld is how many frames must be held for a calibration.
const leastHeld = 3

// Calibrate looks at frames from to to, to not included, which show the same. The region and the masks are those of the area that will be
// measured.
func Calibrate(rec Recording, from, to int, region frame.Region, masks []frame.Region) (*Noise, error) {
	if to-from < leastHeld {
		return nil, fmt.Errorf("calibrate on frames %d:%d: a screen must be held for at least %d frames", from, to, leastHeld)
	}
	c := calibration{pairs: -1}
	for step, err := range rec.Steps(from, to) {
		if err != nil {
			return nil, fmt.Errorf("calibrate: %w", err)
		}
		if c.area == nil {
			if err := c.begin(step.Image.Layout, region, masks); err != nil {
				return nil, fmt.Errorf("calibrate: %w", err)
			}
		}
		if c.pairs++; c.pairs > 0 {
			c.pair(step)
		}
	}
	return c.noise(), nil
}

type calibration struct {
	area  *Area
	touch *differ // for the lines that a change touches
	conv  *frame.Converter
	a, b  []byte
	tiles []int
	cols  int
	pairs int
}

func (c *calibration) begin(l *frame.Layout, region frame.Region, masks []frame.Region) (err error) {
	if c.area, err = NewArea(l, region, masks); err != nil {
		return err
	}
	r := c.area.Region
	c.touch, c.conv = newDiffer(c.area, 0), frame.NewConverter(l)
	c.a, c.b = make([]byte, 4*r.Width), make([]byte, 4*r.Width)
	c.cols = (r.Width + NoiseTile - 1) / NoiseTile
	c.tiles = make([]int, c.cols*((r.Height+NoiseTile-1)/NoiseTile))
	return nil
}

func (c *calibration) pair(step *frame.Step) {
	d := c.touch.of(step.Change, step.Previous, step.Image)
	r := c.area.Region
	for i := range d.Lines {
		l := &d.Lines[i]
		x0, x1, ok := c.area.clip(l.Y, 64*l.Word, 64*(l.Word+len(l.Bits)))
		if !ok {
			continue
		}
		row := (l.Y - r.Y) / NoiseTile * c.cols
		c.area.runs(l.Y, x0, x1, func(from, to int) {
			a, b := c.a[:4*(to-from)], c.b[:4*(to-from)]
			c.conv.RGBARow(a, step.Previous, l.Y, from, to)
			c.conv.RGBARow(b, step.Image, l.Y, from, to)
			for k := 0; k < len(a); k += 4 {
				off := max(apart(a[k], b[k]), apart(a[k+1], b[k+1]), apart(a[k+2], b[k+2]))
				tile := &c.tiles[row+(from+k/4-r.X)/NoiseTile]
				*tile = max(*tile, off)
			}
		})
	}
}

func (c *calibration) noise() *Noise {
	n := &Noise{Frames: c.pairs + 1, FalseRate: falseRate, Columns: c.cols, Tiles: c.tiles}
	for _, t := range c.tiles {
		n.Tolerance = max(n.Tolerance, t)
	}
	if n.Tolerance > 0 {
		n.MinPixels = poissonBound(3/float64(c.pairs), falseRate)
	}
	// Noise may pull against a change by as much as it was seen to.
	n.SmallestPixels, n.SmallestLevels = n.MinPixels+1, 2*n.Tolerance+1
	return n
}

// poissonBound returns the least m for which a Poisson count of the given mean exceeds m with a probability of at most p.
func poissonBound(mean, p float64) int {
	term := math.Exp(-mean)
	rest := 1 - term
	m := 0
	for rest > p {
		m++
		term *= mean / float64(m)
		rest -= term
	}
	return m
}
