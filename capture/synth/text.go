package synth

import (
	"fmt"
	"image"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// typeface is a font at one size. Each glyph is rasterised once and drawn at whole pixels, as
// browsers do without subpixel positioning: the same letter looks the same everywhere.
type typeface struct {
	face   font.Face
	glyphs map[rune]*glyph
	height int // from line to line
	ascent int
}

type glyph struct {
	mask    image.Alpha // drawn with the origin at (0, 0)
	advance int
}

// fonts are what pages are set in.
type fonts struct {
	body, small, title, display, mono *typeface
}

func loadFonts() (*fonts, error) {
	var f fonts
	for _, want := range []struct {
		into **typeface
		ttf  []byte
		size float64
	}{
		{&f.body, goregular.TTF, 15},
		{&f.small, goregular.TTF, 12},
		{&f.title, gobold.TTF, 19},
		{&f.display, gobold.TTF, 40},
		{&f.mono, gomono.TTF, 13},
	} {
		parsed, err := opentype.Parse(want.ttf)
		if err != nil {
			return nil, fmt.Errorf("parse built-in font: %w", err)
		}
		face, err := opentype.NewFace(parsed,
			&opentype.FaceOptions{Size: want.size, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return nil, fmt.Errorf("scale built-in font to %v pixels: %w", want.size, err)
		}
		m := face.Metrics()
		*want.into = &typeface{face: face, glyphs: map[rune]*glyph{}, height: m.Height.Ceil() + 3,
			ascent: m.Ascent.Ceil()}
	}
	return &f, nil
}

func (t *typeface) glyph(r rune) *glyph {
	if g, ok := t.glyphs[r]; ok {
		return g
	}
	g := &glyph{}
	at, mask, offset, advance, ok := t.face.Glyph(fixed.Point26_6{}, r)
	if ok {
		g.advance = advance.Round()
		g.mask = *image.NewAlpha(at)
		for y := at.Min.Y; y < at.Max.Y; y++ {
			for x := at.Min.X; x < at.Max.X; x++ {
				_, _, _, a := mask.At(x-at.Min.X+offset.X, y-at.Min.Y+offset.Y).RGBA()
				g.mask.Pix[g.mask.PixOffset(x, y)] = uint8(a >> 8)
			}
		}
	}
	t.glyphs[r] = g
	return g
}

func (t *typeface) width(s string) int {
	w := 0
	for _, r := range s {
		w += t.glyph(r).advance
	}
	return w
}

// text draws s with the top of its line at (x, y) and returns where the next letter would start.
func (c *canvas) text(t *typeface, x, y int, col colour, s string) int {
	base := y + t.ascent
	for _, r := range s {
		g := t.glyph(r)
		b := g.mask.Rect
		if x+b.Max.X > 0 && x+b.Min.X < c.w && base+b.Max.Y > 0 && base+b.Min.Y < c.h {
			c.glyph(g, x, base, col)
		}
		x += g.advance
	}
	return x
}

func (c *canvas) glyph(g *glyph, x, base int, col colour) {
	b := g.mask.Rect
	for gy := b.Min.Y; gy < b.Max.Y; gy++ {
		for gx := b.Min.X; gx < b.Max.X; gx++ {
			if a := g.mask.Pix[g.mask.PixOffset(gx, gy)]; a != 0 {
				c.blend(x+gx, base+gy, col, int(a)+int(a>>7))
			}
		}
	}
}

// vocabulary is what pages are written in.
var vocabulary = [...]string{
	"frame", "signal", "measure", "quiet", "between", "the", "a", "of", "every", "screen", "morning", "light",
	"river", "and", "number", "truth", "is", "seldom", "window", "scroll", "paper", "first", "last", "pixel", "in",
	"garden", "slow", "winter", "they", "found", "that", "nobody", "had", "counted", "before", "until", "evening",
	"with", "careful", "hands", "small", "differences", "become", "visible", "when", "we", "look", "twice", "at",
	"them", "again", "city", "harbour", "engine", "letters", "travel", "to", "north", "coast", "report", "says",
}

// sentence returns words of at least n letters together.
func sentence(r *random, n int) string {
	var b []byte
	for len(b) < n {
		w := vocabulary[r.below(len(vocabulary))]
		if len(b) == 0 {
			b = append(b, capital(w)...)
			continue
		}
		b = append(append(b, ' '), w...)
	}
	return string(append(b, '.'))
}

func capital(word string) string { return string(word[0]-'a'+'A') + word[1:] }

// paragraph fills r with text, line by line, and leaves the last line short.
func (c *canvas) paragraph(t *typeface, r rect, col colour, rnd *random) {
	lines := r.h / t.height
	for i := range lines {
		limit := r.w
		if i == lines-1 {
			limit = r.w * rnd.between(30, 80) / 100
		}
		x := 0
		for {
			word := vocabulary[rnd.below(len(vocabulary))]
			if x == 0 && i == 0 {
				word = capital(word)
			}
			w := t.width(word)
			if x+w > limit {
				break
			}
			c.text(t, r.x+x, r.y+i*t.height, col, word)
			x += w + t.width(" ")
		}
	}
}
