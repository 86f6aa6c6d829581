package strip

import (
	"fmt"
	"image"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
)

// minContrast is how far apart black and white must stand for a copy to be read, in sample values.
// A signal whose range was compressed twice keeps 188 of 255.
const minContrast = 64

// State says how the copies of one frame go together.
type State uint8

const (
	None    State = iota // no copy can be read: no strip, or nothing of it survived
	Whole                // every copy says the same
	Partial              // some copies cannot be read, the others say the same
	Torn                 // copies disagree: the frame shows parts of two or more drawn frames
)

func (s State) String() string {
	switch s {
	case None:
		return "none"
	case Whole:
		return "whole"
	case Partial:
		return "partial"
	case Torn:
		return "torn"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Copy is one copy of the strip as it was read.
type Copy struct {
	Top  int  // first row of the copy, in the frame
	Code Code // meaningful if OK
	OK   bool // lead, tail and CRC fit
}

// Reading is what one frame's copies say.
type Reading struct {
	State  State
	Code   Code   // of the topmost copy that can be read; zero if State is None
	Copies []Copy // from top to bottom; belongs to the decoder, valid until its next Read
}

// Decoder reads the strip from frames of one layout. It allocates nothing per frame.
type Decoder struct {
	layout *frame.Layout
	geo    Geometry
	luma   lumaAt
	copies [Copies]Copy
}

// NewDecoder returns a decoder for frames of a layout, in which the content fills region. An empty
// region is the whole frame. It fails if the region is outside the frame or too small.
func NewDecoder(l *frame.Layout, region image.Rectangle) (*Decoder, error) {
	all := image.Rect(0, 0, l.Format.Width, l.Format.Height)
	if region.Empty() {
		region = all
	}
	if !region.In(all) {
		return nil, fmt.Errorf("region %v is outside a frame of %v", region, l.Format)
	}
	luma, ok := lumaOf(l.Format.Pixel)
	if !ok {
		return nil, fmt.Errorf("read code strip: unknown pixel format %v", l.Format.Pixel)
	}
	geo, err := NewGeometry(region)
	if err != nil {
		return nil, err
	}
	return &Decoder{layout: l, geo: geo, luma: luma}, nil
}

// Geometry returns where the decoder looks.
func (d *Decoder) Geometry() Geometry { return d.geo }

// Rows returns the rows of a frame that the decoder looks at, ascending. Those that are not at hand
// are left out of a reading.
func (d *Decoder) Rows() []int {
	var rows []int
	for _, top := range d.geo.Tops {
		for _, y := range d.geo.lines(top) {
			rows = append(rows, y)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// Read decodes the strip of one frame. An image of another layout, or with rows that are missing
// or short, is read as far as it goes.
func (d *Decoder) Read(img frame.Image) Reading {
	for k, top := range d.geo.Tops {
		d.copies[k] = d.readCopy(img, top)
	}
	return readingOf(d.copies[:])
}

// ReadContent is Read without the codes of sync markers, a part of which a torn frame may show.
func (d *Decoder) ReadContent(img frame.Image) Reading {
	r := d.Read(img)
	if r.State != Torn {
		return r
	}
	for k := range d.copies {
		if c := &d.copies[k]; c.OK && c.Code.OnMarker() {
			c.OK = false
		}
	}
	return readingOf(d.copies[:])
}

// ReadCopy reads only copy k, as [Decoder.Read] does.
func (d *Decoder) ReadCopy(img frame.Image, k int) Copy { return d.readCopy(img, d.geo.Tops[k]) }

// readingOf says how copies go together.
func readingOf(copies []Copy) Reading {
	r := Reading{Copies: copies}
	good := 0
	for _, c := range copies {
		if !c.OK {
			continue
		}
		switch {
		case good == 0:
			r.Code, r.State = c.Code, Partial
		case c.Code != r.Code:
			r.State = Torn
		}
		good++
	}
	if good == len(copies) && r.State == Partial {
		r.State = Whole
	}
	return r
}

// readCopy tries the middle of the copy first. A tear may run through the copy, a scaler may blur
// its edge; so the rows above and below are tried where the middle fails.
func (d *Decoder) readCopy(img frame.Image, top int) Copy {
	for _, y := range d.geo.lines(top) {
		if code, ok := d.readRow(img, y); ok {
			return Copy{Top: top, Code: code, OK: true}
		}
	}
	return Copy{Top: top}
}

// readRow decodes one row of pixels. The lead, which holds black and white, sets the threshold.
func (d *Decoder) readRow(img frame.Image, y int) (Code, bool) {
	if y < 0 || y >= len(img.Rows) {
		return Code{}, false
	}
	row := img.Rows[y]
	last := d.luma.first + (d.geo.Left+Cells*d.geo.Cell-1)*d.luma.step
	if last >= len(row) {
		return Code{}, false
	}
	var white, black, whites int
	for i := range leadCells {
		v := d.sample(row, i)
		if lead>>(leadCells-1-i)&1 != 0 {
			white += v
			whites++
		} else {
			black += v
		}
	}
	white /= whites
	black /= leadCells - whites
	if white-black < minContrast {
		return Code{}, false
	}
	threshold := (white + black + 1) / 2
	var b bits
	for i := range Cells {
		if d.sample(row, i) >= threshold {
			b.set(i)
		}
	}
	return decode(b)
}

// sample returns the mean of the middle half of a cell, which blurred edges do not reach.
func (d *Decoder) sample(row []byte, cell int) int {
	g := &d.geo
	inset := g.Cell / 4
	n := g.Cell - 2*inset
	at := d.luma.first + (g.Left+cell*g.Cell+inset)*d.luma.step
	sum := 0
	for range n {
		sum += int(row[at])
		at += d.luma.step
	}
	return sum / n
}
