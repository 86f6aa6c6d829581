package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
)

// Form is how packets are drawn.
type Form string

// The forms.
const (
	Exact Form = "exact" // for paths that keep each pixel's red, green and blue
	Cells Form = "cells" // black and white, for all others
)

// slots is the number of packets in a block.
const slots = 2

// errTooSmall is wrapped where a region cannot hold the block.
var errTooSmall = errors.New("region too small for the payload block")

// Geometry is the place of a block.
type Geometry struct {
	Form   Form
	Bounds image.Rectangle
	// Size is the number of bytes of a packet.
	Size int
	cell int // side of a cell; 1 for Exact
}

// NewGeometry places the block in a region of the content, given in pixels of the frame.
func NewGeometry(region image.Rectangle, form Form) (Geometry, error) {
	at, err := strip.NewGeometry(region)
	if err != nil {
		return Geometry{}, err
	}
	g := Geometry{Form: form, cell: 1, Size: 3 * region.Dx()}
	rows := slots
	if form != Exact {
		g.cell, rows = at.Cell, 2*slots
		g.Size = 2 * (region.Dx() / at.Cell) / 8
	}
	g.Size = min(g.Size, frameOf+maxData)
	bottom := at.Tops[strip.Copies-1]
	g.Bounds = image.Rect(region.Min.X, bottom-rows*g.cell, region.Max.X, bottom)
	if least := at.Tops[strip.Copies-2] + at.Cell; g.Bounds.Min.Y < least {
		return Geometry{}, fmt.Errorf("%w: it is %dx%d", errTooSmall, region.Dx(), region.Dy())
	}
	return g, nil
}

// top returns the first row of a slot.
func (g *Geometry) top(slot int) int { return g.Bounds.Min.Y + slot*g.Bounds.Dy()/slots }

// Spec returns the numbers of the package documentation as JSON, for pages.
func Spec(form Form) json.RawMessage {
	b, err := json.Marshal(struct {
		Form       Form `json:"form"`
		MaxMessage int  `json:"max_message"`
		MaxData    int  `json:"max_data"`
		Frame      int  `json:"frame_bytes"`
	}{form, maxMessage, maxData, frameOf})
	if err != nil {
		panic(err) // a struct of numbers and a string cannot fail
	}
	return b
}

// Draw draws a packet into a picture of BGRX pixels with a width, as a page does. It fails if the
// packet is too long for the block.
func (g *Geometry) Draw(pix []byte, width int, p Packet) error {
	if len(p.Data) == 0 || frameOf+len(p.Data) > g.Size {
		return fmt.Errorf("draw packet: %d bytes of data, want 1 to %d", len(p.Data), g.Size-frameOf)
	}
	b := make([]byte, g.Size)
	copy(b, p.append(nil))
	slot := g.top(int(p.Sequence % slots))
	set := func(x, y int, red, green, blue byte) {
		at := (y*width + g.Bounds.Min.X + x) * 4
		pix[at], pix[at+1], pix[at+2] = blue, green, red
	}
	w := g.Bounds.Dx()
	if g.Form == Exact {
		for x := range w {
			var c [3]byte
			copy(c[:], b[min(3*x, len(b)):])
			set(x, slot, c[0], c[1], c[2])
		}
		return nil
	}
	across := w / g.cell
	for y := range 2 * g.cell {
		for x := range w {
			bit, v := y/g.cell*across+x/g.cell, byte(0)
			if x/g.cell < across && bit < 8*len(b) && b[bit/8]>>(7-bit%8)&1 != 0 {
				v = 255
			}
			set(x, slot+y, v, v, v)
		}
	}
	return nil
}
