package clock

import (
	"cmp"
	"math/big"
	"math/bits"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
)

// point is an inequality a + b·x ≤ y, or ≥. The offset a is relative to the origin.
type point struct{ x, y int64 }

// points returns the inequalities of evidence: those with a latest time, and those with an earliest
// one.
func points(evidence []Evidence, origin int64) (above, below []point) {
	for _, e := range evidence {
		for _, l := range e.Limits {
			if p := (point{l.At - origin, l.Time - l.At}); l.Latest {
				above = append(above, p)
			} else {
				below = append(below, p)
			}
		}
	}
	return above, below
}

// hull returns the points that a line below all points can touch: the others do not bound it.
func hull(all []point) []point {
	slices.SortFunc(all, func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.y, q.y)) })
	var h []point
	for i, p := range all {
		if i > 0 && p.x == all[i-1].x {
			continue // a lower one is there
		}
		for len(h) > 1 && !convex(h[len(h)-2], h[len(h)-1], p) {
			h = h[:len(h)-1]
		}
		h = append(h, p)
	}
	if n := len(h) - 1; n >= maxHull { // only made-up evidence has so many
		for i := range maxHull {
			h[i] = h[i*n/(maxHull-1)]
		}
		h = h[:maxHull]
	}
	return h
}

// maxHull bounds the points of a hull, as clipping takes the square of their number. Without some
// of them, bounds are wider.
const maxHull = 256

// convex reports whether q is below the line from p to r. The points are in order of x.
func convex(p, q, r point) bool {
	return compareProducts(q.y-p.y, r.x-p.x, r.y-p.y, q.x-p.x) < 0
}

// compareProducts compares a·b with c·d exactly. The factors b and d are positive.
func compareProducts(a, b, c, d int64) int {
	if signs := cmp.Compare(cmp.Compare(a, 0), cmp.Compare(c, 0)); signs != 0 {
		return signs
	}
	product := func(x, y int64) (high, low uint64) {
		if x < 0 {
			x = -x
		}
		return bits.Mul64(uint64(x), uint64(y))
	}
	ah, al := product(a, b)
	ch, cl := product(c, d)
	if a < 0 { // and c too
		ah, al, ch, cl = ch, cl, ah, al
	}
	return cmp.Or(cmp.Compare(ah, ch), cmp.Compare(al, cl))
}

// halfPlane is p·a + q·b ≤ r.
type halfPlane struct{ p, q, r *big.Int }

func newHalfPlane(p, q, r int64) *halfPlane {
	return &halfPlane{big.NewInt(p), big.NewInt(q), big.NewInt(r)}
}

// corner is the pair (a/d, b/d) with d > 0. The polygon goes on along next.
type corner struct {
	a, b, d *big.Int
	next    *halfPlane
}

// outside returns the sign of p·a + q·b − r at a corner: 1 outside, 0 on the boundary.
func (h *halfPlane) outside(c *corner) int {
	var sum, product big.Int
	sum.Mul(h.p, c.a)
	sum.Add(&sum, product.Mul(h.q, c.b))
	return sum.Sub(&sum, product.Mul(h.r, c.d)).Sign()
}

// meet returns the corner of two boundaries that are not parallel.
func meet(g, h *halfPlane, next *halfPlane) corner {
	cross := func(a, b, c, d *big.Int) *big.Int {
		x := new(big.Int).Mul(a, b)
		return x.Sub(x, new(big.Int).Mul(c, d))
	}
	c := corner{a: cross(g.r, h.q, h.r, g.q), b: cross(g.p, h.r, h.p, g.r), d: cross(g.p, h.q, h.p, g.q), next: next}
	if c.d.Sign() < 0 {
		c.a.Neg(c.a)
		c.b.Neg(c.b)
		c.d.Neg(c.d)
	}
	return c
}

// clip returns the part of a polygon in a half-plane. Corners are always those of two given
// boundaries, so numbers do not grow.
func clip(polygon []corner, h *halfPlane) []corner {
	sides := make([]int, len(polygon))
	all := true
	for i := range polygon {
		sides[i] = h.outside(&polygon[i])
		all = all && sides[i] <= 0
	}
	if all {
		return polygon
	}
	var rest []corner
	for i := range polygon {
		here, there := sides[i] > 0, sides[(i+1)%len(polygon)] > 0
		if !here {
			rest = append(rest, polygon[i])
		}
		if !here && there {
			rest = append(rest, meet(polygon[i].next, h, h))
		} else if here && !there {
			rest = append(rest, meet(polygon[i].next, h, polygon[i].next))
		}
	}
	return rest
}

// corners returns the corners of the region in which all evidence holds, or nil.
func corners(evidence []Evidence, origin int64) []activity.Corner {
	const most, steps = 1 << 62, 1 / activity.MaxDrift
	above, below := points(evidence, origin)
	for i := range below {
		below[i].y = -below[i].y
	}
	right, top := newHalfPlane(0, steps, 1), newHalfPlane(1, 0, most)
	left, bottom := newHalfPlane(0, -steps, 1), newHalfPlane(-1, 0, most)
	polygon := []corner{meet(bottom, right, right), meet(right, top, top), meet(top, left, left),
		meet(left, bottom, bottom)}
	for _, p := range hull(above) {
		polygon = clip(polygon, newHalfPlane(1, p.x, p.y))
	}
	for _, p := range hull(below) { // a + b·x ≥ y is −a − b·x ≤ −y
		polygon = clip(polygon, newHalfPlane(-1, -p.x, p.y))
	}
	var all []activity.Corner
	for i := range polygon {
		c := &polygon[i]
		// The offset is rounded to the nearest integer.
		twice := new(big.Int).Lsh(c.d, 1)
		a := new(big.Int).Lsh(c.a, 1)
		a.Add(a, c.d)
		a.Div(a, twice) // towards −∞, as the divisor is positive
		drift, _ := new(big.Rat).SetFrac(c.b, c.d).Float64()
		k := activity.Corner{Offset: origin + a.Int64(), Drift: drift}
		if !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all
}
