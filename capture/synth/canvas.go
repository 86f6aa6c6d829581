package synth

import (
	"encoding/binary"
	"math"
)

// colour is 0xRRGGBB.
type colour uint32

const (
	white colour = 0xffffff
	green colour = 0x00ff00
	red   colour = 0xff0000
)

// word returns the colour as the little-endian value of a BGRX pixel.
func (c colour) word() uint32 { return uint32(c) }

// mixed returns the colour between c (at t = 0) and d (at t = 256).
func (c colour) mixed(d colour, t int) colour {
	ch := func(shift uint) uint32 {
		a, b := int(c>>shift&255), int(d>>shift&255)
		return uint32(a+(b-a)*t>>8) << shift
	}
	return colour(ch(16) | ch(8) | ch(0))
}

type rect struct{ x, y, w, h int }

// in returns the part of r that is inside s.
func (r rect) in(s rect) rect {
	x0, y0 := max(r.x, s.x), max(r.y, s.y)
	x1, y1 := min(r.x+r.w, s.x+s.w), min(r.y+r.h, s.y+s.h)
	return rect{x0, y0, max(0, x1-x0), max(0, y1-y0)}
}

// inset returns r without a border of d pixels.
func (r rect) inset(d int) rect { return rect{r.x + d, r.y + d, r.w - 2*d, r.h - 2*d} }

// even returns r moved and shrunk so that its edges stand on even pixels.
func (r rect) even() rect { return rect{r.x &^ 1, r.y &^ 1, r.w &^ 1, r.h &^ 1} }

// canvas is where scenes are drawn: B G R X, without padding. Whatever is drawn is clipped to it.
type canvas struct {
	pix  []byte
	w, h int
}

func (c *canvas) bounds() rect { return rect{0, 0, c.w, c.h} }

func (c *canvas) row(y int) []byte { return c.pix[4*c.w*y:][: 4*c.w : 4*c.w] }

// line returns the bytes of row y of r, which lies within the canvas.
func (c *canvas) line(r rect, y int) []byte { return c.row(y)[4*r.x : 4*(r.x+r.w)] }

func (c *canvas) fill(r rect, col colour) {
	r = r.in(c.bounds())
	if r.w == 0 || r.h == 0 {
		return
	}
	first := c.line(r, r.y)
	for i := 0; i < len(first); i += 4 {
		binary.LittleEndian.PutUint32(first[i:], col.word())
	}
	for y := r.y + 1; y < r.y+r.h; y++ {
		copy(c.line(r, y), first)
	}
}

// gradient fills r from one colour at the left or top to another at the right or bottom.
func (c *canvas) gradient(r rect, from, to colour, vertical bool) {
	if vertical {
		for y := range r.h {
			c.fill(rect{r.x, r.y + y, r.w, 1}, from.mixed(to, y*256/r.h))
		}
		return
	}
	for x := range r.w {
		c.fill(rect{r.x + x, r.y, 1, r.h}, from.mixed(to, x*256/r.w))
	}
}

// frameOf draws the outline of r, one pixel wide.
func (c *canvas) frameOf(r rect, col colour) {
	c.fill(rect{r.x, r.y, r.w, 1}, col)
	c.fill(rect{r.x, r.y + r.h - 1, r.w, 1}, col)
	c.fill(rect{r.x, r.y, 1, r.h}, col)
	c.fill(rect{r.x + r.w - 1, r.y, 1, r.h}, col)
}

// blend lays col over the pixel at (x, y) with an opacity from 0 to 256.
func (c *canvas) blend(x, y int, col colour, opacity int) {
	if x < 0 || y < 0 || x >= c.w || y >= c.h || opacity <= 0 {
		return
	}
	px := c.pix[4*(c.w*y+x):]
	under := colour(binary.LittleEndian.Uint32(px) & 0xffffff)
	binary.LittleEndian.PutUint32(px, under.mixed(col, min(256, opacity)).word())
}

// disc draws a filled circle with smooth edges.
func (c *canvas) disc(cx, cy, radius float64, col colour) {
	for y := int(cy - radius - 1); y <= int(cy+radius+1); y++ {
		for x := int(cx - radius - 1); x <= int(cx+radius+1); x++ {
			d := math.Hypot(float64(x)+0.5-cx, float64(y)+0.5-cy)
			c.blend(x, y, col, int(256*min(1, max(0, radius+0.5-d))))
		}
	}
}

// ring draws a circle's outline whose opacity falls off around it, starting at angle: one
// phase of a spinner.
func (c *canvas) ring(cx, cy, radius, width, angle float64, col colour) {
	reach := radius + width
	for y := int(cy - reach - 1); y <= int(cy+reach+1); y++ {
		for x := int(cx - reach - 1); x <= int(cx+reach+1); x++ {
			dx, dy := float64(x)+0.5-cx, float64(y)+0.5-cy
			edge := min(1, max(0, width/2+0.5-math.Abs(math.Hypot(dx, dy)-radius)))
			turn := math.Mod(math.Atan2(dy, dx)-angle+4*math.Pi, 2*math.Pi) / (2 * math.Pi)
			c.blend(x, y, col, int(256*edge*turn))
		}
	}
}
