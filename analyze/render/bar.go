package render

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/capture/timeline"
)

// bar is the part of a video below a content. It redraws only the parts that change from slot to
// slot:
//
//	──────────────┬───── position, with a tick for each mark ────────┬─────────
//	 title        │ progress     speed index     framerate            │ [start]
//	 +1.234 s     │ 87.3 %       1,204 ms        57.3 frames/s        │ [torn]
//	 frame 1234   │ unchanged    …                                    │
type bar struct {
	img   *image.RGBA
	fonts *fonts
	k     float64
	o     Overlay // marks sorted
	hold  int     // frames for which a mark is shown
	long  []Mark  // that are shown for longer
	cells []cell
	chips image.Rectangle
	shown []chip
	left  int // width of the left column

	title, time, frame cell  // texts that change
	part               *Part // that is shown
	position           int   // x up to which the line is drawn; -1 before
	dirty              []image.Rectangle
}

// cell is a text that may change.
type cell struct {
	r      image.Rectangle
	series int    // number of the series it shows; -1 for none
	value  string // name of the value that it shows; empty for none
	q      quantity
	text   string
}

const (
	barHeight  = 118
	lineHeight = 8
	maxChips   = 3
	minBar     = 480 // pixels of width that a bar needs
)

// newBar lays a bar out for a video of a width and so many slots a second.
func newBar(o *Overlay, width int, rate float64) (*bar, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	own := *o
	if len(o.Parts) == 0 {
		own.Parts = []Part{{Title: o.Title, Zero: o.Zero, Values: o.Values}}
	}
	b := &bar{o: own, k: math.Min(1.5, math.Max(0.75, float64(width)/1280)), hold: max(1, int(rate)), position: -1}
	b.o.Marks = sortedByFrame(o.Marks)
	b.long = longMarks(b.o.Marks, b.hold)
	var err error
	if b.fonts, err = newFonts(b.k); err != nil {
		return nil, err
	}
	b.img = image.NewRGBA(image.Rect(0, 0, width, even(b.px(barHeight))))
	fill(b.img, b.img.Rect, inkPanel())
	b.layOut()
	return b, nil
}

func (b *bar) px(n float64) int { return int(math.Round(n * b.k)) }

// layOut draws what never changes, and says where the rest goes.
func (b *bar) layOut() {
	height, pad := b.img.Rect.Dy(), b.px(18)
	top := b.px(lineHeight)
	b.left = pad + max(b.fonts.big.width("+0,000.000 s"), b.fonts.frame.width("frame 00000, not begun"))
	most, titled := b.img.Rect.Dx()*2/5, false
	for i := range b.o.Parts {
		titled = titled || b.o.Parts[i].Title != ""
		b.left = max(b.left, min(pad+b.fonts.title.width(b.o.Parts[i].Title), most))
	}
	y := top + b.px(30)
	if titled {
		b.title = cell{r: image.Rect(pad, y-b.px(20), b.left, y+b.px(7)), series: -1}
		y += b.px(38)
	} else {
		y += b.px(25)
	}
	b.time = cell{r: image.Rect(pad, y-b.px(29), b.left, y+b.px(7)), series: -1}
	b.frame = cell{r: image.Rect(pad, y+b.px(10), b.left, y+b.px(34)), series: -1}
	fill(b.img, image.Rect(b.left+pad, top+b.px(14), b.left+pad+1, height-b.px(14)), inkRule())
	right := b.layOutChips(top, height, pad)
	b.layOutCells(b.left+2*pad, right, top)
	b.dirty = append(b.dirty[:0], b.img.Rect)
}

// layOutChips returns where the room for the rest ends.
func (b *bar) layOutChips(top, height, pad int) int {
	right := b.img.Rect.Dx() - pad
	if len(b.o.Marks) == 0 {
		return right
	}
	widest := b.px(40)
	for i, m := range b.o.Marks {
		if i > 0 && m.Label == b.o.Marks[i-1].Label {
			continue
		}
		widest = max(widest, b.fonts.title.width(m.Label)+b.px(24))
	}
	widest = min(widest, b.px(240), b.img.Rect.Dx()/4)
	b.chips = image.Rect(right-widest, top+b.px(9), right, height-b.px(5))
	return b.chips.Min.X - pad
}

// layOutCells places labels and values in rows, as many as fit: series first, since they change.
func (b *bar) layOutCells(left, right, top int) {
	const rows = 2
	x, row := left, 0
	place := func(label, widest string, ink color.RGBA) (image.Rectangle, bool) {
		w := max(b.fonts.label.width(label), b.fonts.value.width(widest))
		if x > left && x+w > right {
			x, row = left, row+1
		}
		if row >= rows || x+w > right {
			return image.Rectangle{}, false
		}
		y := top + b.px(5) + row*b.px(52)
		b.fonts.label.draw(b.img, x, y+b.px(18), label, ink)
		r := image.Rect(x, y+b.px(23), x+w, y+b.px(49))
		x += w + b.px(30)
		return r, true
	}
	for i := range b.o.Series {
		s := &b.o.Series[i]
		q := seriesQuantity(s)
		if r, ok := place(s.Name, widestOf(s, q, b.fonts.value), inkMuted()); ok {
			b.cells = append(b.cells, cell{r: r, series: i, q: q})
		}
	}
	for _, name := range b.valueNames() {
		widest := ""
		for i := range b.o.Parts {
			if text := b.o.Parts[i].value(name); b.fonts.value.width(text) > b.fonts.value.width(widest) {
				widest = text
			}
		}
		if r, ok := place(name, widest, inkMuted()); ok {
			b.cells = append(b.cells, cell{r: r, series: -1, value: name})
		}
	}
}

// valueNames lists those of all parts, each once: a value has the same place in all of them.
func (b *bar) valueNames() (names []string) {
	seen := map[string]bool{}
	for i := range b.o.Parts {
		for _, v := range b.o.Parts[i].Values {
			if !seen[v.Name] && len(names) < maxShown {
				seen[v.Name] = true
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// value is the text of a value, or a dash where the part has none of that name.
func (p *Part) value(name string) string {
	for _, v := range p.Values {
		if v.Name == name {
			return valueText(v)
		}
	}
	return "–"
}

// seriesQuantity chooses how a series' values are shown.
func seriesQuantity(s *analyze.Series) quantity {
	size, whole := 0.0, true
	for _, v := range s.Values {
		size = math.Max(size, math.Abs(v))
		whole = whole && isWhole(v)
	}
	return quantityOf(s.Unit, size, whole)
}

// widestOf returns the widest text that a series needs.
func widestOf(s *analyze.Series, q quantity, t *typeface) string {
	if len(s.Values) == 0 {
		return "–"
	}
	low, high := q.format(slices.Min(s.Values)), q.format(slices.Max(s.Values))
	if t.width(low) > t.width(high) {
		return low
	}
	return high
}

// notRecorded is what a bar says of a missing frame.
const notRecorded = "not recorded"

// moment is what a bar is to show.
type moment struct {
	frame int           // number; where the picture is missing, that of the last one before
	time  timeline.Time // on the clock of the recording
	note  string        // such as "not recorded"; empty for a frame as it is
}

// update draws the difference from the previous moment. dirty has the changed parts until clean.
func (b *bar) update(m moment) {
	part := b.o.part(m.frame)
	if !b.title.r.Empty() {
		b.text(&b.title, b.fonts.title, part.Title, inkAccent(), b.px(7))
	}
	t := "–"
	if m.note != notRecorded {
		if b.o.At != nil {
			m.time = b.o.At(m.frame, m.time)
		}
		t = seconds(m.time - part.Zero)
	}
	b.text(&b.time, b.fonts.big, t, inkText(), b.px(7))
	text, ink := "frame "+strconv.Itoa(m.frame), inkMuted()
	if m.note != "" {
		text, ink = m.note, Fault.colour()
		if m.note != notRecorded {
			text = "frame " + strconv.Itoa(m.frame) + ", " + m.note
		}
	}
	b.text(&b.frame, b.fonts.frame, text, ink, b.px(7))
	for i := range b.cells {
		c := &b.cells[i]
		text := "–"
		if c.series < 0 {
			if part == b.part {
				continue
			}
			text = part.value(c.value)
		} else if v, ok := holdsAt(&b.o.Series[c.series], m.frame); ok {
			text = c.q.format(v)
		}
		b.text(c, b.fonts.value, text, inkText(), b.px(7))
	}
	b.part = part
	b.drawChips(m.frame)
	b.drawPosition(m.frame)
}

// clean resets dirty.
func (b *bar) clean() { b.dirty = b.dirty[:0] }

// seconds is a time with its sign, to a thousandth.
func seconds(t timeline.Time) string {
	s := number(math.Abs(float64(t))/1e9, 3) + " s"
	if t < 0 {
		return "−" + s
	}
	return "+" + s
}

// text redraws a cell if its text is another.
func (b *bar) text(c *cell, t *typeface, s string, ink color.RGBA, below int) {
	if c.text == s {
		return
	}
	c.text = s
	fill(b.img, c.r, inkPanel())
	t.draw(b.img, c.r.Min.X, c.r.Max.Y-below, t.fit(s, c.r.Dx()), ink)
	b.dirty = append(b.dirty, c.r)
}

// drawChips shows the marks of this frame in full colour, and those of the last second faded.
func (b *bar) drawChips(n int) {
	if b.chips.Empty() {
		return
	}
	var room [maxChips + 1]chip
	now := chipsAt(room[:0], b.o.Marks, b.long, n, b.hold)
	if slices.Equal(now, b.shown) {
		return
	}
	b.shown = append(b.shown[:0], now...)
	fill(b.img, b.chips, inkPanel())
	b.dirty = append(b.dirty, b.chips)
	step := b.chips.Dy() / maxChips
	for i, c := range now[:min(len(now), maxChips)] {
		r := image.Rect(b.chips.Min.X, b.chips.Min.Y+i*step, b.chips.Max.X, b.chips.Min.Y+i*step+step-b.px(5))
		ground, ink := c.tone.colour(), inkBack()
		if !c.now {
			ground, ink = mix(inkPanel(), ground, 0.22), c.tone.colour()
		}
		label := b.fonts.title.fit(c.label, r.Dx()-b.px(12))
		pill(b.img, r, float64(r.Dy())/2, ground)
		b.fonts.title.drawMiddle(b.img, (r.Min.X+r.Max.X)/2, (r.Min.Y+r.Max.Y+b.fonts.title.ascent)/2, label, ink)
	}
}

// at returns where on the position line a frame stands.
func (b *bar) at(n int) int {
	part := float64(n-b.o.First) / float64(max(1, b.o.Last-b.o.First))
	return int(math.Min(1, math.Max(0, part))*float64(b.img.Rect.Dx()-1) + 0.5)
}

func (b *bar) drawPosition(n int) {
	line := image.Rect(0, 0, b.img.Rect.Dx(), b.px(lineHeight))
	if b.o.Last <= b.o.First {
		if b.position < 0 {
			b.position = 0
			fill(b.img, image.Rect(0, 0, line.Max.X, 1), inkRule())
		}
		return
	}
	x := b.at(n)
	if x == b.position {
		return
	}
	b.position = x
	fill(b.img, line, inkRule())
	fill(b.img, image.Rect(0, 0, x, line.Max.Y), mix(inkRule(), inkAccent(), 0.55))
	wide := max(2, b.px(2))
	for i, m := range b.o.Marks {
		if m.Frame < b.o.First || m.Frame > b.o.Last || i > 0 && b.at(m.Frame) == b.at(b.o.Marks[i-1].Frame) {
			continue
		}
		at := min(b.at(m.Frame), line.Max.X-wide)
		fill(b.img, image.Rect(at, 0, at+wide, line.Max.Y), m.Tone.colour())
	}
	fill(b.img, image.Rect(x-wide, 0, x+wide, line.Max.Y), inkText())
	b.dirty = append(b.dirty, line)
}
