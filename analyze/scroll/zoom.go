package scroll

import (
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Zoom
//
// A scale s about the middle (cx, cy) of R moves content at (cx + x/s, cy + y/s) to
// (cx + x, cy + y).
//
//   - Both frames are reduced to at most 240x240 means of luma, without cells that contain an
//     uncounted pixel.
//   - Scales from 0.8 to 1.25 are tried in steps of 0.5 %. Each gives a mean difference, with
//     linear interpolation between four means.
//   - The result is the scale with the minimum, refined between its neighbours. The minimum must be
//     at most 60 % of the unscaled difference. It must not be at the first or last scale.
//   - Every third scale is tried first, then the neighbours of the best.
//
// The scale is known to ± half a step. A zoom about another point is not found, and its frames are
// undecided.
type zoomer struct {
	w, h, cell  int
	before, now []float32
	none        []byte // a line for those that a small cell lacks
	counts      []bool // cells all of whose pixels count
	all         bool   // all do

	// Of the scale at hand.
	columns []zoomColumn
	rows    [2]zoomRow
}

// zoomColumn is the place of a column in the frame before: a column, and how far it is to the next.
type zoomColumn struct {
	x    int
	part float32
}

// zoomRow is a row of the frame before, scaled to the columns.
type zoomRow struct {
	y     int
	means []float32
}

const (
	zoomSide  = 240
	zoomStep  = 0.005
	zoomSteps = 45 // to either side: 1.005^45 is 1.25
	zoomLeft  = 0.6
)

// estimate returns the scale, and whether there is one that holds. Only a change that reaches over
// three quarters of R's sides is looked at.
func (z *zoomer) estimate(m *estimator, b measure.Rect) (motion, bool) {
	r := m.Area.Region
	if 4*(b.X1-b.X0) < 3*r.Width || 4*(b.Y1-b.Y0) < 3*r.Height || r.Width < minLength || r.Height < minLength {
		return motion{}, false
	}
	z.cell = (max(r.Width, r.Height) + zoomSide - 1) / zoomSide
	z.w, z.h = r.Width/z.cell, r.Height/z.cell
	if len(z.none) != r.Width {
		z.none = make([]byte, r.Width)
	}
	z.before, z.now = z.reduce(z.before, &m.before), z.reduce(z.now, &m.now)
	z.choose(m.Area)
	// Most changes differ least unscaled. The search begins there and cuts off worse scales.
	still := z.left(0, math.Inf(1), r.Width, r.Height)
	best, least := zoomSteps, still
	for i := 0; i <= 2*zoomSteps; i += 3 {
		if left := z.left(i-zoomSteps, least, r.Width, r.Height); left < least || left == least && i < best {
			best, least = i, left
		}
	}
	for i, end := max(0, best-2), min(2*zoomSteps+1, best+3); i < end; i++ {
		if left := z.left(i-zoomSteps, least, r.Width, r.Height); left < least {
			best, least = i, left
		}
	}
	if best == 0 || best == 2*zoomSteps || best == zoomSteps || least > zoomLeft*still {
		return motion{}, false
	}
	at := float64(best-zoomSteps) + vertex(z.left(best-1-zoomSteps, math.Inf(1), r.Width, r.Height), least,
		z.left(best+1-zoomSteps, math.Inf(1), r.Width, r.Height))
	scale := math.Pow(1+zoomStep, at)
	return motion{scale: scale, bound: scale * zoomStep / 2}, true
}

// reduce makes means of cells, of up to four lines of each.
func (z *zoomer) reduce(dst []float32, frame *lumas) []float32 {
	if len(dst) != z.w*z.h {
		dst = make([]float32, z.w*z.h)
	}
	lines := min(4, z.cell)
	var rows [4][]byte
	for i := range rows {
		rows[i] = z.none
	}
	for y := range z.h {
		for k := range lines {
			rows[k] = frame.line(frame.region.Y + y*z.cell + (2*k+1)*z.cell/(2*lines))
		}
		out := dst[y*z.w : (y+1)*z.w]
		for x := range out {
			sum, from, end := 0, x*z.cell, (x+1)*z.cell
			a, b, c, d := rows[0][from:end], rows[1][from:end], rows[2][from:end], rows[3][from:end]
			for i, v := range a {
				sum += int(v) + int(b[i]) + int(c[i]) + int(d[i])
			}
			out[x] = float32(sum) / float32(lines*z.cell)
		}
	}
	return dst
}

// choose finds the cells that count. Excluded parts, such as the code strip, do not scale with the
// content.
func (z *zoomer) choose(a *measure.Area) {
	if len(z.counts) == z.w*z.h {
		return
	}
	z.counts, z.all = make([]bool, z.w*z.h), true
	for i := range z.counts {
		z.counts[i] = z.whole(a, a.Region.X+i%z.w*z.cell, a.Region.Y+i/z.w*z.cell)
		z.all = z.all && z.counts[i]
	}
}

// whole reports whether all pixels of the cell at x, y count.
func (z *zoomer) whole(a *measure.Area, x, y int) bool {
	for dy := range z.cell {
		for dx := range z.cell {
			if !a.Holds(x+dx, y+dy) {
				return false
			}
		}
	}
	return true
}

// left is the mean difference of the frame and the one before it, scaled by some steps. It returns
// infinity once the difference is sure to exceed most.
func (z *zoomer) left(steps int, most float64, width, height int) float64 {
	scale := math.Pow(1+zoomStep, float64(steps))
	cx, cy := float64(width)/float64(2*z.cell)-0.5, float64(height)/float64(2*z.cell)-0.5
	z.columns = z.columns[:0]
	first := 0 // column of the frame that has a place in the one before
	for x := range z.w {
		fx := cx + (float64(x)-cx)/scale
		if x0 := int(math.Floor(fx)); x0 >= 0 && x0+1 < z.w {
			z.columns = append(z.columns, zoomColumn{x0, float32(fx - float64(x0))})
		} else if len(z.columns) == 0 {
			first = x + 1
		}
	}
	z.rows[0].y, z.rows[1].y = -1, -1
	var sum float64
	n := 0
	for y := range z.h {
		fy := cy + (float64(y)-cy)/scale
		y0 := int(math.Floor(fy))
		if y0 < 0 || y0+1 >= z.h {
			continue
		}
		py := float32(fy - float64(y0))
		above, below := z.row(y0), z.row(y0+1)
		now := z.now[y*z.w+first:][:len(z.columns)]
		if z.all {
			n += len(now)
			for i, v := range now {
				sum += math.Abs(float64(mix(above[i], below[i], py) - v))
			}
		} else {
			for i, v := range now {
				at := y0*z.w + z.columns[i].x
				if !z.counts[y*z.w+first+i] || !z.counts[at] || !z.counts[at+1] || !z.counts[at+z.w] ||
					!z.counts[at+z.w+1] {
					continue
				}
				sum += math.Abs(float64(mix(above[i], below[i], py) - v))
				n++
			}
		}
		if sum/float64(len(z.columns)*z.h) > most {
			return math.Inf(1)
		}
	}
	return sum / float64(max(1, n))
}

// row returns row y of the frame before, scaled to the columns at hand.
func (z *zoomer) row(y int) []float32 {
	r := &z.rows[y&1]
	if r.y != y {
		r.y, r.means = y, slices.Grow(r.means[:0], len(z.columns))[:len(z.columns)]
		before := z.before[y*z.w : (y+1)*z.w]
		for i, c := range z.columns {
			r.means[i] = mix(before[c.x], before[c.x+1], c.part)
		}
	}
	return r.means
}

// mix interpolates between a and b. Conversions forbid fused products, whose results would differ
// from processor to processor.
func mix(a, b, part float32) float32 { return float32(a*(1-part)) + float32(b*part) }
