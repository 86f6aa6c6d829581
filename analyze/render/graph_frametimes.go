package render

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"sort"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/eideticker/eideticker/analyze"
)

// FrameTimeGraph draws a bar for each frame: its milliseconds on the screen, at the time it came.
// Bars of more than twice the median are long frames, and coloured. Bars that leave the picture
// have their length written on top. The series' unit is "ms", "s" or "ns".
func FrameTimeGraph(s analyze.Series, seconds func(frame int) float64, o GraphOptions) (*Graph, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("draw frame times: %w", err)
	}
	points, err := pointsOf(s, seconds)
	if err != nil {
		return nil, fmt.Errorf("draw frame times: %w", err)
	}
	perMs, ok := map[string]float64{"ms": 1, "s": 1e3, "ns": 1e-6}[s.Unit]
	if !ok {
		return nil, fmt.Errorf("draw frame times: %w: they are in %q, want ms, s or ns", errGraph, s.Unit)
	}
	times := make([]float64, len(points))
	for i := range points {
		points[i].y *= perMs
		times[i] = points[i].y
	}
	slices.Sort(times)
	if times[0] < 0 {
		return nil, fmt.Errorf("draw frame times: %w: one is %v ms", errGraph, times[0])
	}
	median := (times[(len(times)-1)/2] + times[len(times)/2]) / 2
	o.Marks = sortedMarks(o.Marks)
	g := newGraph(o, "frame time (ms)")
	last := points[len(points)-1]
	g.times(points[0].x, last.x+last.y/1e3)
	g.plot.Y.Min, g.plot.Y.Max = 0, topOf(median, times[len(times)-1])
	b := &bars{points: points, long: 2 * median, short: lineColour(0), over: rgb(0xd9480f), columns: o.Width / 2}
	g.plot.Add(moments(o.Marks), b)
	g.keys = []key{{name: "frame time, median " + number(median, 1) + " ms", colour: b.short, bar: true}}
	if long := len(times) - sort.Search(len(times), func(i int) bool { return times[i] > b.long }); long > 0 {
		g.plot.Add(level(b.long))
		name := fmt.Sprintf("%s of %s over 2 × median", number(float64(long), 0), number(float64(len(times)), 0))
		g.keys = append(g.keys, key{name: name, colour: b.over, bar: true})
	}
	return g, nil
}

// topOf returns where the vertical axis ends: a single freeze does not make the rest invisible.
func topOf(median, longest float64) float64 {
	top := math.Max(longest*1.05, median*2.6)
	if median > 0 {
		top = math.Min(top, 10*median)
	}
	if top == 0 {
		return 1
	}
	return top
}

// bars are frames as blocks from their time on, as wide as they are long. Where several share a
// column, it shows the longest of the long ones behind the longest of the others.
type bars struct {
	points      []point // seconds, milliseconds
	long        float64
	short, over color.RGBA
	columns     int
}

// column summarizes the frames that begin in one column.
type column struct {
	from, to    float64 // seconds
	short, long float64 // milliseconds; 0 for none
}

func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	label := style(11, xfont.WeightBold, b.over)
	taken := c.Min.X - px(40)
	for _, at := range b.fold(p.X.Min, (p.X.Max-p.X.Min)/float64(b.columns)) {
		left, right := x(at.from), min(x(at.to), c.Max.X)
		if gap := px(1); right-left > px(5) { // frames are separated if they are wide enough
			right -= gap
		}
		block := func(colour color.RGBA, from, to float64) {
			bottom, top := y(from), y(math.Min(to, p.Y.Max))
			c.FillPolygon(colour, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top},
				{X: left, Y: top}})
		}
		if at.short > 0 {
			block(b.short, 0, at.short)
		}
		if at.long > 0 {
			block(b.over, at.short, at.long)
		}
		if at.long <= p.Y.Max {
			continue
		}
		text := number(at.long, 0) + " ms"
		half := label.Width(text) / 2
		from := min(max((left+right)/2-half, c.Min.X), c.Max.X-2*half)
		if from > taken+px(4) {
			low, high := vg.Point{X: from - px(3), Y: c.Max.Y - px(15)},
				vg.Point{X: from + 2*half + px(3), Y: c.Max.Y - px(1)}
			c.FillPolygon(paper(), []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}})
			c.FillText(label, vg.Point{X: from, Y: c.Max.Y - px(12)}, text)
			taken = from + 2*half
		}
	}
}

// fold gathers the frames that begin in the same column of some width.
func (b *bars) fold(start, width float64) []column {
	var out []column
	last := math.Inf(-1)
	for _, p := range b.points {
		at := math.Floor((p.x - start) / width)
		if at != last {
			out = append(out, column{from: p.x, to: p.x})
			last = at
		} else if c := &out[len(out)-1]; c.to-c.from < width { // shared: the column is filled
			c.from, c.to = start+at*width, start+(at+1)*width
		}
		c := &out[len(out)-1]
		c.to = math.Max(c.to, p.x+p.y/1e3)
		if p.y > b.long {
			c.long = math.Max(c.long, p.y)
		} else {
			c.short = math.Max(c.short, p.y)
		}
	}
	for i := 1; i < len(out); i++ { // a frame ends where the next begins
		out[i-1].to = math.Min(out[i-1].to, out[i].from)
	}
	return out
}

// level is a horizontal line.
type level float64

func (l level) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	at := y(float64(l))
	c.StrokeLine2(draw.LineStyle{Color: faint(), Width: px(1), Dashes: []vg.Length{px(2), px(3)}}, c.Min.X, at, c.Max.X,
		at)
}
