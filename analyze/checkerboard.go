package analyze

import (
	"fmt"
	"time"
)

// # checkerboard
//
// A(i) is the number of pixels of R in frame i that are checkerboard. checkerboard_mask.go defines
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
// checkerboard_pattern.go. A grid is fixed to the frame. If it scrolls with the page, it is found
// only at its first place. A colour that never appears means no checkerboard. If a searched grid is
// not found, the measure is refused.
//
// A lost frame may have shown any part of R as checkerboard. checkerboard_lost.go bounds the number
// of regions.
func checkerboardMeasure() measure {
	return measure{name: "checkerboard", version: 1, pixels: true, begin: beginCheckerboard, values: []string{
		"checkerboard_free", "checkerboard_frames", "most_checkerboard", "checkerboard_area", "checkerboard_time",
		"checkerboard_sum", "mean_checkerboard",
		"regions", "unfilled_regions", "longest_fill", "mean_fill",
	}}
}

// CheckerboardOptions describe undrawn areas. The zero value searches for a grid of any two
// colours.
type CheckerboardOptions struct {
	Colours []uint32 // 0xRRGGBB: one for a plain surface, two for a grid; empty: any two
	Cell    int      // side of a grid's cells, pixels; 0: it is looked for
	X, Y    int      // where both are given: corner of a cell of the first colour, pixels of the frame
}

// checkerboardValues is the Detail of the measure.
type checkerboardValues struct {
	Colours []string           `json:"colours"` // #rrggbb
	Cell    int                `json:"cell"`    // side in pixels; 0: one colour
	X       int                `json:"x"`       // corner of a cell of the first colour
	Y       int                `json:"y"`
	Found   int                `json:"found_frame"` // where the grid was found; -1: it was given
	Regions []checkerboardArea `json:"regions"`     // the first thousand
}

// checkerboardArea is a region that was checkerboard.
type checkerboardArea struct {
	// bounding box of the region over all frames: x, y, width and height
	Region []int   `json:"region"`
	First  int     `json:"first_frame"`
	Last   int     `json:"last_frame"`
	Filled bool    `json:"filled"` // before the end
	FillMS float64 `json:"fill_ms"`
}

type checkerboard struct {
	*Case
	pattern *pattern
	mask    *checkerMask
	bodies  checkerBodies

	stored, free int
	pixels       float64 // Σ A(i)
	frames       []int   // in which A changed
	areas        []int
	most         struct {
		frame, pixels int
		box           box
	}
}

func beginCheckerboard(c *Case) (part, error) {
	p, err := choosePattern(c)
	if err != nil {
		return nil, err
	}
	return &checkerboard{Case: c, pattern: p}, nil
}

func (p *checkerboard) fork() part { return &checkerboard{Case: p.Case, pattern: p.pattern} }

func (p *checkerboard) add(f *Frame) {
	switch {
	case p.mask != nil:
		p.mask.update(f)
	case f.Number == p.Window.Start:
		p.mask = newCheckerMask(p.Case, p.pattern)
		p.mask.begin(f.Image)
	default:
		p.mask = newCheckerMask(p.Case, p.pattern)
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
func (m *checkerMask) bounds() box {
	r := m.area.Region
	b := box{r.X + r.Width, r.Y + r.Height, r.X, r.Y}
	for y, n := range m.lines {
		if n == 0 {
			continue
		}
		line := m.on[y*m.area.words : (y+1)*m.area.words]
		b.x0, b.y0, b.y1 = min(b.x0, nextBit(line, 0, 0)), min(b.y0, y), y+1
		for x := b.x1; x < r.X+r.Width; {
			if x = nextBit(line, x, 0); x < r.X+r.Width {
				x = nextBit(line, x, ^uint64(0))
				b.x1 = x
			}
		}
	}
	return b
}

func (p *checkerboard) merge(next part) {
	n := next.(*checkerboard)
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

func (p *checkerboard) result() Result {
	size, lost := float64(p.Area.Pixels), float64(p.lost())
	stored, free := float64(p.stored), float64(p.free)
	series := Series{Name: "checkerboard", Unit: "fraction", Holds: true, Frames: p.frames}
	for _, n := range p.areas {
		series.Values = append(series.Values, float64(n)/size)
	}
	most := exactly("most_checkerboard", "fraction", float64(p.most.pixels)/size, Lower, 0.05)
	if most.Value > 0 {
		most.Frames = []int{p.most.frame}
	}
	if lost > 0 {
		most = most.within(most.Value, 1)
	}
	area := p.integral()
	r := Result{
		Series: []Series{series},
		Values: []Value{
			between("checkerboard_free", "fraction", free/stored, free/(stored+lost), (free+lost)/(stored+lost), Higher,
				0.03),
			between("checkerboard_frames", "frames", stored-free, stored-free, stored-free+lost, Lower, 0.05),
			most,
			between("checkerboard_area", "pixel·ms", area.value, area.low, area.high, Lower, 0.05),
			between("checkerboard_time", "ms", area.value/size, area.low/size, area.high/size, Lower, 0.05),
			between("checkerboard_sum", "frames", p.pixels/size, p.pixels/size, p.pixels/size+lost, Lower, 0.05),
		},
	}
	if area.whole.mid > 0 {
		r.Values = append(r.Values, area.mean(size))
	}
	d := checkerboardValues{Cell: p.pattern.cell, X: p.pattern.x, Y: p.pattern.y, Found: p.pattern.found,
		Regions: []checkerboardArea{}}
	for _, c := range p.pattern.colours {
		d.Colours = append(d.Colours, fmt.Sprintf("#%06x", c))
	}
	if p.most.pixels > 0 {
		r.Evidence = append(r.Evidence, Evidence{Kind: "checkerboard", Frame: p.most.frame, Region: p.most.box.region(),
			Text: fmt.Sprintf("%.1f %% of the content is checkerboard, the most of all frames", 100*most.Value)})
	}
	p.fills(&r, &d)
	r.Detail = detail(d)
	return r
}

// within is a value with other bounds.
func (v Value) within(low, high float64) Value {
	n := between(v.Name, v.Unit, v.Value, low, high, v.Better, v.Threshold)
	n.Frames, n.Note = v.Frames, v.Note
	return n
}

// checkerIntegral is ∫ A dt in pixel·ms.
type checkerIntegral struct {
	value, low, high float64
	whole            lasting // from s to r
}

// mean is the integral's part of all of the time and a region of this size. Lost frames leave open
// how long that is, too.
func (sum *checkerIntegral) mean(size float64) Value {
	of := func(area float64, d time.Duration) float64 { return min(1, area/size/ms(d)) }
	high := 1.0
	if sum.whole.low > 0 {
		high = of(sum.high, sum.whole.low)
	}
	return between("mean_checkerboard", "fraction", of(sum.value, sum.whole.mid), of(sum.low, sum.whole.high), high,
		Lower, 0.05)
}

func (p *checkerboard) integral() (sum checkerIntegral) {
	w := &p.Window
	end, until := p.Times.end(w)
	whole := end.Sub(p.Times.At(w.Start))
	sum.whole = lasting{whole, whole, whole}
	for i, n := range p.frames {
		until := end
		if i+1 < len(p.frames) {
			until = p.Times.At(p.frames[i+1])
		}
		sum.value += ms(until.Sub(p.Times.At(n))) * float64(p.areas[i])
	}
	sum.low, sum.high = sum.value, sum.value
	if p.lost() == 0 {
		return sum
	}
	sum.whole = span(p.Times.At(w.Start), end, p.Times.Since(w.Start), until)
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
	if lost, first := p.lostBehind(); lost > 0 { // content that would have been there until r
		open, last := ms(end.Sub(p.Times.Since(first).Earliest)), p.areas[len(p.areas)-1]
		sum.low -= open * float64(last)
		sum.high += open * float64(p.Area.Pixels-last)
	}
	sum.low = max(0, sum.low)
	return sum
}

// missing returns for how long, in ms, frames just before frame n would have been shown.
func (p *checkerboard) missing(n int) float64 {
	lost := p.Times.Lost(n)
	if lost == 0 || n == p.Times.first {
		return 0
	}
	if period := p.Times.Period(); period > 0 {
		return ms(period) * float64(lost)
	}
	return ms(p.Times.At(n).Sub(p.Times.At(p.Times.before(n))))
}

// fills adds the results about regions.
func (p *checkerboard) fills(r *Result, d *checkerboardValues) {
	if p.bodies.tooMany {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("there are more than %d regions of checkerboard: how long they take to fill is not told",
				maxBodies))
		return
	}
	f := p.fillings()
	var unfilled []int // first frames
	longest := 0
	for i := range f.all {
		b := &f.all[i]
		if b.took.mid > f.all[longest].took.mid {
			longest = i
		}
		if !b.filled {
			unfilled = append(unfilled, b.first)
		}
		const kept, shown = 1000, 20
		if i < kept {
			d.Regions = append(d.Regions, checkerboardArea{b.box.region(), b.first, b.last, b.filled, ms(b.took.mid)})
		}
		if i < shown {
			text := fmt.Sprintf("checkerboard appears and is filled after %.1f ms", ms(b.took.mid))
			if !b.filled {
				text = fmt.Sprintf("checkerboard appears and is still there at the end, %.1f ms later", ms(b.took.mid))
			}
			r.Evidence = append(r.Evidence, Evidence{Kind: "checkerboard", Frame: b.first, Region: b.box.region(),
				Text: text})
		}
	}
	note := ""
	if len(f.gaps) > 0 {
		note = "where frames are missing, regions may have come and gone, and have been joined or parted"
	}
	low, high := f.count()
	regions := between("regions", "regions", float64(len(f.all)), low, high, Neither, 0)
	low, high = f.unfilled()
	open := between("unfilled_regions", "regions", float64(len(unfilled)), low, high, Lower, 0.05)
	open.Frames = unfilled
	regions.Note, open.Note = note, note
	r.Values = append(r.Values, regions, open)
	if len(f.all) == 0 {
		return
	}
	most, mean := f.bounds()
	top := between("longest_fill", "ms", ms(most.mid), ms(most.low), ms(most.high), Lower, 0.05)
	top.Frames = []int{f.all[longest].first}
	average := between("mean_fill", "ms", ms(mean.mid), ms(mean.low), ms(mean.high), Lower, 0.05)
	if len(unfilled) > 0 {
		note = "some of it is not filled at the end, and counts until then"
	}
	top.Note, average.Note = note, note
	r.Values = append(r.Values, top, average)
}

// fill returns how long a region takes to fill.
func (p *checkerboard) fill(b body) filling {
	begin, since := p.Times.At(b.first), p.Times.Since(b.first)
	end, until := p.Times.end(&p.Window)
	open := b.last == p.Window.End
	if open {
		if lost, first := p.lostBehind(); lost > 0 {
			until.Earliest = min(until.Earliest, p.Times.Since(first).Earliest)
		}
	} else {
		next := b.last + 1
		for p.Times.isBroken(next) {
			next++
		}
		end, until = p.Times.At(next), p.Times.Since(next)
	}
	return filling{body: b, took: span(begin, end, since, until), since: since.Earliest, until: until.Latest,
		least: until.Earliest, filled: !open}
}
