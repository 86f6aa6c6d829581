package marker

import (
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// bands are a few lines of a frame, about a thirtieth of it. They prove for most frames in which
// much changes that no marker is there. The others are decoded.
//
// The lowest green box has a fifth of the frame's lines. Its first lines may be a code's. Bands are
// so close that each box has a whole band below its code. A band has a 24th of the lowest box's
// lines. At most 1 % of a box is not green. If all of that is in bands, 52 % of the box's part of
// some band is green. The box has at least a fifth of the frame's width. So some band of a frame
// with a green box is at least 10 % green.
//
// A red covers the whole frame. So at most 1 % of the frame is not red, all in bands at worst.
type bands struct {
	eye   *eye
	lines int   // of a band
	tops  []int // first line of each band; none: the frame is too small
	rows  []int // rows of the layout that contain their pixels
}

func newBands(e *eye) *bands {
	f := e.layout.Format
	cell := codeCell(f.Width)
	least := int(math.Ceil(minArea*float64(f.Height) - 1e-6))
	b := &bands{eye: e, lines: (least + 23) / 24}
	step := least - cell - b.lines + 1
	if step < 2*b.lines {
		return b
	}
	for y := cell; y+b.lines <= f.Height; y += step {
		b.tops = append(b.tops, y)
	}
	for i := range e.layout.Rows {
		_, y0, _, y1 := e.layout.Rect(i, 0, 1)
		for _, top := range b.tops {
			if y0 < top+b.lines && y1 > top {
				b.rows = append(b.rows, i)
				break
			}
		}
	}
	return b
}

// mayShow reports whether an image may contain a green box, or is red as a whole. It needs the rows
// of the bands.
func (b *bands) mayShow(m frame.Image) bool {
	f := b.eye.layout.Format
	all := f.Width * b.lines // pixels of a band
	other := 0               // pixels that are not red
	for _, top := range b.tops {
		green, red := 0, 0
		for y := top; y < top+b.lines; y++ {
			g, r := b.eye.counts(m, y)
			green, red = green+g, red+r
		}
		if 10*green >= all {
			return true
		}
		other += all - red
	}
	return onePercent*other <= f.Width*f.Height
}

// rowReader is a [Sequence] that returns a few rows of a frame for less than all of them.
type rowReader interface {
	// RowsInTurn returns a function that reads rows of frames in ascending order. rows ascend, too.
	// The image is valid until the next call. Other rows in it are nil.
	RowsInTurn() func(n int, rows []int) (frame.Image, error)
}

// mayShow reports whether the frame may contain a marker, by as few pixels as possible.
func (d *Detector) mayShow() bool {
	s := &d.seek
	if d.rows == nil || d.every || !d.tracks() || s.red || !s.candidate.Empty() || len(d.bands.tops) == 0 {
		return true
	}
	if d.pixels == nil {
		return d.eye.check(d.step) != nil || d.bands.mayShow(d.step)
	}
	m, err := d.rows(d.n, d.bands.rows)
	return err != nil || m.Layout.Format != d.eye.layout.Format || d.bands.mayShow(m)
}
