package scroll

import (
	"math"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Zoom
//
// A frame is scaled by s about the middle (cx, cy) of R if content at (cx + x/s, cy + y/s) moved to
// (cx + x, cy + y).
//
//   - Both frames are reduced to at most 240x240 means of luma, without cells that contain an
//     uncounted pixel.
//   - Scales from 0.8 to 1.25 are tried in steps of 0.5 %. Each gives a mean difference, with
//     linear interpolation between four means.
//   - The result is the scale with the minimum, refined between its neighbours. The minimum must be
//     at most 60 % of the unscaled difference, and must not be the first or last scale.
//   - Every third scale is tried first, then the neighbours of the best.
//
// The scale is known to ± half a step. A zoom about another point is not found, and its frames are
// undecided.
type zoomer struct {
	w, h, cell  int
	before, now []float32
	counts      []bool // cells all of whose pixels count
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
	z.before, z.now = z.reduce(z.before, &m.before), z.reduce(z.now, &m.now)
	z.choose(m.Area)
	var left [2*zoomSteps + 1]float64
	best := 0
	for i := 0; i < len(left); i += 3 {
		left[i] = z.left(math.Pow(1+zoomStep, float64(i-zoomSteps)), r.Width, r.Height)
		if left[i] < left[best] {
			best = i
		}
	}
	for i, end := max(0, best-2), min(len(left), best+3); i < end; i++ {
		left[i] = z.left(math.Pow(1+zoomStep, float64(i-zoomSteps)), r.Width, r.Height)
		if left[i] < left[best] {
			best = i
		}
	}
	still := z.left(1, r.Width, r.Height)
	if best == 0 || best == len(left)-1 || best == zoomSteps || left[best] > zoomLeft*still {
		return motion{}, false
	}
	at := float64(best-zoomSteps) + vertex(left[best-1], left[best], left[best+1])
	scale := math.Pow(1+zoomStep, at)
	return motion{scale: scale, bound: scale * zoomStep / 2}, true
}

// reduce makes means of cells, of up to four lines of each.
func (z *zoomer) reduce(dst []float32, frame *lumas) []float32 {
	if len(dst) != z.w*z.h {
		dst = make([]float32, z.w*z.h)
	}
	clear(dst)
	lines := min(4, z.cell)
	for y := range z.h {
		out := dst[y*z.w : (y+1)*z.w]
		for k := range lines {
			row := frame.line(frame.region.Y + y*z.cell + (2*k+1)*z.cell/(2*lines))
			for x := range out {
				sum := 0
				for _, v := range row[x*z.cell : (x+1)*z.cell] {
					sum += int(v)
				}
				out[x] += float32(sum)
			}
		}
		for x := range out {
			out[x] /= float32(lines * z.cell)
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
	z.counts = make([]bool, z.w*z.h)
	for i := range z.counts {
		z.counts[i] = z.whole(a, a.Region.X+i%z.w*z.cell, a.Region.Y+i/z.w*z.cell)
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

// left is the mean difference of the frame and the one before it, scaled.
func (z *zoomer) left(scale float64, width, height int) float64 {
	cx, cy := float64(width)/float64(2*z.cell)-0.5, float64(height)/float64(2*z.cell)-0.5
	var sum float64
	n := 0
	for y := range z.h {
		fy := cy + (float64(y)-cy)/scale
		y0 := int(math.Floor(fy))
		if y0 < 0 || y0+1 >= z.h {
			continue
		}
		py := float32(fy - float64(y0))
		for x := range z.w {
			fx := cx + (float64(x)-cx)/scale
			x0 := int(math.Floor(fx))
			if x0 < 0 || x0+1 >= z.w {
				continue
			}
			at := y0*z.w + x0
			if !z.counts[y*z.w+x] || !z.counts[at] || !z.counts[at+1] || !z.counts[at+z.w] || !z.counts[at+z.w+1] {
				continue
			}
			px := float32(fx - float64(x0))
			a, b := z.before[at:], z.before[at+z.w:]
			v := (a[0]*(1-px)+a[1]*px)*(1-py) + (b[0]*(1-px)+b[1]*px)*py
			sum += math.Abs(float64(v - z.now[y*z.w+x]))
			n++
		}
	}
	return sum / float64(max(1, n))
}
