// Package load measures how a page or a window comes to its last picture: load histogram, load
// figures and window opening. One pass compares each change with the last frame for all of them.
// No single number is the load time, so each variant of progress has its own name.
package load

import (
	"fmt"
	"math/bits"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
)

// part tracks how far a window's frames have come on their way to its last one, fe. It serves three
// measures: loadhist, speedindex and windowopen. One pass feeds all of them. Unchanged parts of a
// frame cost no time.
//
// The state of a frame is a histogram and, for each pixel, whether it differs from fe. Changes
// update it. A share's state begins with the frame before its first one, so its results need no
// other share's.
type part struct {
	*measure.Case
	variants variants
	final    frame.Image
	differ   *frame.Differ
	conv     *frame.Converter
	bounds   *ends // of the histograms

	begun   bool
	whole   bool     // the frame at hand was taken as a whole
	unequal []uint64 // a bit per pixel of the area, set where the frame before differs from fe
	count   int      // how many
	hist    visual.Histogram
	counts  *recounts
	luma    *lumas // nil unless a variant looks at luma

	// Results, for each frame in which something changed.
	frames  []int
	unique  []bool            // of each: it differs from the frame before it beyond τ, and in more than m pixels
	equal   []int             // pixels that do not differ from fe: H[i]
	matched []visual.Progress // of histograms
	similar []float64         // SSIM to fe
	edges   []int
}

// ends are the histograms of the first and the last frame.
type ends struct{ first, last visual.Histogram }

func newPart(c *measure.Case, asked []string) (measure.Part, error) {
	final, err := c.Image(c.Window.End)
	if err != nil {
		return nil, fmt.Errorf("the last content frame cannot be read: %w", err)
	}
	l := &part{Case: c, final: final, conv: frame.NewConverter(c.Layout), bounds: new(ends)}
	if l.variants, err = chooseVariants(c, asked); err != nil {
		return nil, err
	}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	if !l.variants.histogram {
		return l, nil
	}
	first, err := c.Image(c.Window.First())
	if err != nil {
		return nil, fmt.Errorf("the first frame cannot be read: %w", err)
	}
	l.counts.whole(&l.bounds.first, first)
	l.counts.whole(&l.bounds.last, final)
	return l, nil
}

// prepare makes what a part does not share.
func (l *part) prepare() (err error) {
	l.differ = frame.NewDiffer(l.Layout, l.Tolerance)
	l.unequal = make([]uint64, l.Area.Words*l.Layout.Format.Height)
	l.counts = newRecounts(l)
	l.luma, err = newLumas(l)
	return err
}

func (l *part) Fork() measure.Part {
	f := &part{Case: l.Case, variants: l.variants, final: l.final, conv: l.conv, bounds: l.bounds}
	if err := f.prepare(); err != nil {
		panic(fmt.Sprintf("fork: %v", err)) // what could be prepared once can be again
	}
	return f
}

func (l *part) Meet(f *measure.Frame) {
	l.whole = false
	if l.begun {
		if l.variants.histogram {
			l.counts.meet(f.Change)
		}
		return
	}
	l.begun = true
	switch {
	case f.Number > l.Window.Start:
		l.begin(f.Previous)
	case l.Window.Green != measure.None && f.Previous.Rows != nil:
		l.begin(f.Previous)
		l.note(l.Window.Green, false)
	default:
		l.begin(f.Image)
		l.whole = true
	}
}

func (l *part) Follow(f *measure.Frame, lines []measure.Line) {
	if l.whole {
		return
	}
	for i := range lines {
		line := &lines[i]
		l.compare(f.Image, line.Y, line.Word, line.Word+len(line.Bits))
	}
	if l.variants.histogram {
		l.counts.move(f, lines)
	}
}

func (l *part) Add(f *measure.Frame) {
	if l.whole {
		l.note(f.Number, false)
		return
	}
	// Spans may reach over pixels that are the same.
	if f.Diff == nil || len(f.Diff.Lines) == 0 || l.Tolerance == 0 && f.Diff.Pixels == 0 {
		return
	}
	if l.variants.histogram {
		l.counts.finish(f)
	}
	if l.luma != nil {
		l.luma.move(f.Image, f.Diff)
	}
	l.note(f.Number, f.Unique)
}

// begin takes the state from a whole frame.
func (l *part) begin(m frame.Image) {
	r := l.Area.Region
	w0, w1 := r.X/64, (r.X+r.Width+63)/64
	for y := r.Y; y < r.Y+r.Height; y++ {
		l.compare(m, y, w0, w1)
	}
	if l.variants.histogram {
		l.counts.whole(&l.hist, m)
	}
	if l.luma != nil {
		l.luma.begin(m)
	}
}

// compare finds where words of a line differ from fe.
func (l *part) compare(m frame.Image, y, w0, w1 int) {
	at := y * l.Area.Words
	row := l.unequal[at+w0 : at+w1]
	for _, w := range row {
		l.count -= bits.OnesCount64(w)
	}
	l.differ.Line(row, y, w0, w1, l.final, m)
	for i, counts := range l.Area.Line(y)[w0:w1] {
		row[i] &= counts
		l.count += bits.OnesCount64(row[i])
	}
}

// note keeps how far a frame has come.
func (l *part) note(n int, unique bool) {
	l.frames, l.unique = append(l.frames, n), append(l.unique, unique)
	l.equal = append(l.equal, l.Area.Pixels-l.count)
	if l.variants.histogram {
		l.matched = append(l.matched, visual.HistogramProgress(&l.hist, &l.bounds.first, &l.bounds.last))
	}
	if l.variants.perceptual {
		l.similar = append(l.similar, l.luma.ssim.Value())
	}
	if l.variants.contentful {
		l.edges = append(l.edges, l.luma.edges.Count())
	}
}

func (l *part) Merge(next measure.Part) {
	n := next.(*part)
	l.frames, l.unique = append(l.frames, n.frames...), append(l.unique, n.unique...)
	l.equal = append(l.equal, n.equal...)
	l.matched = append(l.matched, n.matched...)
	l.similar = append(l.similar, n.similar...)
	l.edges = append(l.edges, n.edges...)
}

func (l *part) Result() measure.Result { return l.ResultOf("loadhist") }

func (l *part) ResultOf(name string) measure.Result {
	switch name {
	case "speedindex":
		return l.figures()
	case "windowopen":
		r := l.histogramOfLoad()
		figures := l.figures()
		r.Values, r.Warnings, r.Detail = append(r.Values, figures.Values...), figures.Warnings, figures.Detail
		if figures.State == measure.Refused {
			r.Warnings = append(r.Warnings, "load figures are left out: "+figures.Refusal)
		}
		return r
	}
	return l.histogramOfLoad()
}
