package strip

import (
	"fmt"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// Placed reads the strip where a [Finder] has found its copies, at whatever scale. It allocates
// nothing per frame.
type Placed struct {
	layout *frame.Layout
	luma   lumaAt
	lines  []Line
	copies []Copy
}

// NewPlaced returns a decoder for frames of a layout whose copies lie where these lines do.
func NewPlaced(l *frame.Layout, lines []Line) (*Placed, error) {
	luma, ok := lumaOf(l.Format.Pixel)
	if !ok {
		return nil, fmt.Errorf("read code strip: unknown pixel format %v", l.Format.Pixel)
	}
	for _, at := range lines {
		if end := at.Left + at.Cell*Cells; at.Left < -0.5 || !(at.Cell > 1) || end > float64(l.Format.Width)+0.5 ||
			at.First < 0 || at.Last < at.First || at.Last >= l.Format.Height {
			return nil, fmt.Errorf("read code strip: rows %d to %d from %.1f to %.1f are outside a frame of %v",
				at.First, at.Last, at.Left, end, l.Format)
		}
	}
	return &Placed{layout: l, luma: luma, lines: lines, copies: make([]Copy, len(lines))}, nil
}

// Read decodes the copies of one frame. The reading's copies belong to the decoder until its next
// Read.
func (p *Placed) Read(img frame.Image) Reading {
	for i, at := range p.lines {
		code, ok := p.readLine(img, at)
		p.copies[i] = Copy{Top: at.First, Code: code, OK: ok}
	}
	return readingOf(p.copies)
}

// readLine tries the middle of a copy, then the rows above and below it.
func (p *Placed) readLine(img frame.Image, at Line) (Code, bool) {
	span := at.Last - at.First
	for _, y := range [...]int{at.First + span/2, at.First + span/4, at.First + span*3/4} {
		if y >= len(img.Rows) {
			continue
		}
		if code, ok := p.readRow(img.Rows[y], at); ok {
			return code, true
		}
	}
	return Code{}, false
}

// readRow decodes one row of pixels: a cell is its middle's sample, between two pixels where it
// lies between.
func (p *Placed) readRow(row []byte, at Line) (Code, bool) {
	n := (len(row) - p.luma.first + p.luma.step - 1) / p.luma.step
	if n < p.layout.Format.Width {
		return Code{}, false
	}
	var white, black, whites float64
	for i := range leadCells {
		v := p.sample(row, at.Left+(float64(i)+0.5)*at.Cell)
		if lead>>(leadCells-1-i)&1 != 0 {
			white += v
			whites++
		} else {
			black += v
		}
	}
	white /= whites
	black /= leadCells - whites
	if white-black < minContrast*3/4 { // narrow cells do not reach full contrast
		return Code{}, false
	}
	threshold := (white + black) / 2
	var b bits
	for i := range Cells {
		if p.sample(row, at.Left+(float64(i)+0.5)*at.Cell) >= threshold {
			b.set(i)
		}
	}
	return decode(b)
}

func (p *Placed) sample(row []byte, x float64) float64 {
	width := p.layout.Format.Width
	low := math.Floor(x - 0.5)
	part := x - 0.5 - low
	i := min(max(int(low), 0), width-1)
	j := min(i+1, width-1)
	a, b := row[p.luma.first+i*p.luma.step], row[p.luma.first+j*p.luma.step]
	return float64(a)*(1-part) + float64(b)*part
}
