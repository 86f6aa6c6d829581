package synth

func buildStatic(k *kit) (*script, error) {
	s, _, err := k.pageSheet(0, k.format.Width, k.format.Height)
	if err != nil {
		return nil, err
	}
	draw := func(_ uint64, list []blit) []blit { return append(list, whole(s, 0, 0)) }
	return &script{draw: draw, lead: 1, cycle: 1}, nil
}

// blink is for how many frames a caret is shown, and then hidden.
const blink = 32

func buildCaret(k *kit) (*script, error) {
	w, h := k.format.Width, k.format.Height
	var caret rect
	s, err := k.drawn(w, h, func(c *canvas) {
		k.page(0).draw(c)
		caret = editor(c, k.fonts, k.seed)
	})
	if err != nil {
		return nil, err
	}
	bar, err := k.solid(caret.w, caret.h, 0x000000)
	if err != nil {
		return nil, err
	}
	draw := func(n uint64, list []blit) []blit {
		list = append(list, whole(s, 0, 0))
		if n%(2*blink) < blink {
			list = append(list, whole(bar, caret.x, caret.y))
		}
		return list
	}
	area := k.area(caret)
	return &script{draw: draw, lead: 1, cycle: 2 * blink, truth: Truth{Caret: &area}}, nil
}

// editor draws a text field over the page and returns where its caret stands: within the canvas,
// however small that is.
func editor(c *canvas, f *fonts, seed uint64) rect {
	rnd := newRandom(seed, "editor")
	box := rect{c.w / 4, c.h / 3, c.w / 2, c.h / 4}.even()
	c.fill(box, white)
	c.frameOf(box, link)
	c.frameOf(box.inset(1), link)
	y := box.y + 12
	x := c.text(f.title, box.x+16, y, ink, fit(f.title, sentence(&rnd, 30), box.w-64))
	return rect{max(0, min(x+2, c.w-2)), max(0, min(y, c.h-22)), 2, 22}.even()
}
