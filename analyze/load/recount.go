package load

import (
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
)

// recounts update a load's histogram with changes.
//
// If little of a band changes, old pixels are subtracted one by one and new ones are added. If most
// of a rectangle changes, as in a video, it is counted as a whole. Its earlier counts are kept from
// the last time. That is a quarter of the work.
//
// Lines that moved up or down together are what the lines at their old place were. So only those
// count that they left at one end and covered at the other. That needs formats whose rows are whole
// lines.
type recounts struct {
	load    *part
	bands   []*recountBand // of the picture; nil: nothing was counted there yet
	counter visual.Counter
	old     []byte // pixels of a band, where they have to be converted
	now     []byte

	moves []frame.Move // of the frame at hand, within the region
	moved []bool       // lines that they move
}

// recountBand is the histogram of a part of a band.
type recountBand struct {
	patch          visual.Patch
	y0, y1, w0, w1 int // lines and words that it is of; none if y0 = y1
}

func newRecounts(l *part) *recounts {
	return &recounts{load: l, bands: make([]*recountBand,
		(l.Layout.Format.Height+measure.BandLines-1)/measure.BandLines), moved: make([]bool, l.Layout.Format.Height)}
}

// whole counts all pixels of the area.
func (r *recounts) whole(h *visual.Histogram, m frame.Image) {
	region := r.load.Area.Region
	at := recountBand{y0: region.Y, w0: region.X / 64, w1: (region.X + region.Width + 63) / 64}
	for bottom := region.Y + region.Height; at.y0 < bottom; at.y0 = at.y1 {
		at.y1 = min(at.y0+measure.BandLines, bottom)
		r.count(&r.now, m, &at)
		var empty visual.Patch
		r.counter.Move(&empty, h)
	}
}

// meet takes the moves of a frame, before its lines.
func (r *recounts) meet(c *frame.Change) {
	for _, m := range r.moves {
		clear(r.moved[m.Dst : m.Dst+m.Rows])
	}
	r.moves = r.moves[:0]
	if r.load.Area.Masked || len(r.load.Layout.Rows) != r.load.Layout.Format.Height {
		return
	}
	top := int32(r.load.Area.Region.Y)
	bottom := top + int32(r.load.Area.Region.Height)
	for _, m := range c.Moves {
		from, to, dy := max(m.Dst, top), min(m.Dst+m.Rows, bottom), m.Dst-m.Src
		if to-from <= 2*max(dy, -dy) {
			continue // as many lines would be counted
		}
		r.moves = append(r.moves, frame.Move{Dst: from, Src: from - dy, Rows: to - from})
		for y := from; y < to; y++ {
			r.moved[y] = true
		}
	}
}

// finish counts what moved.
func (r *recounts) finish(f *measure.Frame) {
	for _, m := range r.moves {
		if end := m.Dst + m.Rows; m.Dst > m.Src {
			r.rows(f.Previous, m.Src, m.Dst, true)
			r.rows(f.Previous, m.Src+m.Rows, end, false)
		} else {
			r.rows(f.Previous, end, m.Src+m.Rows, true)
			r.rows(f.Previous, m.Dst, m.Src, false)
		}
	}
}

// rows adds the pixels of some lines, or takes them out.
func (r *recounts) rows(m frame.Image, from, to int32, add bool) {
	region := r.load.Area.Region
	if r.old == nil {
		r.old = make([]byte, 4*measure.BandLines*r.load.Layout.Format.Width)
	}
	for y := int(from); y < int(to); y++ {
		row := r.load.conv.Colours(r.old, m, y, region.X, region.X+region.Width)
		if add {
			r.load.hist.Add(row, 4)
		} else {
			r.load.hist.Remove(row, 4)
		}
	}
}

// move takes the lines of a band in which something changed.
func (r *recounts) move(f *measure.Frame, lines []measure.Line) {
	exact := r.load.Tolerance == 0
	band := r.bands[lines[0].Y/measure.BandLines]
	if slices.ContainsFunc(lines, func(l measure.Line) bool { return r.moved[l.Y] }) {
		if band != nil {
			band.y0, band.y1 = 0, 0
		}
		for i := range lines {
			if !r.moved[lines[i].Y] {
				r.line(f, &lines[i], exact)
			}
		}
		return
	}
	now := recountBand{y0: lines[0].Y, y1: lines[len(lines)-1].Y + 1, w0: r.load.Area.Words}
	touched := 0
	for i := range lines {
		l := &lines[i]
		for k, bits := range l.Bits {
			if bits != 0 || !exact {
				touched++
				now.w0, now.w1 = min(now.w0, l.Word+k), max(now.w1, l.Word+k+1)
			}
		}
	}
	if touched == 0 {
		return
	}
	if 2*touched > (now.y1-now.y0)*(now.w1-now.w0) {
		if band == nil {
			band = new(recountBand)
			r.bands[lines[0].Y/measure.BandLines] = band
		}
		r.recount(f, band, &now)
		return
	}
	if band != nil {
		band.y0, band.y1 = 0, 0
	}
	for i := range lines {
		r.line(f, &lines[i], exact)
	}
}

// recount counts a rectangle of a band.
func (r *recounts) recount(f *measure.Frame, band, now *recountBand) {
	if band.y0 != now.y0 || band.y1 != now.y1 || band.w0 != now.w0 || band.w1 != now.w1 {
		band.y0, band.y1, band.w0, band.w1 = now.y0, now.y1, now.w0, now.w1
		r.count(&r.old, f.Previous, now)
		r.counter.Move(&band.patch, nil)
	}
	r.count(&r.now, f.Image, now)
	r.counter.Move(&band.patch, &r.load.hist)
}

// count adds the pixels of a rectangle to the counter.
func (r *recounts) count(scratch *[]byte, m frame.Image, at *recountBand) {
	a := r.load.Area
	if *scratch == nil {
		*scratch = make([]byte, 4*measure.BandLines*r.load.Layout.Format.Width)
	}
	for y := at.y0; y < at.y1; y++ {
		x0, x1, ok := a.Clip(y, 64*at.w0, 64*at.w1)
		if !ok {
			continue
		}
		n := 4 * (x1 - x0)
		row := r.load.conv.Colours((*scratch)[n*(y-at.y0):n*(y-at.y0+1)], m, y, x0, x1)
		a.Runs(y, x0, x1, func(from, to int) { r.counter.Add(row[4*(from-x0) : 4*(to-x0)]) })
	}
}

// line applies the changes of a line, word by word.
func (r *recounts) line(f *measure.Frame, line *measure.Line, exact bool) {
	for i := 0; i < len(line.Bits); {
		end := i
		for end < len(line.Bits) && (line.Bits[end] != 0 || !exact) {
			end++
		}
		if end > i {
			r.update(f, line.Y, line.Word+i, line.Word+end)
		}
		i = end + 1
	}
}

// update takes out the old pixels of some words of a line, and puts in the new ones.
func (r *recounts) update(f *measure.Frame, y, w0, w1 int) {
	a := r.load.Area
	x0, x1, ok := a.Clip(y, w0*64, w1*64)
	if !ok {
		return
	}
	if r.old == nil {
		r.old = make([]byte, 4*measure.BandLines*r.load.Layout.Format.Width)
	}
	if r.now == nil {
		r.now = make([]byte, 4*measure.BandLines*r.load.Layout.Format.Width)
	}
	old, now := r.load.conv.Colours(r.old, f.Previous, y, x0, x1), r.load.conv.Colours(r.now, f.Image, y, x0, x1)
	a.Runs(y, x0, x1, func(from, to int) {
		r.load.hist.Update(old[4*(from-x0):4*(to-x0)], now[4*(from-x0):4*(to-x0)], 4)
	})
}
