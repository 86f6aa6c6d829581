package payload

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

// State is the state of a half of a block.
type State uint8

// The states.
const (
	blank  State = iota // it shows one colour: no packet was drawn yet
	Good                // its CRC fits
	Broken              // it shows something else
)

// Slot is a half of a block, as it was read.
type Slot struct {
	State  State
	Packet Packet // meaningful if State is Good; its data is valid until the decoder's next Read
}

// minContrast is the least difference of black and white cells, in sample values.
const minContrast = 64

// Decoder reads blocks from frames of one layout. It allocates nothing per frame.
type Decoder struct {
	geo         Geometry
	layout      *frame.Layout
	converter   *frame.Converter
	first, step int // of samples in a row
	row         []byte
	samples     []byte
	bytes       [slots][]byte
	found       [slots]Slot
}

// NewDecoder returns a decoder for frames of a layout with the content in region. An empty region
// is the whole frame. It fails if the region cannot hold the block, or if frames of this format do
// not keep its colours.
func NewDecoder(l *frame.Layout, region image.Rectangle, form Form) (*Decoder, error) {
	all := image.Rect(0, 0, l.Format.Width, l.Format.Height)
	if region.Empty() {
		region = all
	}
	if !region.In(all) {
		return nil, fmt.Errorf("read payload block: region %v is outside a frame of %v", region, l.Format)
	}
	geo, err := NewGeometry(region, form)
	if err != nil {
		return nil, err
	}
	d := &Decoder{geo: geo, layout: l}
	var ok bool
	d.first, d.step, ok = strip.Samples(l.Format.Pixel)
	switch {
	case !ok:
		return nil, fmt.Errorf("read payload block: unknown pixel format %v", l.Format.Pixel)
	case form != Exact:
		d.samples = make([]byte, 2*(geo.Bounds.Dx()/geo.cell))
	case !l.Format.Pixel.IsRGB():
		return nil, fmt.Errorf("read payload block: %v does not keep exact colours", l.Format.Pixel)
	default:
		d.converter, d.row = frame.NewConverter(l), make([]byte, 3*geo.Bounds.Dx())
	}
	for k := range d.bytes {
		d.bytes[k] = make([]byte, geo.Size)
	}
	return d, nil
}

// Bounds returns the rectangle of the block. Measures do not look at it.
func (d *Decoder) Bounds() image.Rectangle { return d.geo.Bounds }

// Form returns the form of the block.
func (d *Decoder) Form() Form { return d.geo.Form }

// Size returns the number of bytes of a packet.
func (d *Decoder) Size() int { return d.geo.Size }

// Rows returns the rows of a frame that the decoder reads, ascending.
func (d *Decoder) Rows() []int {
	var rows []int
	for y := d.geo.Bounds.Min.Y; y < d.geo.Bounds.Max.Y; y++ {
		rows = append(rows, y)
	}
	return rows
}

// Read decodes the block of a frame. Missing and short rows make a half Broken. The result belongs
// to the decoder until its next Read.
func (d *Decoder) Read(img frame.Image) *[slots]Slot {
	for k := range d.found {
		if d.geo.Form == Exact {
			d.found[k] = d.exact(img, k)
		} else {
			d.found[k] = d.cells(img, k)
		}
	}
	return &d.found
}

// rowAt returns a row of a frame, or nil if it does not have all samples of the block.
func (d *Decoder) rowAt(img frame.Image, y int) []byte {
	if y >= len(img.Rows) || len(img.Rows[y]) < d.layout.Rows[y].Seen {
		return nil
	}
	return img.Rows[y]
}

func (d *Decoder) exact(img frame.Image, slot int) Slot {
	y := d.geo.top(slot)
	if d.rowAt(img, y) == nil {
		return Slot{State: Broken}
	}
	d.converter.BGRRow(d.row, img, y, d.geo.Bounds.Min.X, d.geo.Bounds.Max.X)
	for i := 0; i+2 < len(d.row); i += 3 {
		d.row[i], d.row[i+2] = d.row[i+2], d.row[i]
	}
	copy(d.bytes[slot], d.row)
	if p, ok := parse(d.bytes[slot]); ok {
		return Slot{Good, p}
	}
	for i := 3; i < len(d.row); i++ {
		if d.row[i] != d.row[i-3] {
			return Slot{State: Broken}
		}
	}
	return Slot{}
}

// cells tries the middle of the two rows of cells first. A tear may run through it, or a scaler may
// blur its edge. So the lines above and below are tried too.
func (d *Decoder) cells(img frame.Image, slot int) Slot {
	cell, result := d.geo.cell, Slot{}
	for _, line := range [...]int{cell / 2, cell / 4, cell * 3 / 4} {
		low, high := byte(255), byte(0)
		across := len(d.samples) / 2
		for half := range 2 {
			row := d.rowAt(img, d.geo.top(slot)+half*cell+line)
			if row == nil {
				return Slot{State: Broken}
			}
			for x := range across {
				v := d.sample(row, x)
				d.samples[half*across+x] = v
				low, high = min(low, v), max(high, v)
			}
		}
		if int(high)-int(low) < minContrast {
			continue
		}
		threshold := byte((int(low) + int(high) + 1) / 2)
		b := d.bytes[slot]
		for i := range b {
			var v byte
			for _, s := range d.samples[8*i : 8*i+8] {
				v <<= 1
				if s >= threshold {
					v |= 1
				}
			}
			b[i] = v
		}
		if p, ok := parse(b); ok {
			return Slot{Good, p}
		}
		result.State = Broken
	}
	return result
}

// sample returns the mean of the middle half of a cell. Blurred edges do not reach it.
func (d *Decoder) sample(row []byte, x int) byte {
	inset := d.geo.cell / 4
	n := d.geo.cell - 2*inset
	at := d.first + (d.geo.Bounds.Min.X+x*d.geo.cell+inset)*d.step
	sum := 0
	for range n {
		sum += int(row[at])
		at += d.step
	}
	return byte(sum / n)
}
