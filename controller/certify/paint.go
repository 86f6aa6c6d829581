package certify

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

// canvas is a picture of B G R X without padding.
type canvas struct {
	pix   []byte
	width int
}

func (c canvas) set(x, y int, v rgb) {
	px := c.pix[(y*c.width+x)*4:][:4:4]
	px[0], px[1], px[2], px[3] = v[2], v[1], v[0], 255
}

func (c canvas) at(x, y int) rgb {
	px := c.pix[(y*c.width+x)*4:][:4:4]
	return rgb{px[2], px[1], px[0]}
}

// fill paints a rectangle by a function of its pixels' places in the picture.
func (c canvas) fill(r image.Rectangle, colour func(x, y int) rgb) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c.set(x, y, colour(x, y))
		}
	}
}

func (c canvas) flat(r image.Rectangle, v rgb) { c.fill(r, func(int, int) rgb { return v }) }

// level is black or white.
func level(on bool) rgb {
	if on {
		return grey(255)
	}
	return grey(0)
}

// paintBase draws the parts that are the same in every frame.
func (p *Pattern) paintBase() {
	c := canvas{p.base, p.Width}
	all := image.Rect(0, 0, p.Width, p.Height)
	c.flat(all, grey(255))
	c.flat(all.Inset(1), grey(0))
	p.paintCorners(c)
	for _, q := range p.patches {
		c.flat(q.area, q.colour)
	}
	red, blue := rgb{255, 0, 0}, rgb{0, 0, 255}
	either := func(first bool) rgb {
		if first {
			return red
		}
		return blue
	}
	c.fill(p.detail[lumaColumns], func(x, _ int) rgb { return level(x&1 == 0) })
	c.fill(p.detail[lumaRows], func(_, y int) rgb { return level(y&1 == 0) })
	c.fill(p.detail[lumaChecker], func(x, y int) rgb { return level((x+y)&1 == 0) })
	c.fill(p.detail[chromaColumns], func(x, _ int) rgb { return either(x&1 == 0) })
	c.fill(p.detail[chromaRows], func(_, y int) rgb { return either(y&1 == 0) })
	c.fill(p.detail[chromaColumns2], func(x, _ int) rgb { return either(x>>1&1 == 0) })
	c.fill(p.detail[chromaColumns4], func(x, _ int) rgb { return either(x>>2&1 == 0) })
	for i, r := range p.ramps {
		step := r.Dx() / 256
		c.fill(r, func(x, _ int) rgb {
			v := uint8((x - r.Min.X) / step)
			if i == 0 {
				return grey(v)
			}
			var one rgb
			one[i-1] = v
			return one
		})
	}
	p.paintIndexes(c)
}

// paintCorners draws a small checkerboard into each corner, within the margin.
func (p *Pattern) paintCorners(c canvas) {
	for _, x := range []int{3, p.Width - 11} {
		for _, y := range []int{3, p.Height - 11} {
			c.fill(image.Rect(x, y, x+8, y+8), func(px, py int) rgb { return level((px-x)>>1&1 == (py-y)>>1&1) })
		}
	}
}

// indexCells is where, to the right of a copy of the strip, three cells tell which copy it is: its
// number from the top plus one, so that a cropped picture is not taken for a shifted one.
const indexCells = strip.Cells + 2

func (p *Pattern) paintIndexes(c canvas) {
	for k, top := range p.geo.Tops {
		for bit := range 3 {
			x := p.geo.Left + (indexCells+bit)*p.geo.Cell
			c.flat(image.Rect(x, top, x+p.geo.Cell, top+p.geo.Cell), level((k+1)>>(2-bit)&1 != 0))
		}
	}
}

// digit returns block i of a row of digits.
func (p *Pattern) digit(row, i int) image.Rectangle {
	w, h := p.digits.Dx()/digitBits, p.digits.Dy()/2
	x, y := p.digits.Min.X+i*w, p.digits.Min.Y+row*h
	return image.Rect(x, y, x+w, y+h)
}

// flickers reports whether the flickering patch is white in picture n.
func flickers(n int) bool { return n&1 == 0 }

// block returns the place of the moving block in picture n.
func (p *Pattern) block(n int) image.Rectangle {
	const width, step = 16, 8
	places := (p.track.Dx()-width)/step + 1
	x := p.track.Min.X + n%places*step
	return image.Rect(x, p.track.Min.Y, x+width, p.track.Max.Y)
}

// painter draws pictures of a pattern into memory of its own.
type painter struct {
	*Pattern
	pix  []byte
	view frame.Image
}

// newPainter returns a painter.
func newPainter(p *Pattern) (*painter, error) {
	f, err := frame.NewFormat(frame.BGR4, p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	l, err := frame.NewLayout(f)
	if err != nil {
		return nil, err
	}
	q := &painter{Pattern: p, pix: make([]byte, l.Size)}
	copy(q.pix, p.base)
	q.view = l.View(q.pix)
	return q, nil
}

// paint returns picture n as Width×Height×4 bytes, B G R X. They are the painter's until its next
// Paint.
func (q *painter) paint(n int) ([]byte, error) {
	if err := strip.Draw(q.view, q.region, q.code(n)); err != nil {
		return nil, fmt.Errorf("paint picture %d: %w", n, err)
	}
	c := canvas{q.pix, q.Width}
	c.flat(q.flicker, level(flickers(n)))
	number := id(n)
	for i := range digitBits {
		on := number>>(digitBits-1-i)&1 != 0
		c.flat(q.digit(0, i), level(on))
		c.flat(q.digit(1, i), level(!on))
	}
	c.flat(q.track, grey(0))
	c.flat(q.block(n), grey(255))
	return q.pix, nil
}
