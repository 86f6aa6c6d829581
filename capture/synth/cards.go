package synth

import "fmt"

// card draws a card at the upper left of r, as wide as r, and returns its height. The random
// numbers choose its kind.
func (p *page) card(c *canvas, r rect, rnd *random) int {
	pick := rnd.below(16)
	switch {
	case pick < 6:
		return p.article(c, r, rnd)
	case pick < 12:
		return p.picture(c, r, rnd)
	case pick < 14:
		return p.table(c, r, rnd)
	case pick < 15:
		return p.chart(c, r, rnd)
	}
	return p.banner(c, r, rnd)
}

// box draws a card's background, with a shadow that fades below it.
func (c *canvas) box(r rect) {
	for i, shade := range []colour{0xe2e4e8, 0xebedf0, 0xf0f1f4} {
		c.fill(rect{r.x + 1 + i, r.y + r.h - 3 + i, r.w - 2*(1+i), 1}, shade)
	}
	r.h -= 3
	c.fill(r, white)
	c.frameOf(r, hairline)
}

func (p *page) article(c *canvas, r rect, rnd *random) int {
	lines := rnd.between(5, 13)
	r.h = 104 + lines*p.fonts.body.height
	c.box(r)
	in := r.inset(16)
	c.text(p.fonts.small, in.x, in.y, faint, fmt.Sprintf("%d minutes ago", rnd.between(2, 59)))
	c.text(p.fonts.title, in.x, in.y+18, link, fit(p.fonts.title, sentence(rnd, 40), in.w))
	c.paragraph(p.fonts.body, rect{in.x, in.y + 50, in.w, lines * p.fonts.body.height}, ink, rnd)
	c.text(p.fonts.small, in.x, r.y+r.h-28, link, "Read more")
	return r.h
}

func (p *page) picture(c *canvas, r rect, rnd *random) int {
	height := rnd.between(190, 300)
	r.h = height + 76
	c.box(r)
	c.photo(rect{r.x + 1, r.y + 1, r.w - 2, height}, rnd.next())
	in := r.inset(14)
	c.text(p.fonts.title, in.x, r.y+height+10, ink, fit(p.fonts.title, sentence(rnd, 24), in.w))
	c.paragraph(p.fonts.small, rect{in.x, r.y + height + 38, in.w, 2 * p.fonts.small.height}, faint, rnd)
	return r.h
}

func (p *page) table(c *canvas, r rect, rnd *random) int {
	rows := rnd.between(5, 10)
	r.h = 52 + rows*24
	c.box(r)
	c.text(p.fonts.title, r.x+16, r.y+10, ink, fit(p.fonts.title, sentence(rnd, 12), r.w-32))
	for i := range rows {
		y := r.y + 42 + i*24
		if i%2 == 0 {
			c.fill(rect{r.x + 1, y, r.w - 2, 24}, 0xf1f3f4)
		}
		c.text(p.fonts.mono, r.x+16, y+4, ink, vocabulary[rnd.below(len(vocabulary))])
		for col := 1; col <= 3; col++ {
			c.text(p.fonts.mono, r.x+r.w*col/4+24, y+4, 0x3c4043, fmt.Sprintf("%7.2f", float64(rnd.below(100000))/100))
		}
	}
	return r.h
}

func (p *page) chart(c *canvas, r rect, rnd *random) int {
	r.h = 230
	c.box(r)
	c.text(p.fonts.title, r.x+16, r.y+10, ink, fit(p.fonts.title, sentence(rnd, 16), r.w-32))
	plot := rect{r.x + 48, r.y + 48, r.w - 64, 150}
	for i := range 6 {
		y := plot.y + i*30
		c.fill(rect{plot.x, y, plot.w, 1}, hairline)
		c.text(p.fonts.small, r.x+16, y-8, faint, fmt.Sprint(100-20*i))
	}
	tint := palette(rnd)
	for x := plot.x + 4; x+14 <= plot.x+plot.w; x += 20 {
		h := rnd.between(20, 145)
		c.gradient(rect{x, plot.y + 150 - h, 14, h}, tint.mixed(white, 120), tint, true)
	}
	return r.h
}

func (p *page) banner(c *canvas, r rect, rnd *random) int {
	r.h = rnd.between(45, 80) * 2
	c.gradient(r, palette(rnd), palette(rnd).mixed(white, 60), rnd.below(2) == 0)
	c.text(p.fonts.title, r.x+20, r.y+r.h/2-22, white, fit(p.fonts.title, sentence(rnd, 30), r.w-40))
	c.text(p.fonts.small, r.x+20, r.y+r.h/2+8, 0xf1f3f4, fit(p.fonts.small, sentence(rnd, 50), r.w-40))
	return r.h
}

// fit cuts s so that it is at most w pixels wide.
func fit(t *typeface, s string, w int) string {
	for len(s) > 0 && t.width(s) > w {
		s = s[:len(s)-1]
	}
	return s
}
