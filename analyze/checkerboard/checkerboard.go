// Package checkerboard measures areas that a browser has not drawn yet. It follows the exact
// pixels of such areas, not their bounding box. The time until an area is filled matters more than
// its size, so regions are followed over time.
package checkerboard

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # checkerboard
//
// A(i) is the number of pixels of R in frame i that are checkerboard. mask.go defines
// them. They have the one colour of undrawn areas, or are part of a grid of two alternating
// colours. A is the true mask, not its bounding box. The series "checkerboard" is the fraction A(i)
// / size(R).
//
//	checkerboard_free      stored frames s ≤ i ≤ e with A(i) = 0, of all stored frames;
//	checkerboard_frames    the others;
//	most_checkerboard      max A(i) / size(R);
//	mean_checkerboard      checkerboard_area / (size(R) · (r − s));
//	checkerboard_area      ∫ A dt from s to r, pixel·ms; a frame lasts until the next stored one;
//	checkerboard_time      the same with A / size(R), ms;
//	checkerboard_sum       Σ A(i) / size(R) of stored frames, in frames, as in the first Eideticker;
//	regions                connected bodies of checkerboard in space and time. Pixels beside or above
//	                       each other connect; so does a pixel with itself in the next stored frame;
//	longest_fill, mean_fill   time from a region's first frame to the first without it. A region that
//	                          remains counts until the end, and may last longer;
//	unfilled_regions       regions that remain in the last content frame.
//
// A grid has two colours, the side of its cells and the corner of a cell of the first colour.
// Without a side, up to 32 frames are searched for a grid, with the two colours or with any. See
// pattern.go. A grid is fixed to the frame. If it scrolls with the page, it is found
// only at its first place. A colour that never appears means no checkerboard. If a searched grid is
// not found, the measure is refused.
//
// A lost frame may have shown any part of R as checkerboard. lost.go bounds the number
// of regions.
func Measure(o Options) measure.Measure {
	begin := func(c *measure.Case) (measure.Part, error) { return newPart(c, &o) }
	return measure.Measure{Name: "checkerboard", Version: 1, Pixels: true, Begin: begin, Values: []string{
		"checkerboard_free", "checkerboard_frames", "most_checkerboard", "checkerboard_area", "checkerboard_time",
		"checkerboard_sum", "mean_checkerboard",
		"regions", "unfilled_regions", "longest_fill", "mean_fill",
	}}
}

// Options describe undrawn areas. The zero value searches for a grid of any two
// colours.
type Options struct {
	Colours []uint32 // 0xRRGGBB: one for a plain surface, two for a grid; empty: any two
	Cell    int      // side of a grid's cells, pixels; 0: it is looked for
	X, Y    int      // where both are given: corner of a cell of the first colour, pixels of the frame
}

// Detail is the detail of a result, as JSON.
type Detail struct {
	Colours []string `json:"colours"` // #rrggbb
	Cell    int      `json:"cell"`    // side in pixels; 0: one colour
	X       int      `json:"x"`       // corner of a cell of the first colour
	Y       int      `json:"y"`
	Found   int      `json:"found_frame"` // where the grid was found; -1: it was given
	Regions []Region `json:"regions"`     // the first thousand
}

// Region is a region that was checkerboard.
type Region struct {
	// bounding box of the region over all frames: x, y, width and height
	Region []int   `json:"region"`
	First  int     `json:"first_frame"`
	Last   int     `json:"last_frame"`
	Filled bool    `json:"filled"` // before the end
	FillMS float64 `json:"fill_ms"`
}

type part struct {
	*measure.Case
	pattern *pattern
	mask    *mask
	bodies  bodies

	stored, free int
	pixels       float64 // Σ A(i)
	frames       []int   // in which A changed
	areas        []int
	most         struct {
		frame, pixels int
		box           measure.Rect
	}
}

func newPart(c *measure.Case, o *Options) (measure.Part, error) {
	p, err := choosePattern(c, o)
	if err != nil {
		return nil, err
	}
	return &part{Case: c, pattern: p}, nil
}

func (p *part) Fork() measure.Part { return &part{Case: p.Case, pattern: p.pattern} }

func (p *part) Add(f *measure.Frame) {
	switch {
	case p.mask != nil:
		p.mask.update(f)
	case f.Number == p.Window.Start:
		p.mask = newMask(p.Case, p.pattern)
		p.mask.begin(f.Image)
	default:
		p.mask = newMask(p.Case, p.pattern)
		p.mask.begin(f.Previous)
		p.bodies.take(p.mask, beforeShare)
		p.mask.changed = false
		p.mask.update(f)
	}
	if p.mask.changed {
		p.bodies.take(p.mask, f.Number)
		p.mask.changed = false
	} else {
		p.bodies.keep(f.Number)
	}
	n := p.mask.pixels
	p.stored++
	p.pixels += float64(n)
	if n == 0 {
		p.free++
	}
	if k := len(p.areas); k == 0 || p.areas[k-1] != n {
		p.frames, p.areas = append(p.frames, f.Number), append(p.areas, n)
	}
	if n > p.most.pixels {
		p.most.frame, p.most.pixels, p.most.box = f.Number, n, p.mask.bounds()
	}
}

// bounds returns the bounding box of the set pixels. At least one must be set.
func (m *mask) bounds() measure.Rect {
	r := m.area.Region
	b := measure.Box(r.X+r.Width, r.Y+r.Height, r.X, r.Y)
	for y, n := range m.lines {
		if n == 0 {
			continue
		}
		line := m.on[y*m.area.Words : (y+1)*m.area.Words]
		b.X0, b.Y0, b.Y1 = min(b.X0, nextBit(line, 0, 0)), min(b.Y0, y), y+1
		for x := b.X1; x < r.X+r.Width; {
			if x = nextBit(line, x, 0); x < r.X+r.Width {
				x = nextBit(line, x, ^uint64(0))
				b.X1 = x
			}
		}
	}
	return b
}

func (p *part) Merge(next measure.Part) {
	n := next.(*part)
	if n.stored == 0 {
		return // none of its frames can be read
	}
	p.bodies.merge(&n.bodies)
	p.stored, p.free, p.pixels = p.stored+n.stored, p.free+n.free, p.pixels+n.pixels
	if n.areas[0] == p.areas[len(p.areas)-1] {
		n.frames, n.areas = n.frames[1:], n.areas[1:]
	}
	p.frames, p.areas = append(p.frames, n.frames...), append(p.areas, n.areas...)
	if n.most.pixels > p.most.pixels {
		p.most = n.most
	}
}

func (p *part) Result() measure.Result {
	size, lost := float64(p.Area.Pixels), float64(p.Lost())
	stored, free := float64(p.stored), float64(p.free)
	series := measure.Series{Name: "checkerboard", Unit: "fraction", Holds: true, Frames: p.frames}
	for _, n := range p.areas {
		series.Values = append(series.Values, float64(n)/size)
	}
	most := measure.Exactly("most_checkerboard", "fraction", float64(p.most.pixels)/size, measure.Lower, 0.05)
	if most.Value > 0 {
		most.Frames = []int{p.most.frame}
	}
	if lost > 0 {
		most = withBounds(most, most.Value, 1)
	}
	area := p.integral()
	r := measure.Result{
		Series: []measure.Series{series},
		Values: []measure.Value{
			measure.Between("checkerboard_free", "fraction", free/stored, free/(stored+lost), (free+lost)/(stored+lost),
				measure.Higher,
				0.03),
			measure.Between("checkerboard_frames", "frames", stored-free, stored-free, stored-free+lost, measure.Lower,
				0.05),
			most,
			measure.Between("checkerboard_area", "pixel·ms", area.value, area.low, area.high, measure.Lower, 0.05),
			measure.Between("checkerboard_time", "ms", area.value/size, area.low/size, area.high/size, measure.Lower,
				0.05),
			measure.Between("checkerboard_sum", "frames", p.pixels/size, p.pixels/size, p.pixels/size+lost,
				measure.Lower, 0.05),
		},
	}
	if area.whole.Mid > 0 {
		r.Add(area.mean(size))
	}
	d := Detail{Cell: p.pattern.cell, X: p.pattern.x, Y: p.pattern.y, Found: p.pattern.found,
		Regions: []Region{}}
	for _, c := range p.pattern.colours {
		d.Colours = append(d.Colours, fmt.Sprintf("#%06x", c))
	}
	if p.most.pixels > 0 {
		r.Evidence = append(r.Evidence, measure.Evidence{Kind: "checkerboard", Frame: p.most.frame,
			Region: p.most.box.Region(),
			Text:   fmt.Sprintf("%.1f %% of the content is checkerboard, the most of all frames", 100*most.Value)})
	}
	p.fills(&r, &d)
	r.Detail = measure.Detail(d)
	return r
}

// withBounds is a value with other bounds.
func withBounds(v measure.Value, low, high float64) measure.Value {
	n := measure.Between(v.Name, v.Unit, v.Value, low, high, v.Better, v.Threshold)
	n.Frames, n.Note = v.Frames, v.Note
	return n
}

// integral is ∫ A dt in pixel·ms.
type integral struct {
	value, low, high float64
	whole            measure.Duration // from s to r
}

// mean is the integral's part of all of the time and a region of this size. Lost frames leave open
// how long that is, too.
func (sum *integral) mean(size float64) measure.Value {
	of := func(area float64, d time.Duration) float64 { return min(1, area/size/measure.MS(d)) }
	high := 1.0
	if sum.whole.Low > 0 {
		high = of(sum.high, sum.whole.Low)
	}
	return measure.Between("mean_checkerboard", "fraction", of(sum.value, sum.whole.Mid), of(sum.low, sum.whole.High),
		high,
		measure.Lower, 0.05)
}

func (p *part) integral() (sum integral) {
	w := &p.Window
	end, until := p.Times.End(w)
	whole := end.Sub(p.Times.At(w.Start))
	sum.whole = measure.Certain(whole)
	for i, n := range p.frames {
		until := end
		if i+1 < len(p.frames) {
			until = p.Times.At(p.frames[i+1])
		}
		sum.value += measure.MS(until.Sub(p.Times.At(n))) * float64(p.areas[i])
	}
	sum.low, sum.high = sum.value, sum.value
	if p.Lost() == 0 {
		return sum
	}
	sum.whole = measure.Span(p.Times.At(w.Start), end, p.Times.Since(w.Start), until)
	k := 0
	for n := w.Start; n <= w.End; n++ {
		missing := p.missing(n)
		if missing == 0 {
			continue
		}
		if n == w.Start { // before s, only lost frames can have had checkerboard
			sum.high += missing * float64(p.Area.Pixels)
			continue
		}
		for k+1 < len(p.frames) && p.frames[k+1] < n {
			k++
		}
		sum.low -= missing * float64(p.areas[k])
		sum.high += missing * float64(p.Area.Pixels-p.areas[k])
	}
	if lost, first := p.LostAtEnd(); lost > 0 { // content that would have been there until r
		open, last := measure.MS(end.Sub(p.Times.Since(first).Earliest)), p.areas[len(p.areas)-1]
		sum.low -= open * float64(last)
		sum.high += open * float64(p.Area.Pixels-last)
	}
	sum.low = max(0, sum.low)
	return sum
}

// missing returns for how long, in ms, frames just before frame n would have been shown.
func (p *part) missing(n int) float64 {
	lost := p.Times.Lost(n)
	if lost == 0 || n == p.Window.First() {
		return 0
	}
	if period := p.Times.Period(); period > 0 {
		return measure.MS(period) * float64(lost)
	}
	return measure.MS(p.Times.At(n).Sub(p.Times.At(p.Times.Before(n))))
}

// fills adds the results about regions.
func (p *part) fills(r *measure.Result, d *Detail) {
	if p.bodies.tooMany {
		r.Warnf("there are more than %d regions of checkerboard: how long they take to fill is not told", maxBodies)
		return
	}
	f := p.fillings()
	var unfilled []int // first frames
	longest := 0
	for i := range f.all {
		b := &f.all[i]
		if b.took.Mid > f.all[longest].took.Mid {
			longest = i
		}
		if !b.filled {
			unfilled = append(unfilled, b.first)
		}
		const kept, shown = 1000, 20
		if i < kept {
			d.Regions = append(d.Regions, Region{b.box.Region(), b.first, b.last, b.filled,
				measure.MS(b.took.Mid)})
		}
		if i < shown {
			text := fmt.Sprintf("checkerboard appears and is filled after %.1f ms", measure.MS(b.took.Mid))
			if !b.filled {
				text = fmt.Sprintf("checkerboard appears and is still there at the end, %.1f ms later",
					measure.MS(b.took.Mid))
			}
			r.Evidence = append(r.Evidence, measure.Evidence{Kind: "checkerboard", Frame: b.first,
				Region: b.box.Region(),
				Text:   text})
		}
	}
	note := ""
	if len(f.gaps) > 0 {
		note = "where frames are missing, regions may have come and gone, and have been joined or parted"
	}
	low, high := f.count()
	regions := measure.Between("regions", "regions", float64(len(f.all)), low, high, measure.Neither, 0)
	low, high = f.unfilled()
	open := measure.Between("unfilled_regions", "regions", float64(len(unfilled)), low, high, measure.Lower, 0.05)
	open.Frames = unfilled
	regions.Note, open.Note = note, note
	r.Add(regions, open)
	if len(f.all) == 0 {
		return
	}
	most, mean := f.bounds()
	top := most.Value("longest_fill", measure.Lower, 0.05)
	top.Frames = []int{f.all[longest].first}
	average := mean.Value("mean_fill", measure.Lower, 0.05)
	if len(unfilled) > 0 {
		note = "some of it is not filled at the end, and counts until then"
	}
	top.Note, average.Note = note, note
	r.Add(top, average)
}

// fill returns how long a region takes to fill.
func (p *part) fill(b body) filling {
	begin, since := p.Times.At(b.first), p.Times.Since(b.first)
	end, until := p.Times.End(&p.Window)
	open := b.last == p.Window.End
	if open {
		if lost, first := p.LostAtEnd(); lost > 0 {
			until.Earliest = min(until.Earliest, p.Times.Since(first).Earliest)
		}
	} else {
		next := b.last + 1
		for p.Times.IsUnreadable(next) {
			next++
		}
		end, until = p.Times.At(next), p.Times.Since(next)
	}
	return filling{body: b, took: measure.Span(begin, end, since, until), since: since.Earliest, until: until.Latest,
		least: until.Earliest, filled: !open}
}
