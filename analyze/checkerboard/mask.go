package checkerboard

import (
	"math/bits"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// # Mask
//
// The pattern is a picture as large as the frame. It has one colour, or is a grid of square cells
// of two alternating colours. A pixel matches if it does not differ from the pattern at its place.
// With one colour, counted pixels that match are checkerboard.
//
// With a grid more is needed, since pages have surfaces of these colours too. In a grid the
// neighbouring cells, which have the other colour, match as well. A pixel (x, y) is in cell [cx,
// cx+c) × [cy, cy+c). Its neighbours are the nearest pixels of the four adjacent cells in its own
// line and column:
//
//	w = (cx−1, y)   e = (cx+c, y)   n = (x, cy−1)   s = (x, cy+c)
//
// A pixel is checkerboard if it counts and matches, w or e matches, and n or s matches. Neighbours
// outside R or masked count as matching, but at least one neighbour must count and match. So an
// area more than a cell wide and high is found to the pixel, wherever it is cut off. There is one
// exception.
//
// The exception is the cell in the inner corner of an L of checkerboard, or its part. It may belong
// to a page of the cell's colour. The two look the same. The definition assumes a straight outline.
//
// The rule for a pixel that has only w of w and e, and only s of n and s; other corners are
// mirrored:
//
//   - The upright arm continues beyond the pixel's row of cells, at (cx, cy−1) or (cx−c−1, cy−1).
//   - The lying arm continues beyond the pixel's column, at (cx+c, cy+c−1) or (cx+c, cy+2c).
//   - These are the nearest pixels there of cells of the other colour.
//   - An arm continues if such a pixel matches together with three of its own neighbours, or does
//     not count.
//   - If both arms continue and at least one of them matches, the pixel is not checkerboard.

// mask follows which pixels are checkerboard. It belongs to one goroutine. What does not
// change costs nothing.
type mask struct {
	area    *measure.Area
	pattern *pattern
	differ  *frame.Differ
	exact   bool
	match   []uint64 // bits of pixels that count and match, line by line
	on      []uint64 // of those that are checkerboard; the same as match for one colour
	lines   []int    // of the picture: how many are on
	pixels  int      // on
	changed bool     // some went on or off since it was last set to false

	// For a grid: the cells that R touches, and what of them is to be looked at again.
	cx0, cy0, cols, rows int // corner of the first cell
	dirty                []cellRange
	redo                 []int // rows of cells whose range is not empty
	scratch              []uint64
}

// cellRange is columns of cells from one up to, and not including, another.
type cellRange struct{ from, to int }

func newMask(c *measure.Case, p *pattern) *mask {
	m := &mask{
		area: c.Area, pattern: p, exact: c.Tolerance == 0,
		differ: frame.NewDiffer(c.Layout, c.Tolerance),
		match:  make([]uint64, len(c.Area.Bits)), lines: make([]int, c.Layout.Format.Height),
		scratch: make([]uint64, c.Area.Words),
	}
	m.on = m.match
	if p.cell > 0 {
		m.on = make([]uint64, len(m.match))
		r := c.Area.Region
		m.cx0, m.cy0 = r.X-mod(r.X-p.x, p.cell), r.Y-mod(r.Y-p.y, p.cell)
		m.cols, m.rows = (r.X+r.Width-m.cx0+p.cell-1)/p.cell, (r.Y+r.Height-m.cy0+p.cell-1)/p.cell
		m.dirty = make([]cellRange, m.rows)
	}
	return m
}

func mod(a, n int) int { return ((a % n) + n) % n }

// begin looks at a whole image.
func (m *mask) begin(image frame.Image) {
	r := m.area.Region
	for y := r.Y; y < r.Y+r.Height; y++ {
		m.look(image, y, r.X/64, (r.X+r.Width+63)/64)
	}
	m.settle()
	m.changed = true
}

// update looks at what a frame changes.
func (m *mask) update(f *measure.Frame) {
	for i := range f.Diff.Lines {
		l := &f.Diff.Lines[i]
		if !m.exact { // a pixel that changed by less than the tolerance may begin to match
			m.look(f.Image, l.Y, l.Word, l.Word+len(l.Bits))
			continue
		}
		for k := 0; k < len(l.Bits); k++ {
			from := k
			for k < len(l.Bits) && l.Bits[k] != 0 {
				k++
			}
			if k > from {
				m.look(f.Image, l.Y, l.Word+from, l.Word+k)
			}
		}
	}
	m.settle()
}

// look finds which pixels of words [w0, w1) of line y match.
func (m *mask) look(image frame.Image, y, w0, w1 int) {
	bits := m.scratch[:w1-w0]
	m.differ.Line(bits, y, w0, w1, m.pattern.image, image)
	counts, match := m.area.Line(y)[w0:w1], m.match[y*m.area.Words+w0:y*m.area.Words+w1]
	from, to := w1, w0
	for i, differs := range bits {
		if now := ^differs & counts[i]; now != match[i] {
			if m.pattern.cell == 0 {
				m.count(y, match[i], now)
			}
			match[i] = now
			from, to = min(from, w0+i), w0+i+1
		}
	}
	if from < to && m.pattern.cell > 0 {
		m.soil(y, 64*from, 64*to)
	}
}

// count notes that bits of line y changed.
func (m *mask) count(y int, before, now uint64) {
	n := bits.OnesCount64(now) - bits.OnesCount64(before)
	m.lines[y] += n
	m.pixels += n
	m.changed = true
}

// soil notes which cells depend on pixels [x0, x1) of line y.
func (m *mask) soil(y, x0, x1 int) {
	c := m.pattern.cell
	row := (y - m.cy0) / c
	from, to := max(0, (max(x0, m.cx0)-m.cx0)/c-3), min(m.cols, (x1-1-m.cx0)/c+4)
	first, last := row, row
	if in := (y - m.cy0) % c; in == 0 || in == c-1 {
		first, last = max(0, row-3), min(m.rows-1, row+3)
	}
	for k := first; k <= last; k++ {
		d := &m.dirty[k]
		if d.from == d.to {
			*d = cellRange{from, to}
			m.redo = append(m.redo, k)
		} else {
			d.from, d.to = min(d.from, from), max(d.to, to)
		}
	}
}

// settle looks at soiled cells again.
func (m *mask) settle() {
	for _, row := range m.redo {
		for col := m.dirty[row].from; col < m.dirty[row].to; col++ {
			m.cellAt(m.cx0+col*m.pattern.cell, m.cy0+row*m.pattern.cell)
		}
		m.dirty[row] = cellRange{}
	}
	m.redo = m.redo[:0]
}

// sides are neighbours of a line of pixels, a bit each: those that match, and those of which that
// is not known.
type sides struct{ match, open uint64 }

func (s sides) fits() uint64 { return s.match | s.open }

// cellAt decides which pixels of a cell are checkerboard.
func (m *mask) cellAt(cx, cy int) {
	c := m.pattern.cell
	north, south := m.side(cx, cy-1, c), m.side(cx, cy+c, c)
	var corners [2][2]int8 // west or east, north or south: 0 not looked at yet, 1 no inner corner, 2 an inner corner
	inner := func(east, down int) bool {
		k := &corners[east][down]
		if *k == 0 {
			*k = 1
			if m.innerCorner(cx, cy, east == 1, down == 1) {
				*k = 2
			}
		}
		return *k == 2
	}
	r := m.area.Region
	for y := max(cy, r.Y); y < min(cy+c, r.Y+r.Height); y++ {
		on := getBits(m.match[y*m.area.Words:(y+1)*m.area.Words], cx, c)
		if on != 0 {
			west, east := m.side(cx-1, y, 1), m.side(cx+c, y, 1)
			switch w, e := west.fits() != 0, east.fits() != 0; {
			case !w && !e:
				on = 0
			case w != e:
				side := 0
				if e {
					side = 1
				}
				if up := on & north.fits() &^ south.fits(); up != 0 && inner(side, 0) {
					on &^= up
				}
				if down := on & south.fits() &^ north.fits(); down != 0 && inner(side, 1) {
					on &^= down
				}
			}
			on &= north.fits() | south.fits()
			if west.match|east.match == 0 {
				on &= north.match | south.match
			}
		}
		m.put(cx, y, c, on)
	}
}

// innerCorner reports whether both arms of an L go on beside a cell. Its pixels have matching
// neighbours in the west or the east, and in the north or the south.
func (m *mask) innerCorner(cx, cy int, east, south bool) bool {
	c := m.pattern.cell
	nearX, farX, otherX := cx, cx-c-1, cx+c
	if east {
		nearX, farX, otherX = cx+c-1, cx+2*c, cx-1
	}
	nearY, farY, otherY := cy, cy-c-1, cy+c
	if south {
		nearY, farY, otherY = cy+c-1, cy+2*c, cy-1
	}
	upright := max(m.arm(nearX, otherY), m.arm(farX, otherY))
	lying := max(m.arm(otherX, nearY), m.arm(otherX, farY))
	return upright != armEnds && lying != armEnds && upright|lying != armOpen
}

// States of a place where an arm would continue.
const (
	armEnds = iota
	armOpen // a pixel that does not count
	armHeld
)

func (m *mask) arm(x, y int) int {
	own := m.side(x, y, 1)
	if own.match == 0 {
		return int(own.open) // armOpen or armEnds
	}
	c := m.pattern.cell
	cx, cy := x-mod(x-m.cx0, c), y-mod(y-m.cy0, c)
	w, e, n, s := m.side(cx-1, y, 1), m.side(cx+c, y, 1), m.side(x, cy-1, 1), m.side(x, cy+c, 1)
	if w.fits()+e.fits()+n.fits()+s.fits() < 3 || w.match|e.match|n.match|s.match == 0 {
		return armEnds
	}
	return armHeld
}

// side returns n pixels of line y from x on.
func (m *mask) side(x, y, n int) sides {
	all := ^uint64(0) >> (64 - n)
	if r := m.area.Region; y < r.Y || y >= r.Y+r.Height {
		return sides{0, all}
	}
	counts := getBits(m.area.Line(y), x, n)
	return sides{getBits(m.match[y*m.area.Words:(y+1)*m.area.Words], x, n), all &^ counts}
}

// put sets n pixels of line y from x on. Those outside the region are off already, and stay so.
func (m *mask) put(x, y, n int, on uint64) {
	line := m.on[y*m.area.Words : (y+1)*m.area.Words]
	w, shift := x>>6, uint(x)&63
	m.putWord(line, y, w, (^uint64(0)>>(64-n))<<shift, on<<shift)
	if shift > 0 {
		m.putWord(line, y, w+1, ^uint64(0)>>(64-n)>>(64-shift), on>>(64-shift))
	}
}

func (m *mask) putWord(line []uint64, y, w int, mask, on uint64) {
	if w < 0 || w >= len(line) || (line[w]^on)&mask == 0 {
		return
	}
	now := line[w]&^mask | on
	m.count(y, line[w], now)
	line[w] = now
}

// getBits returns n ≤ 64 bits of a line from x on; bits before and behind the line are 0.
func getBits(line []uint64, x, n int) uint64 {
	w, shift := x>>6, uint(x)&63
	var v uint64
	if w >= 0 && w < len(line) {
		v = line[w] >> shift
	}
	if shift > 0 && w+1 >= 0 && w+1 < len(line) {
		v |= line[w+1] << (64 - shift)
	}
	return v & (^uint64(0) >> (64 - n))
}
