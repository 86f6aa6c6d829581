package render

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// typeface is a font at one size. Each glyph is rasterised once and drawn at whole pixels. It
// belongs to one goroutine.
type typeface struct {
	face   font.Face
	glyphs map[rune]glyph
	ascent int // of a digit or capital above its baseline, pixels
	height int // from line to line
}

type glyph struct {
	mask    *image.Alpha // its bounds are relative to the origin
	advance int
}

// maxGlyphs bounds what a typeface keeps: captions come from outside.
const maxGlyphs = 1024

// fonts are what everything is set in.
type fonts struct{ small, label, frame, value, title, big *typeface }

// newFonts loads the fonts, k times as large as on a picture 1280 pixels wide.
func newFonts(k float64) (*fonts, error) {
	var f fonts
	for _, want := range []struct {
		into **typeface
		ttf  []byte
		size float64
	}{
		{&f.small, goregular.TTF, 13},
		{&f.label, goregular.TTF, 15},
		{&f.frame, goregular.TTF, 18},
		{&f.value, gomedium.TTF, 21},
		{&f.title, gobold.TTF, 16},
		{&f.big, gobold.TTF, 30},
	} {
		t, err := newTypeface(want.ttf, math.Round(want.size*k))
		if err != nil {
			return nil, err
		}
		*want.into = t
	}
	return &f, nil
}

func newTypeface(ttf []byte, size float64) (*typeface, error) {
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("parse built-in font: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return nil, fmt.Errorf("scale built-in font to %v pixels: %w", size, err)
	}
	m := face.Metrics()
	return &typeface{face: face, glyphs: map[rune]glyph{}, ascent: m.CapHeight.Ceil(), height: m.Height.Ceil()}, nil
}

func (t *typeface) glyph(r rune) glyph {
	if g, ok := t.glyphs[r]; ok {
		return g
	}
	// a missing glyph is the font's box for that
	rect, mask, at, advance, _ := t.face.Glyph(fixed.P(0, 0), r)
	g := glyph{advance: advance.Round()}
	if mask != nil && !rect.Empty() {
		g.mask = image.NewAlpha(rect)
		draw.Draw(g.mask, rect, mask, at, draw.Src)
	}
	if len(t.glyphs) < maxGlyphs {
		t.glyphs[r] = g
	}
	return g
}

// width returns how many pixels a text takes.
func (t *typeface) width(s string) int {
	w := 0
	for _, r := range s {
		w += t.glyph(r).advance
	}
	return w
}

// draw sets a text with its baseline's left end at (x, y) and returns where it ends.
func (t *typeface) draw(dst *image.RGBA, x, y int, s string, c color.RGBA) int {
	for _, r := range s {
		g := t.glyph(r)
		if g.mask != nil {
			blend(dst, g.mask, x, y, c)
		}
		x += g.advance
	}
	return x
}

// drawRight sets a text so that it ends at x.
func (t *typeface) drawRight(dst *image.RGBA, x, y int, s string, c color.RGBA) {
	t.draw(dst, x-t.width(s), y, s, c)
}

// drawMiddle sets a text around x.
func (t *typeface) drawMiddle(dst *image.RGBA, x, y int, s string, c color.RGBA) {
	t.draw(dst, x-t.width(s)/2, y, s, c)
}

// fit shortens a text to w pixels, with an ellipsis.
func (t *typeface) fit(s string, w int) string {
	if t.width(s) <= w {
		return s
	}
	left := w - t.width("…")
	for i, r := range s {
		if left -= t.glyph(r).advance; left < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// blend paints c through a mask whose origin lies at (x, y).
func blend(dst *image.RGBA, mask *image.Alpha, x, y int, c color.RGBA) {
	b := mask.Rect.Add(image.Pt(x, y)).Intersect(dst.Rect)
	for py := b.Min.Y; py < b.Max.Y; py++ {
		m := mask.Pix[mask.PixOffset(b.Min.X-x, py-y):]
		d := dst.Pix[dst.PixOffset(b.Min.X, py):]
		for i := range b.Dx() {
			if a := uint32(m[i]); a > 0 {
				p := d[4*i : 4*i+4 : 4*i+4]
				p[0] = byte((uint32(p[0])*(255-a) + uint32(c.R)*a + 127) / 255)
				p[1] = byte((uint32(p[1])*(255-a) + uint32(c.G)*a + 127) / 255)
				p[2] = byte((uint32(p[2])*(255-a) + uint32(c.B)*a + 127) / 255)
				p[3] = 255
			}
		}
	}
}

// fill paints a rectangle in one colour.
func fill(dst *image.RGBA, r image.Rectangle, c color.RGBA) {
	r = r.Intersect(dst.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := dst.Pix[dst.PixOffset(r.Min.X, y) : dst.PixOffset(r.Max.X-1, y)+4]
		for i := 0; i < len(row); i += 4 {
			row[i], row[i+1], row[i+2], row[i+3] = c.R, c.G, c.B, 255
		}
	}
}

// pill paints a rectangle whose corners are round.
func pill(dst *image.RGBA, r image.Rectangle, radius float64, c color.RGBA) {
	mask := image.NewAlpha(image.Rect(0, 0, r.Dx(), r.Dy()))
	for y := range r.Dy() {
		for x := range r.Dx() {
			// The distance to the rectangle that lies radius further in.
			dx := math.Max(0, math.Max(radius-float64(x)-0.5, float64(x)+0.5-float64(r.Dx())+radius))
			dy := math.Max(0, math.Max(radius-float64(y)-0.5, float64(y)+0.5-float64(r.Dy())+radius))
			cover := math.Min(1, math.Max(0, radius+0.5-math.Hypot(dx, dy)))
			mask.Pix[y*mask.Stride+x] = byte(255*cover + 0.5)
		}
	}
	blend(dst, mask, r.Min.X, r.Min.Y, c)
}
