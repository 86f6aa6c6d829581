package synth

import (
	"fmt"

	"github.com/eideticker/eideticker/capture/frame"
)

// sheet is a picture in the source's pixel format, of any size.
type sheet struct {
	w, h   int
	pix    []byte
	planes []frame.Plane
	padded bool // its rows are whole rows of a frame, padding included
}

// sheetFormat is the source's format for a picture of another size. One as wide as a frame gets a
// frame's rows, so that many of them can be copied at once.
func (k *kit) sheetFormat(w, h int) (frame.Format, error) {
	f, err := frame.NewFormat(k.format.Pixel, w, h)
	if err != nil {
		return f, fmt.Errorf("render ahead: %w", err)
	}
	f.Range, f.Matrix = k.format.Range, k.format.Matrix
	if w == k.format.Width {
		f.Stride = k.format.Stride
	}
	return f, nil
}

func (k *kit) newSheet(f frame.Format) (*sheet, error) {
	s := &sheet{w: f.Width, h: f.Height, planes: f.Planes(), padded: f.Width == k.format.Width}
	var err error
	s.pix, err = k.mem.alloc(f.Size())
	return s, err
}

// drawn returns a sheet that draw has painted. draw must cover the whole canvas, which still holds
// older pixels.
func (k *kit) drawn(w, h int, draw func(*canvas)) (*sheet, error) {
	f, err := k.sheetFormat(w, h)
	if err != nil {
		return nil, err
	}
	l, err := frame.NewLayout(f)
	if err != nil {
		return nil, fmt.Errorf("render ahead: %w", err)
	}
	s, err := k.newSheet(f)
	if err != nil {
		return nil, err
	}
	c, err := k.scratch.canvas(w, h)
	if err != nil {
		return nil, err
	}
	draw(c)
	frame.NewPacker(l).BGRX(s.pix, c.pix)
	for _, r := range l.Rows {
		writePadding(s.pix[r.Offset:r.Offset+r.Bytes], r.Seen)
	}
	return s, nil
}

// solid returns a sheet of one colour.
func (k *kit) solid(w, h int, c colour) (*sheet, error) {
	return k.drawn(w, h, func(cv *canvas) { cv.fill(cv.bounds(), c) })
}

func writePadding(row []byte, from int) {
	for i := range row[from:] {
		row[from+i] = 0xA5 ^ byte(i)
	}
}
