package certify

import (
	"image"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// Detail is how much of the finest detail comes through: the contrast between neighbours one pixel apart, as a share of what was
// sent. It is measured where a pixel of the picture is a pixel of the frame.
type Detail struct {
	Judged      bool    `json:"judged"`
	LumaColumns float64 `json:"luma_columns"`
	LumaRows    float64 `json:"luma_rows"`
	LumaChecker float64 `json:"luma_checker"`
	// Chroma detail tells subsampling: 4:2:2 loses columns, 4:2:0 columns and rows.
	ChromaColumns  float64 `json:"chroma_columns"`
	ChromaRows     float64 `json:"chroma_rows"`
	ChromaColumns2 float64 `json:"chroma_columns_2px"`
	Chroma         string  `json:"chroma"` // 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1, none; empty if not judged
	// Levels is how many of 256 steps of grey, and of the channel with the fewest, are told apart.
	Levels        int `json:"grey_levels"`
	ChannelLevels int `json:"channel_levels"`
	// Dither says that steps which were sent flat are mixed of two values.
	Dither bool `json:"dither"`
	// Spread is the largest standard deviation within a flat patch, in sample values.
	Spread float64 `json:"flat_spread"`
}

// pixels is a frame as colours, converted as it is asked for.
type pixels struct {
	img  frame.Image
	rgba *frame.Converter
	row  []byte
}

func newPixels(rgba *frame.Converter, f frame.Format) *pixels {
	return &pixels{rgba: rgba, row: make([]byte, f.Width*4)}
}

// each calls f for every pixel of a rectangle that lies in the frame.
func (p *pixels) each(r image.Rectangle, f func(x, y int, c colourF)) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := p.row[:r.Dx()*4]
		p.rgba.RGBARow(row, p.img, y, r.Min.X, r.Max.X)
		for x := r.Min.X; x < r.Max.X; x++ {
			f(x, y, colourF{float64(row[0]), float64(row[1]), float64(row[2])})
			row = row[4:]
		}
	}
}

// flat returns the mean of a rectangle and the largest standard deviation of a channel.
func (p *pixels) flat(r image.Rectangle) (mean colourF, spread float64, ok bool) {
	var sum, squares colourF
	n := 0.0
	p.each(r, func(_, _ int, c colourF) {
		n++
		for i, v := range c {
			sum[i] += v
			squares[i] += v * v
		}
	})
	if n == 0 {
		return mean, 0, false
	}
	for i := range sum {
		mean[i] = sum[i] / n
		spread = max(spread, math.Sqrt(max(0, squares[i]/n-mean[i]*mean[i])))
	}
	return mean, spread, true
}

// contrast returns the difference between the means of two kinds of pixels, as a share of most. Pixels are told apart by
// their place in the picture, value is what of them is compared.
func (p *pixels) contrast(r image.Rectangle, shift image.Point, most float64, first func(x, y int) bool, value func(c colourF) float64) float64 {
	var sum, n [2]float64
	p.each(r, func(x, y int, c colourF) {
		k := 0
		if first(x-shift.X, y-shift.Y) {
			k = 1
		}
		sum[k] += value(c)
		n[k]++
	})
	if n[0] == 0 || n[1] == 0 || most == 0 {
		return 0
	}
	return math.Abs(sum[1]/n[1]-sum[0]/n[0]) / most
}

// measureDetail measures one frame. white is how far white is from black in it.
func (e *evidence) measureDetail(p *pixels, at placement, white float64) Detail {
	var d Detail
	f := e.segment.Layout.Format
	q := e.pattern
	for _, v := range q.patches {
		if _, spread, ok := p.flat(at.rect(v.area, f)); ok {
			d.Spread = max(d.Spread, spread)
		}
	}
	e.measureRamps(p, at, &d)
	shift, ok := at.unscaled(q)
	if !ok {
		return d
	}
	d.Judged = true
	luma := func(c colourF) float64 { return (c[0] + c[1] + c[2]) / 3 }
	chroma := func(c colourF) float64 { return c[0] - c[2] }
	columns := func(x, _ int) bool { return x&1 == 0 }
	rows := func(_, y int) bool { return y&1 == 0 }
	checker := func(x, y int) bool { return (x+y)&1 == 0 }
	columns2 := func(x, _ int) bool { return x>>1&1 == 0 }
	r := func(i int) image.Rectangle { return at.rect(q.detail[i], f) }
	d.LumaColumns = p.contrast(r(lumaColumns), shift, white, columns, luma)
	d.LumaRows = p.contrast(r(lumaRows), shift, white, rows, luma)
	d.LumaChecker = p.contrast(r(lumaChecker), shift, white, checker, luma)
	d.ChromaColumns = p.contrast(r(chromaColumns), shift, 2*white, columns, chroma)
	d.ChromaRows = p.contrast(r(chromaRows), shift, 2*white, rows, chroma)
	d.ChromaColumns2 = p.contrast(r(chromaColumns2), shift, 2*white, columns2, chroma)
	d.Chroma = d.subsampling()
	return d
}

// sharp is the share of contrast from which on detail counts as kept, and gone that below which it counts as lost.
const (
	sharp = 0.7
	gone  = 0.4
)

// subsampling names what chroma detail tells. It is empty where luma is not sharp either: then the picture is blurred as a whole.
func (d Detail) subsampling() string {
	if d.LumaColumns < sharp || d.LumaRows < sharp {
		return ""
	}
	columns, rows := d.ChromaColumns >= sharp, d.ChromaRows >= sharp
	switch {
	case columns && rows:
		return "4:4:4"
	case d.ChromaColumns2 < gone && d.ChromaRows < gone:
		return "none"
	case d.ChromaColumns2 < gone:
		return "4:1:1"
	case rows && d.ChromaColumns < gone:
		return "4:2:2"
	case columns && d.ChromaRows < gone:
		return "4:4:0"
	case d.ChromaColumns < gone && d.ChromaRows < gone:
		return "4:2:0"
	}
	return ""
}

// measureRamps counts the steps of the ramps that can be told apart.
func (e *evidence) measureRamps(p *pixels, at placement, d *Detail) {
	f := e.segment.Layout.Format
	for i, r := range e.pattern.ramps {
		step := r.Dx() / 256
		var seen [256]bool
		mixed := 0
		for v := range 256 {
			cell := image.Rect(r.Min.X+v*step, r.Min.Y, r.Min.X+(v+1)*step, r.Max.Y)
			area := at.rect(cell, f)
			if area.Empty() { // narrower than the edges that are left out: its middle column
				area = at.rect(image.Rect(cell.Min.X-8, cell.Min.Y, cell.Max.X+8, cell.Max.Y), f)
				area.Min.X = int(at.left + at.scaleX*(float64(cell.Min.X)+float64(step)/2))
				area.Max.X = area.Min.X + 1
				area = area.Intersect(image.Rect(0, 0, f.Width, f.Height))
			}
			mean, spread, ok := p.flat(area)
			if !ok {
				continue
			}
			channel := max(0, i-1)
			seen[int(clip(math.Round(mean[channel])))] = true
			if spread > 0.4 && spread < 4 {
				mixed++
			}
		}
		levels := 0
		for _, s := range seen {
			if s {
				levels++
			}
		}
		switch {
		case i == 0:
			d.Levels, d.ChannelLevels = levels, levels
			d.Dither = mixed > 64
		default:
			d.ChannelLevels = min(d.ChannelLevels, levels)
		}
	}
}
