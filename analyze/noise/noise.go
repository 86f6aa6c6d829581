// Package noise calibrates the tolerance of an analysis on held screens. Tolerance and minimum
// number of pixels follow from observed differences, not from a guess. Digital RGB capture does
// not add noise and is measured exactly.
package noise

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// Calibration is the difference that a capture adds to a still picture, and the tolerance that
// follows from it.
//
// # Calibration
//
// Frames of a held screen show the same picture, so their differences are noise. It varies: it may
// be higher on grey than on a saturated green. It is highest between different neighbours if the
// path compresses or filters. So two screens are held: the green, and a pattern of greys and
// texture (synth:pattern). d is the greatest difference among R, G and B of a pixel between two
// consecutive frames. It is taken over all pixels and all pairs of frames of both screens.
//
//   - τ is the largest d that was seen.
//   - m bounds how many pixels of a frame may exceed τ by chance. In N pairs, no pixel did. With 95
//     % confidence they are therefore fewer than 3/N a pair (the rule of three). m is the least
//     number that a Poisson count of that mean exceeds with a probability of at most FalseRate.
//
// Without any difference, as in every digital RGB capture, τ and m are 0. Then a change of one
// pixel by one level is seen. Frames that differ by more than 64 levels were not held, and are
// refused.
type Calibration struct {
	Frames    int     `json:"frames"`                   // that were held
	Pattern   int     `json:"pattern_frames,omitempty"` // of these, of a grey or textured pattern; the others are green
	Tolerance int     `json:"tolerance"`                // τ
	MinPixels int     `json:"min_pixels"`               // m
	FalseRate float64 `json:"false_rate"`               // of frames that are taken for unique and are not
	// Smallest is the change that is certainly seen: so many pixels, by so many levels.
	SmallestPixels int `json:"smallest_pixels"`
	SmallestLevels int `json:"smallest_levels"`
	// Tiles of tileSide pixels, row by row, from the region's corner: the largest d in each.
	Columns int   `json:"columns"`
	Tiles   []int `json:"tiles"`
}

// tileSide is the side of the tiles for which noise is reported.
const tileSide = 64

// falseRate is for how many frames a calibration takes one wrongly for unique.
const falseRate = 1e-4

// minHeld is how many frames must be held for a calibration, and maxLevels by how many levels
// they may differ.
const (
	minHeld   = 3
	maxLevels = 64
)

// Held is frames that show the same: from From up to, and not including, To.
type Held struct {
	From, To int
	Pattern  bool // of greys and texture; else the green
}

// Calibrate looks at held screens, which are of one format. The region and the masks are those of
// the area that will be measured. It returns the cause of ctx's end at the next frame.
func Calibrate(ctx context.Context, rec measure.Recording, region frame.Region, masks []frame.Region,
	held ...Held) (*Calibration, error) {
	var c calibrator
	pattern := 0
	for _, h := range held {
		if h.From < 0 || h.To > rec.Frames() || h.To-h.From < minHeld {
			return nil, fmt.Errorf("calibrate on frames %d:%d of %d: a screen must be held for at least %d frames",
				h.From, h.To, rec.Frames(), minHeld)
		}
		if h.Pattern {
			pattern += h.To - h.From
		}
		if err := c.hold(ctx, rec, h, region, masks); err != nil {
			return nil, fmt.Errorf("calibrate on frames %d:%d: %w", h.From, h.To, err)
		}
	}
	if c.pairs == 0 {
		return nil, errors.New("calibrate: no screen is held")
	}
	n := c.noise()
	n.Frames, n.Pattern = c.frames, pattern
	return n, nil
}

// hold takes the frames of one held screen.
func (c *calibrator) hold(ctx context.Context, rec measure.Recording, h Held, region frame.Region,
	masks []frame.Region) error {
	for step, err := range rec.Steps(h.From, h.To) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if c.area == nil {
			if err := c.begin(step.Image.Layout, region, masks); err != nil {
				return err
			}
		}
		if got, want := step.Image.Layout.Format, c.area.Layout.Format; got != want {
			return fmt.Errorf("frame %d has format %v in place of %v: hold the pattern in the format of the measured "+
				"content", step.Number, got, want)
		}
		c.frames++
		if step.Number == h.From || step.Previous.Rows == nil { // a segment's first frame has nothing to differ from
			continue
		}
		c.pairs++
		if most := c.pair(step); most > maxLevels {
			return fmt.Errorf("frame %d differs from the previous one by %d levels, too much for noise: name frames "+
				"that show the same", step.Number, most)
		}
	}
	return nil
}

type calibrator struct {
	area   *measure.Area
	touch  *measure.Differ // for the lines that a change touches
	conv   *frame.Converter
	a, b   []byte
	tiles  []int
	cols   int
	frames int
	pairs  int
}

func (c *calibrator) begin(l *frame.Layout, region frame.Region, masks []frame.Region) (err error) {
	if c.area, err = measure.NewArea(l, region, masks); err != nil {
		return err
	}
	r := c.area.Region
	c.touch, c.conv = measure.NewDiffer(c.area, 0), frame.NewConverter(l)
	c.a, c.b = make([]byte, 4*r.Width), make([]byte, 4*r.Width)
	c.cols = (r.Width + tileSide - 1) / tileSide
	c.tiles = make([]int, c.cols*((r.Height+tileSide-1)/tileSide))
	return nil
}

// pair compares a frame with the one before, and returns by how much they differ.
func (c *calibrator) pair(step *frame.Step) (most int) {
	d := c.touch.Of(step.Change, step.Previous, step.Image)
	r := c.area.Region
	for i := range d.Lines {
		l := &d.Lines[i]
		x0, x1, ok := c.area.Clip(l.Y, 64*l.Word, 64*(l.Word+len(l.Bits)))
		if !ok {
			continue
		}
		row := (l.Y - r.Y) / tileSide * c.cols
		c.area.Runs(l.Y, x0, x1, func(from, to int) {
			a, b := c.a[:4*(to-from)], c.b[:4*(to-from)]
			c.conv.RGBARow(a, step.Previous, l.Y, from, to)
			c.conv.RGBARow(b, step.Image, l.Y, from, to)
			for k := 0; k < len(a); k += 4 {
				off := max(measure.AbsDiff(a[k], b[k]), measure.AbsDiff(a[k+1], b[k+1]), measure.AbsDiff(a[k+2],
					b[k+2]))
				tile := &c.tiles[row+(from+k/4-r.X)/tileSide]
				*tile, most = max(*tile, off), max(most, off)
			}
		})
	}
	return most
}

func (c *calibrator) noise() *Calibration {
	n := &Calibration{FalseRate: falseRate, Columns: c.cols, Tiles: c.tiles}
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

// poissonBound returns the minimum m with P(count > m) ≤ p. The count is Poisson of the given mean.
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
