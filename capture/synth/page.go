package synth

// A page is drawn once, as tall as it scrolls: a header, a hero with a large picture, and columns
// of cards below. Sizes are those of a desktop browser and do not grow with the screen; a wider
// page has more columns.

const (
	headerHeight = 64
	heroHeight   = 300
	columnWidth  = 420 // at least, where the page is wide enough
	gutter       = 16
	paper        = colour(0xf4f5f7)
	ink          = colour(0x202124)
	faint        = colour(0x70757a)
	hairline     = colour(0xdadce0)
	link         = colour(0x1a0dab)
)

// page draws itself on canvases.
type page struct {
	seed  uint64
	fonts *fonts
}

// draw fills the canvas and returns where its blocks stand: header, hero, then the cards from top
// to bottom and left to right as they start.
func (p *page) draw(c *canvas) []rect {
	c.fill(c.bounds(), paper)
	rnd := newRandom(p.seed, "page")
	header := rect{0, 0, c.w, headerHeight}
	hero := rect{0, headerHeight, c.w, heroHeight}
	p.header(c, header, &rnd)
	p.hero(c, hero, &rnd)
	blocks := []rect{header, hero}
	columns := max(1, (c.w-gutter)/(columnWidth+gutter))
	width := ((c.w-gutter)/columns - gutter) &^ 1
	if width < 24 {
		return blocks
	}
	bottom := make([]int, columns)
	for i := range bottom {
		bottom[i] = headerHeight + heroHeight + gutter
	}
	for {
		col := 0
		for i, b := range bottom {
			if b < bottom[col] {
				col = i
			}
		}
		y := bottom[col]
		if y >= c.h {
			return blocks
		}
		r := rect{gutter + col*(width+gutter), y, width, 0}
		r.h = (p.card(c, r, &rnd) + 1) &^ 1
		blocks = append(blocks, r)
		bottom[col] += r.h + gutter
	}
}

func (p *page) header(c *canvas, r rect, rnd *random) {
	c.gradient(r, 0x1b2a41, 0x324a5f, false)
	c.disc(36, 32, 16, 0xffc857)
	c.disc(42, 28, 10, 0xe9724c)
	x := c.text(p.fonts.title, 64, 20, white, "The Daily Frame") + 40
	for _, s := range []string{"Home", "World", "Science", "Culture", "Measures", "About"} {
		if x > r.w-420 {
			break
		}
		x = c.text(p.fonts.body, x, 23, 0xd7dde5, s) + 28
	}
	if r.w > 760 {
		box := rect{r.w - 340, 16, 240, 32}
		c.fill(box, 0xeef1f4)
		c.frameOf(box, 0x8d99ae)
		c.text(p.fonts.body, box.x+12, box.y+7, faint, "Search "+vocabulary[rnd.below(len(vocabulary))])
	}
}

// heroWidth is how wide one story of the hero is; wide pages have several.
const heroWidth = 1920

func (p *page) hero(c *canvas, r rect, rnd *random) {
	c.gradient(r, 0x22577a, 0x57cc99, true)
	for x := r.x; x < r.x+r.w; x += heroWidth {
		p.story(c, rect{x, r.y, min(heroWidth, r.x+r.w-x), r.h}, rnd)
	}
}

func (p *page) story(c *canvas, r rect, rnd *random) {
	x := r.x + 2*gutter
	c.text(p.fonts.small, x, r.y+48, 0xc7f9cc, "LONG READ")
	c.text(p.fonts.display, x, r.y+70, white, sentence(rnd, 22))
	c.text(p.fonts.display, x, r.y+122, white, sentence(rnd, 18))
	c.paragraph(p.fonts.body, rect{x, r.y + 186, min(r.w/2-4*gutter, 640), 60}, 0xe8f5ee, rnd)
	if r.w > 900 {
		w := min(560, r.w/3)
		pic := rect{r.x + r.w - w - 2*gutter, r.y + 24, w, r.h - 48}
		c.photo(pic, rnd.next())
		c.frameOf(pic, 0xe8f5ee)
	}
}
