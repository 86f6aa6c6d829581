package render

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// GraphOptions say how a graph is drawn.
type GraphOptions struct {
	Title         string
	Width, Height int    // pixels of 1/96 inch; 0 for 800 and 300
	Scale         int    // dots of the PNG for each pixel, along each side; 0 for 1
	TimeLabel     string // of the horizontal axis; empty for "time (s)"
	Marks         []TimeMark
}

// TimeMark is a moment that a graph names.
type TimeMark struct {
	Seconds float64
	Label   string
	Tone    Tone
}

// errGraph is wrapped where a graph cannot be drawn.
var errGraph = errors.New("bad graph")

// maxPoints bounds the points that are read of one series.
const maxPoints = 1 << 24

func (o GraphOptions) withDefaults() (GraphOptions, error) {
	if o.Width == 0 && o.Height == 0 {
		o.Width, o.Height = 800, 300
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.TimeLabel == "" {
		o.TimeLabel = "time (s)"
	}
	if o.Width < 200 || o.Height < 120 || o.Width > 8192 || o.Height > 8192 || o.Scale < 1 || o.Scale > 4 {
		return o, fmt.Errorf("%w: %dx%d pixels of %d dots, want 200x120 to 8192x8192 pixels of 1 to 4 dots", errGraph,
			o.Width, o.Height, o.Scale)
	}
	const most = 1000
	if len(o.Marks) > most {
		return o, fmt.Errorf("%w: %d marks, want at most %d", errGraph, len(o.Marks), most)
	}
	for _, m := range o.Marks {
		if math.IsNaN(m.Seconds) || math.IsInf(m.Seconds, 0) {
			return o, fmt.Errorf("%w: mark %q is at %v s", errGraph, m.Label, m.Seconds)
		}
	}
	return o, nil
}

// Graph is a drawing that can be written in both formats.
type Graph struct {
	plot *plot.Plot
	o    GraphOptions
	keys []key
}

// key is one entry of the legend.
type key struct {
	name   string
	colour color.RGBA
	dashes []vg.Length
	bar    bool // a block instead of a line
}

// px is a length in pixels of 1/96 inch.
func px(n float64) vg.Length { return vg.Length(n * 0.75) }

func style(size float64, weight xfont.Weight, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight}, px(size)),
		Handler: plot.DefaultTextHandler,
	}
}

func paper() color.RGBA { return rgb(0xffffff) }
func ink() color.RGBA   { return rgb(0x1f2933) }
func faint() color.RGBA { return rgb(0x64707f) }
func rule() color.RGBA  { return rgb(0xe3e8ee) }

func newGraph(o GraphOptions, yLabel string) *Graph {
	p := plot.New()
	p.BackgroundColor = color.Transparent // the whole canvas is painted
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = style(12, xfont.WeightNormal, faint())
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
		a.Label.Padding = px(4)
		a.Tick.Label = style(12, xfont.WeightNormal, faint())
		a.Tick.LineStyle = draw.LineStyle{Color: rgb(0xb6c0cc), Width: px(1)}
		a.Tick.Length = px(4)
		a.LineStyle = draw.LineStyle{Color: rgb(0xb6c0cc), Width: px(1)}
		a.Padding = 0
	}
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	p.X.Label.Text, p.Y.Label.Text = o.TimeLabel, yLabel
	p.X.Tick.Marker = evenTicks{most: max(3, o.Width/90)}
	p.Y.Tick.Marker = evenTicks{most: max(3, o.Height/45)}
	p.Add(rules{})
	return &Graph{plot: p, o: o}
}

// times sets the horizontal axis.
func (g *Graph) times(from, to float64) {
	for _, m := range g.o.Marks {
		from, to = math.Min(from, m.Seconds), math.Max(to, m.Seconds)
	}
	if to <= from {
		from, to = from-0.5, from+0.5
	}
	g.plot.X.Min, g.plot.X.Max = from, to
}

// draw lays out header, marks and plot.
func (g *Graph) draw(c draw.Canvas) {
	c.FillPolygon(paper(), []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	header := g.header(c)
	marks := px(0)
	if len(g.o.Marks) > 0 {
		marks = px(18)
	}
	g.plot.Draw(draw.Crop(c, px(12), -px(22), px(8), -header-marks-px(8)))
}

// header writes the title and the legend, beside each other where both fit, and returns their
// height.
func (g *Graph) header(c draw.Canvas) vg.Length {
	height := px(10)
	left, right := c.Min.X+px(16), c.Max.X-px(22)
	end := left
	if g.o.Title != "" {
		title := style(15, xfont.WeightBold, ink())
		c.FillText(title, vg.Point{X: left, Y: c.Max.Y - px(26)}, fitText(title, g.o.Title, right-left))
		end += title.Width(fitText(title, g.o.Title, right-left)) + px(24)
		height = px(36)
	}
	if len(g.keys) == 0 {
		return height
	}
	label := style(12, xfont.WeightNormal, ink())
	total := vg.Length(0)
	for _, k := range g.keys {
		total += px(22) + label.Width(k.name) + px(18)
	}
	total -= px(18)
	x, y := right-total, c.Max.Y-px(25)
	if x < end { // a line of their own
		x, y = left, c.Max.Y-height-px(14)
		height += px(24)
	}
	height = max(height, px(36))
	for _, k := range g.keys {
		if room := right - x - px(22); room < px(20) {
			break
		} else {
			k.name = fitText(label, k.name, room)
		}
		k.draw(c, x, y+px(4))
		c.FillText(label, vg.Point{X: x + px(22), Y: y}, k.name)
		x += px(22) + label.Width(k.name) + px(18)
	}
	return height
}

func (k key) draw(c draw.Canvas, x, y vg.Length) {
	if k.bar {
		c.FillPolygon(k.colour, []vg.Point{
			{X: x + px(4), Y: y - px(5)}, {X: x + px(14), Y: y - px(5)}, {X: x + px(14), Y: y + px(5)},
			{X: x + px(4), Y: y + px(5)},
		})
		return
	}
	c.StrokeLine2(draw.LineStyle{Color: k.colour, Width: px(2.5), Dashes: k.dashes}, x, y, x+px(16), y)
}

// fitText shortens a text to a width.
func fitText(s text.Style, t string, width vg.Length) string {
	const longest = 200
	runes := []rune(t)
	if len(runes) > longest {
		runes = append(runes[:longest:longest], '…')
	}
	for len(runes) > 1 && s.Width(string(runes)) > width {
		runes = append(runes[:len(runes)-2], '…')
	}
	return string(runes)
}

// WriteSVG writes the graph as SVG. Its texts use the viewer's Liberation Sans, Arial or a similar
// font.
func (g *Graph) WriteSVG(w io.Writer) error {
	c := vgsvg.NewWith(vgsvg.UseWH(px(float64(g.o.Width)), px(float64(g.o.Height))))
	g.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("write graph: %w", err)
	}
	svg := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	if _, err := w.Write(svg); err != nil {
		return fmt.Errorf("write graph: %w", err)
	}
	return nil
}

// WritePNG writes the graph as PNG.
func (g *Graph) WritePNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(px(float64(g.o.Width)), px(float64(g.o.Height))), vgimg.UseDPI(96*g.o.Scale))
	g.draw(draw.New(c))
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("write graph: %w", err)
	}
	return nil
}

// evenTicks are at multiples of 1, 2 or 5 and a power of ten, all named.
type evenTicks struct{ most int }

func (t evenTicks) Ticks(low, high float64) []plot.Tick {
	step := niceStep((high - low) / float64(t.most))
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var all []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9 && len(all) < 200; i++ {
		all = append(all, plot.Tick{Value: i * step, Label: number(i*step+0, digits)})
	}
	return all
}

// niceStep returns the smallest of 1, 2, 5 and their tens that is not below x.
func niceStep(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(x)))
	for _, n := range []float64{1, 2, 5} {
		if n*ten >= x*(1-1e-9) {
			return n * ten
		}
	}
	return 10 * ten
}

// rules are the horizontal lines behind the data.
type rules struct{}

func (rules) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(draw.LineStyle{Color: rule(), Width: px(1)}, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
}

// moments draws marks: a line through the plot, and its name above it where there is room.
type moments []TimeMark

func (m moments) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	taken := c.Min.X - px(40)
	for _, mark := range m {
		at := x(mark.Seconds)
		c.StrokeLine2(draw.LineStyle{Color: mark.Tone.onWhite(), Width: px(1), Dashes: []vg.Length{px(4), px(3)}}, at,
			c.Min.Y, at, c.Max.Y+px(4))
		label := style(12, xfont.WeightBold, mark.Tone.onWhite())
		name := fitText(label, mark.Label, px(160))
		half := label.Width(name) / 2
		from := min(max(at-half, c.Min.X), c.Max.X+px(16)-2*half)
		if from < taken+px(8) {
			continue
		}
		c.FillText(label, vg.Point{X: from, Y: c.Max.Y + px(8)}, name)
		taken = from + 2*half
	}
}
