package certify

import (
	"image"
	"math"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
)

// Detail is how much of the finest detail survives: the contrast between neighbours one pixel
// apart, as a share of the sent one. It is measured where a pixel of the picture is a pixel of the
// frame.
type Detail struct {
	Judged      bool    `json:"judged"`
	LumaColumns float64 `json:"luma_columns"`
	LumaRows    float64 `json:"luma_rows"`
	LumaChecker float64 `json:"luma_checker"`
	// Chroma detail tells subsampling: 4:2:2 loses columns, 4:2:0 columns and rows.
	ChromaColumns  float64 `json:"chroma_columns"`
	ChromaRows     float64 `json:"chroma_rows"`
	ChromaColumns2 float64 `json:"chroma_columns_2px"`
	ChromaColumns4 float64 `json:"chroma_columns_4px"`
	ChromaJudged   bool    `json:"chroma_judged"`
	// 4:4:4, 4:2:2, 4:2:0; 4:4:0, 4:1:1, none; empty if not judged, or none of these
	Chroma string `json:"chroma"`
	// Steps is the number of the 256 grey steps inside the frame. Levels is how many of them are
	// distinct, in grey and in the channel with the fewest.
	Steps         int `json:"grey_steps"`
	Levels        int `json:"grey_levels"`
	ChannelLevels int `json:"channel_levels"`
	// Clipped is how many steps at the dark and at the light end equal the outermost one.
	Clipped [2]int `json:"clipped_steps"`
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

// each calls f for every pixel of a rectangle inside the frame.
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

// contrast returns the difference between the means of two kinds of pixels, as a share of most. The
// pixel's place in the picture determines its kind. value is the compared property. ok is false if
// too little of the rectangle is visible.
func (p *pixels) contrast(r image.Rectangle, shift image.Point, most float64, first func(x, y int) bool,
	value func(c colourF) float64) (share float64, ok bool) {
	var sum, n [2]float64
	p.each(r, func(x, y int, c colourF) {
		k := 0
		if first(x-shift.X, y-shift.Y) {
			k = 1
		}
		sum[k] += value(c)
		n[k]++
	})
	const least = 32 // pixels of a kind
	if n[0] < least || n[1] < least || most == 0 {
		return 0, false
	}
	return math.Abs(sum[1]/n[1]-sum[0]/n[0]) / most, true
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
	luma := func(c colourF) float64 { return (c[0] + c[1] + c[2]) / 3 }
	chroma := func(c colourF) float64 { return c[0] - c[2] }
	columns := func(x, _ int) bool { return x&1 == 0 }
	rows := func(_, y int) bool { return y&1 == 0 }
	checker := func(x, y int) bool { return (x+y)&1 == 0 }
	columns2 := func(x, _ int) bool { return x>>1&1 == 0 }
	columns4 := func(x, _ int) bool { return x>>2&1 == 0 }
	d.Judged, d.ChromaJudged = true, true
	measure := func(share *float64, judged *bool, area int, most float64, first func(x, y int) bool,
		value func(c colourF) float64) {
		v, ok := p.contrast(at.rect(q.detail[area], f), shift, most, first, value)
		*share, *judged = v, *judged && ok
	}
	measure(&d.LumaColumns, &d.Judged, lumaColumns, white, columns, luma)
	measure(&d.LumaRows, &d.Judged, lumaRows, white, rows, luma)
	measure(&d.LumaChecker, &d.Judged, lumaChecker, white, checker, luma)
	measure(&d.ChromaColumns, &d.ChromaJudged, chromaColumns, 2*white, columns, chroma)
	measure(&d.ChromaRows, &d.ChromaJudged, chromaRows, 2*white, rows, chroma)
	coarse := true // columns of several pixels only reveal a format that is not 4:4:4
	measure(&d.ChromaColumns2, &coarse, chromaColumns2, 2*white, columns2, chroma)
	measure(&d.ChromaColumns4, &coarse, chromaColumns4, 2*white, columns4, chroma)
	d.ChromaJudged = d.ChromaJudged && (coarse || d.ChromaColumns >= sharp && d.ChromaRows >= sharp)
	d.ChromaJudged = d.ChromaJudged && d.Judged
	if d.ChromaJudged {
		d.Chroma = d.subsampling()
	}
	return d
}

// sharp is the minimum share of contrast for kept detail. Below gone it counts as lost. Below
// trace, none of it is left.
const (
	sharp = 0.7
	gone  = 0.4
	trace = 0.1
)

// blurred says that neighbouring pixels run into each other in brightness: nothing can be said of
// colour then.
func (d Detail) blurred() bool { return d.LumaColumns < sharp || d.LumaRows < sharp }

// subsampling returns the subsampling that chroma detail reveals. It is empty if luma is not sharp
// either. It is also empty if chroma is coarser than 4:4:4 by a share without a name.
//
// Good converters filter 4:2:2 on the way down and up. Then a quarter of the contrast of columns of
// two pixels is left, and two thirds of that of four. 4:1:1 leaves nothing of the former.
func (d Detail) subsampling() string {
	if d.blurred() {
		return ""
	}
	columns, rows := d.ChromaColumns >= sharp, d.ChromaRows >= sharp
	noColumns, noRows := d.ChromaColumns < gone, d.ChromaRows < gone
	half := noColumns && (d.ChromaColumns2 >= gone || d.ChromaColumns2 >= trace && d.ChromaColumns4 >= gone)
	switch {
	case columns && rows:
		return "4:4:4"
	case d.ChromaColumns < trace && d.ChromaColumns2 < trace && d.ChromaColumns4 < trace && d.ChromaRows < trace:
		return "none"
	case columns && noRows:
		return "4:4:0"
	case half && rows:
		return "4:2:2"
	case half && noRows:
		return "4:2:0"
	case noColumns && d.ChromaColumns2 < trace && rows:
		return "4:1:1"
	}
	return ""
}

// measureRamps counts the distinct steps of the ramps inside the frame.
func (e *evidence) measureRamps(p *pixels, at placement, d *Detail) {
	for i, r := range e.pattern.ramps {
		var seen [256]bool
		var came []int // of the steps inside the frame
		mixed := 0
		for v := range 256 {
			mean, spread, ok := p.flat(e.rampStep(at, r, v))
			if !ok {
				continue
			}
			value := int(clip(math.Round(mean[max(0, i-1)])))
			seen[value] = true
			came = append(came, value)
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
		case len(came) == 0: // cut off
		case i == 0:
			d.Steps, d.Levels, d.ChannelLevels = len(came), levels, levels
			d.Dither = mixed > 64
			d.Clipped = [2]int{alike(came), alike(reversed(came))}
		default:
			d.ChannelLevels = min(d.ChannelLevels, levels)
		}
	}
}

// rampStep returns the place of one step of a ramp in the frame. It is empty unless the whole width
// is inside.
func (e *evidence) rampStep(at placement, r image.Rectangle, v int) image.Rectangle {
	f := e.segment.Layout.Format
	step := r.Dx() / 256
	cell := image.Rect(r.Min.X+v*step, r.Min.Y, r.Min.X+(v+1)*step, r.Max.Y)
	const slack = 0.5
	if at.left+at.scaleX*float64(cell.Min.X) < -slack || at.left+at.scaleX*float64(cell.Max.X) > float64(f.Width)+
		slack {
		return image.Rectangle{}
	}
	area := at.rect(cell, f)
	if area.Empty() { // narrower than the edges that are left out: its middle column
		area = at.rect(image.Rect(cell.Min.X-8, cell.Min.Y, cell.Max.X+8, cell.Max.Y), f)
		area.Min.X = int(at.left + at.scaleX*(float64(cell.Min.X)+float64(step)/2))
		area.Max.X = area.Min.X + 1
		area = area.Intersect(image.Rect(0, 0, f.Width, f.Height))
	}
	return area
}

// alike returns how many values after the first are the same as it.
func alike(values []int) (n int) {
	for n < len(values)-1 && values[n+1] == values[0] {
		n++
	}
	return n
}

func reversed(values []int) []int {
	out := slices.Clone(values)
	slices.Reverse(out)
	return out
}
