package checkerboard

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// maxBodies bounds the regions that are kept of a window.
const maxBodies = 1 << 16

// bodies finds regions of checkerboard: pixels connected in space and time. Two pixels of a
// frame connect if they are beside or above each other. A pixel connects with itself in the next
// stored frame.
type bodies struct {
	all     []body
	now     []streak // of the last frame in which anything changed, from top to bottom, then left to right
	spare   []streak
	into    []int // bodies of the streaks before the first frame
	tooMany bool
	seen    int // number of the frame that now is of
}

// body is a region, or a part of one that has been joined with another.
type body struct {
	joined      int // index of the body that it is a part of, or its own
	first, last int // frames in which it was seen
	box         measure.Rect
}

// streak is checkerboard in one line, x0 ≤ x < x1.
type streak struct{ y, x0, x1, body int }

const beforeShare = -1 // the frame before a share's first one

// root returns the body that a body has become a part of.
func (b *bodies) root(i int) int {
	for b.all[i].joined != i {
		b.all[i].joined = b.all[b.all[i].joined].joined
		i = b.all[i].joined
	}
	return i
}

// join makes one body of two.
func (b *bodies) join(i, k int) {
	i, k = b.root(i), b.root(k)
	if i == k {
		return
	}
	p, q := &b.all[i], &b.all[k]
	p.first, p.last = min(p.first, q.first), max(p.last, q.last)
	p.box.Add(q.box)
	q.joined = i
}

// keep notes that nothing changed up to and with a frame.
func (b *bodies) keep(frame int) { b.seen = frame }

// take adds the checkerboard of a frame that differs from the previous one. Frame beforeShare is
// the one before a share.
func (b *bodies) take(m *mask, frame int) {
	if b.tooMany {
		return
	}
	b.close()
	b.seen = frame
	old := b.now
	b.now = b.streaks(b.spare[:0], m)
	b.spare = old
	b.link(old)
	if frame == beforeShare {
		for _, r := range b.now {
			b.into = append(b.into, r.body)
		}
	}
	for _, r := range b.now {
		p := &b.all[b.root(r.body)]
		p.box.Add(measure.Box(r.x0, r.y, r.x1, r.y+1))
		if frame != beforeShare {
			p.first = min(p.first, frame)
		}
	}
	if len(b.all) > maxBodies {
		*b = bodies{tooMany: true}
	}
}

// close notes until when the streaks of the last frames were there.
func (b *bodies) close() {
	for _, r := range b.now {
		p := &b.all[b.root(r.body)]
		p.last = max(p.last, b.seen)
	}
}

// streaks finds those of a mask; each begins without a body.
func (b *bodies) streaks(list []streak, m *mask) []streak {
	for y, n := range m.lines {
		if n == 0 {
			continue
		}
		line := m.on[y*m.area.Words : (y+1)*m.area.Words]
		for x := nextBit(line, 0, 0); x < 64*len(line); {
			end := nextBit(line, x, ^uint64(0))
			list = append(list, streak{y, x, end, -1})
			x = nextBit(line, end, 0)
		}
	}
	return list
}

// nextBit returns the first bit from x on that is 1, or 0 if all bits of flip are set; behind the
// line there is one.
func nextBit(line []uint64, x int, flip uint64) int {
	for w := x / 64; w < len(line); w++ {
		v := line[w] ^ flip
		if w == x/64 {
			v &= ^uint64(0) << (x & 63)
		}
		if v != 0 {
			return 64*w + bits.TrailingZeros64(v)
		}
	}
	return 64 * len(line)
}

// link gives each streak a body: that of what it touches, in the frame before and in the line
// above, or a new one.
func (b *bodies) link(old []streak) {
	o, above := 0, 0
	for i := range b.now {
		r := &b.now[i]
		for o < len(old) && (old[o].y < r.y || old[o].y == r.y && old[o].x1 <= r.x0) {
			o++
		}
		for k := o; k < len(old) && old[k].y == r.y && old[k].x0 < r.x1; k++ {
			b.touch(r, old[k].body)
		}
		for above < i && (b.now[above].y < r.y-1 || b.now[above].y == r.y-1 && b.now[above].x1 <= r.x0) {
			above++
		}
		for k := above; k < i && b.now[k].y == r.y-1 && b.now[k].x0 < r.x1; k++ {
			b.touch(r, b.now[k].body)
		}
		if r.body < 0 {
			r.body = len(b.all)
			b.all = append(b.all, body{r.body, math.MaxInt, -1, measure.Box(r.x0, r.y, r.x1, r.y+1)})
		}
	}
}

func (b *bodies) touch(r *streak, other int) {
	if r.body < 0 {
		r.body = b.root(other)
		return
	}
	b.join(r.body, other)
}

// merge adds the regions of the following frames.
func (b *bodies) merge(n *bodies) {
	if b.tooMany || n.tooMany || len(b.all)+len(n.all) > maxBodies {
		*b = bodies{tooMany: true}
		return
	}
	b.close()
	shift := len(b.all)
	for _, p := range n.all {
		p.joined += shift
		b.all = append(b.all, p)
	}
	for i, r := range b.now { // the streaks that the other one began with
		b.join(r.body, n.into[i]+shift)
	}
	b.now = slices.Clone(n.now)
	for i := range b.now {
		b.now[i].body += shift
	}
	b.seen = n.seen
}

// regions returns all bodies, by their first frame, then from top to bottom and left to right.
func (b *bodies) regions() []body {
	b.close()
	var found []body
	for i, p := range b.all {
		if p.joined == i {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(p, q body) int {
		return cmp.Or(cmp.Compare(p.first, q.first), cmp.Compare(p.box.Y0, q.box.Y0), cmp.Compare(p.box.X0, q.box.X0),
			cmp.Compare(p.last, q.last), cmp.Compare(p.box.Y1, q.box.Y1), cmp.Compare(p.box.X1, q.box.X1))
	})
	return found
}
