package scroll

import (
	"encoding/binary"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// lumas are the lines of R of a frame in luma, a byte per pixel. Each is made when it is asked for.
type lumas struct {
	frame.Image
	region frame.Region
	conv   *frame.Converter
	rgba   []byte
	// of the colours of a pixel, in the order of the converter
	weights [3]uint32
	luma    [][]byte // of the lines that were made
	used    int      // lines of them that are of this frame
	made    []int    // by line: its place in luma, from 1 on
}

func newLumas(c *measure.Case) lumas {
	r := c.Area.Region
	l := lumas{region: r, conv: frame.NewConverter(c.Layout), rgba: make([]byte, 4*r.Width),
		made: make([]int, r.Height)}
	red, green, blue := l.conv.ColourOrder()
	l.weights[red], l.weights[green], l.weights[blue] = 77, 150, 29
	return l
}

// begin takes another frame.
func (l *lumas) begin(img frame.Image) {
	l.Image, l.used = img, 0
	clear(l.made)
}

// line returns line y of the frame, from the left side of R to the right one.
func (l *lumas) line(y int) []byte {
	r := l.region
	made := &l.made[y-r.Y]
	if *made > 0 {
		return l.luma[*made-1]
	}
	if l.used == len(l.luma) {
		l.luma = append(l.luma, make([]byte, r.Width))
	}
	dst := l.luma[l.used]
	l.used++
	*made = l.used
	row := l.conv.Colours(l.rgba, l.Image, y, r.X, r.X+r.Width)
	lumaOf(dst, row, &l.weights)
	return dst
}

// lumaOf makes the luma of pixels of 4 bytes. The weights of their first three bytes add up to 256.
func lumaOf(dst, row []byte, weights *[3]uint32) {
	n := 0
	if hasVectors() {
		n = lumaVectors(dst, row, weights)
	}
	u, v, w := weights[0], weights[1], weights[2]
	for i := n; i < len(dst); i++ {
		p := binary.LittleEndian.Uint32(row[4*i:])
		dst[i] = byte((u*(p&255) + v*(p>>8&255) + w*(p>>16&255) + 128) >> 8)
	}
}

// part returns n pixels of line y, from pixel x of the frame on.
func (l *lumas) part(y, x, n int) []byte {
	return l.line(y)[x-l.region.X:][:n]
}
