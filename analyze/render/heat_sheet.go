package render

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/capture/frame"
)

// heatSheet is the picture of a heat map: a header, the map, a legend.
type heatSheet struct {
	img   *image.RGBA
	fonts *fonts
	k     float64 // size of the frame around the map
	width int     // of the map, pixels of the frame
	zoom  int     // pixels of the picture for one of the frame, along each side
	area  image.Rectangle
	under *image.RGBA // of the map's size; nil for none
}

// minSheet is the narrowest picture that a header and a legend fit into.
const minSheet = 640

func newHeatSheet(h *analyze.Heat, o HeatOptions) (*heatSheet, error) {
	p := &heatSheet{width: h.Width, zoom: 1}
	const tallest = 1200 // of a map in larger pixels
	for h.Width*(p.zoom+1) <= minSheet+h.Width/2 && h.Height*(p.zoom+1) <= tallest {
		p.zoom++
	}
	width, height := h.Width*p.zoom, h.Height*p.zoom
	total := max(width, minSheet)
	p.k = textScale(total)
	var err error
	if p.fonts, err = newFonts(p.k); err != nil {
		return nil, err
	}
	top, bottom := p.px(52), p.px(74)
	p.img = image.NewRGBA(image.Rect(0, 0, total, top+height+bottom))
	fill(p.img, p.img.Rect, inkPanel())
	left := (total - width) / 2
	p.area = image.Rect(left, top, left+width, top+height)
	fill(p.img, image.Rect(0, top, total, top+height), inkBack())
	if o.Under != nil {
		if p.under, err = greyUnder(*o.Under, h); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// textScale returns how large text is on something so many pixels wide.
func textScale(width int) float64 {
	return math.Min(2, math.Max(0.85, float64(width)/1280))
}

func (p *heatSheet) px(n float64) int { return int(math.Round(n * p.k)) }

// greyUnder returns the map's region of a frame in dark grey.
func greyUnder(m frame.Image, h *analyze.Heat) (*image.RGBA, error) {
	f := m.Layout.Format
	r := frame.Region{X: h.X, Y: h.Y, Width: h.Width, Height: h.Height}
	if !r.In(f.Width, f.Height) {
		return nil, fmt.Errorf("%w: its region %v is outside the frame under it, %dx%d", errHeat, r,
			f.Width, f.Height)
	}
	conv := frame.NewConverter(m.Layout)
	out := image.NewRGBA(image.Rect(0, 0, h.Width, h.Height))
	for y := range h.Height {
		row := out.Pix[y*out.Stride : (y+1)*out.Stride]
		conv.RGBARow(row, m, h.Y+y, h.X, h.X+h.Width)
		for i := 0; i < len(row); i += 4 {
			luma := (2126*int(row[i]) + 7152*int(row[i+1]) + 722*int(row[i+2])) / 10000
			v := byte(14 + luma*66/255)
			row[i], row[i+1], row[i+2], row[i+3] = v, v, v, 255
		}
	}
	return out, nil
}

// paint draws the map. Of the frame under it, its edges stay visible through the colours, which are
// those of the legend everywhere else.
func (p *heatSheet) paint(at func(i int) (c color.RGBA, hot bool)) {
	rows := p.area.Dy() / p.zoom
	for y := range rows {
		for x := range p.width {
			ground := inkBack()
			if p.under != nil {
				ground = p.under.RGBAAt(x, y)
			}
			c, hot := at(y*p.width + x)
			switch {
			case !hot:
				c = ground
			case p.edge(x, y):
				c = mix(c, inkBack(), 0.55)
			}
			to := image.Pt(p.area.Min.X+x*p.zoom, p.area.Min.Y+y*p.zoom)
			if p.zoom == 1 {
				p.img.SetRGBA(to.X, to.Y, c)
				continue
			}
			fill(p.img, image.Rectangle{Min: to, Max: to.Add(image.Pt(p.zoom, p.zoom))}, c)
		}
	}
}

// edge reports whether the frame under the map gets much lighter or darker beside or below a pixel.
func (p *heatSheet) edge(x, y int) bool {
	if p.under == nil {
		return false
	}
	const much = 12 // of the 66 levels of greyUnder
	at := func(x, y int) int {
		return int(p.under.Pix[min(y, p.under.Rect.Max.Y-1)*p.under.Stride+4*min(x, p.under.Rect.Max.X-1)])
	}
	here := at(x, y)
	return max(here-at(x+1, y), at(x+1, y)-here, here-at(x, y+1), at(x, y+1)-here) > much
}

func (p *heatSheet) header(title, what, figures string) {
	pad, base := p.px(20), p.px(33)
	if title == "" {
		title, what = what, ""
	}
	right := p.img.Rect.Dx() - pad
	p.fonts.label.drawRight(p.img, right, base, figures, inkMuted())
	right -= p.fonts.label.width(figures) + pad
	end := p.fonts.title.draw(p.img, pad, base, p.fonts.title.fit(title, right-pad), inkText())
	if room := right - end - pad; what != "" && room > p.fonts.label.width(what) {
		p.fonts.label.draw(p.img, end+p.px(14), base, what, inkMuted())
	}
}

// bar returns where the legend's colours go.
func (p *heatSheet) bar(left int) image.Rectangle {
	top := p.area.Max.Y + p.px(18)
	return image.Rect(left, top, p.img.Rect.Dx()-p.px(20), top+p.px(16))
}

func (p *heatSheet) rampLegend(r *ramp) {
	pad := p.px(20)
	name := p.scaleName(r.log)
	bar := p.bar(pad)
	if p.under != nil {
		name += ", last frame in lines"
	}
	// What never changed comes first, apart from the rest.
	none := image.Rect(pad, bar.Min.Y, pad+p.px(34), bar.Max.Y)
	pillFrame(p.img, none, inkBack(), inkRule())
	base := bar.Max.Y + p.px(20)
	p.fonts.label.drawMiddle(p.img, (none.Min.X+none.Max.X)/2, base, "0", inkMuted())
	bar.Min.X = none.Max.X + p.px(14)
	bar.Max.X -= p.fonts.label.width(name) + p.px(30)
	p.fonts.label.draw(p.img, bar.Max.X+p.px(30), bar.Max.Y-p.px(3), name, inkMuted())
	if r.max == 0 {
		return
	}
	one := r.min == r.max
	if one {
		bar.Max.X = bar.Min.X + p.px(34)
	}
	for x := bar.Min.X; x < bar.Max.X; x++ {
		t := float64(x-bar.Min.X) / float64(max(1, bar.Dx()-1))
		if one {
			t = onlyCount
		}
		fill(p.img, image.Rect(x, bar.Min.Y, x+1, bar.Max.Y), r.colours.at(faintest+(1-faintest)*t))
	}
	p.ticks(bar, r.ticks(), base)
}

// tick is a number on a legend and where it stands, 0…1.
type tick struct {
	at   float64
	text string
}

// ticks come in the order of their importance: where two touch, the later one is left out.
func (r *ramp) ticks() []tick {
	if r.min == r.max {
		return []tick{{0.5, number(float64(r.max), 0)}}
	}
	all := []tick{{0, number(float64(r.min), 0)}, {1, number(float64(r.max), 0)}}
	for _, n := range byWeight(r.steps()) {
		all = append(all, tick{r.part(n), number(n, 0)})
	}
	return all
}

// steps returns the counts between the least and the largest to name.
func (r *ramp) steps() (between []float64) {
	low, high := float64(r.min), float64(r.max)
	if r.log || low == 1 {
		for _, n := range steps(high, r.log) {
			if n > low {
				between = append(between, n)
			}
		}
		return between
	}
	offset := steps(high-low, false) // as wide as they would be from 0 on, at multiples of their width
	if len(offset) == 0 {
		return nil
	}
	for n := (math.Floor(low/offset[0]) + 1) * offset[0]; n < high; n += offset[0] {
		between = append(between, n)
	}
	return between
}

func (p *heatSheet) balanceLegend(m *balance) {
	pad := p.px(20)
	name := p.scaleName(m.log)
	bar := p.bar(pad)
	bar.Max.X -= p.fonts.label.width(name) + p.px(30)
	p.fonts.label.draw(p.img, bar.Max.X+p.px(30), bar.Max.Y-p.px(3), name, inkMuted())
	for x := bar.Min.X; x < bar.Max.X; x++ {
		fill(p.img, image.Rect(x, bar.Min.Y, x+1, bar.Max.Y),
			m.colours.at(float64(x-bar.Min.X)/float64(max(1, bar.Dx()-1))))
	}
	p.ticks(bar, m.ticks(), bar.Max.Y+p.px(20))
}

func (m *balance) ticks() []tick {
	top := number(float64(m.max), 0)
	all := []tick{{0.5, "0"}, {0, "−" + top + " fewer"}, {1, "+" + top + " more"}}
	for _, n := range byWeight(steps(float64(m.max), m.log)) {
		at, text := m.part(n)/2, number(n, 0)
		all = append(all, tick{0.5 + at, "+" + text}, tick{0.5 - at, "−" + text})
	}
	return all
}

// byWeight puts numbers that begin with 1 first, then those with 5.
func byWeight(n []float64) []float64 {
	var first, second, third []float64
	for _, x := range n {
		switch lead := math.Round(x / math.Pow(10, math.Floor(math.Log10(x)+1e-9))); lead {
		case 1:
			first = append(first, x)
		case 5:
			second = append(second, x)
		default:
			third = append(third, x)
		}
	}
	return append(append(first, second...), third...)
}

func (p *heatSheet) ticks(bar image.Rectangle, all []tick, base int) {
	var taken []image.Point // from, to
	for _, t := range all {
		x := bar.Min.X + int(t.at*float64(bar.Dx()-1)+0.5)
		w := p.fonts.label.width(t.text)
		from := min(max(x-w/2, bar.Min.X-p.px(6)), bar.Max.X-w+p.px(6))
		free := true
		for _, other := range taken {
			free = free && (from+w+p.px(9) < other.X || from > other.Y+p.px(9))
		}
		if !free {
			continue
		}
		taken = append(taken, image.Pt(from, from+w))
		p.fonts.label.draw(p.img, from, base, t.text, inkText())
		fill(p.img, image.Rect(x, bar.Max.Y, x+1, bar.Max.Y+p.px(4)), inkMuted())
	}
}

func (p *heatSheet) scaleName(log bool) string {
	if log {
		return "log scale"
	}
	return "linear scale"
}

// pillFrame paints a rectangle with a border.
func pillFrame(dst *image.RGBA, r image.Rectangle, inner, border color.RGBA) {
	fill(dst, r, border)
	fill(dst, r.Inset(1), inner)
}
