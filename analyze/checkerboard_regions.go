package analyze

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// maxBodies bounds the regions that are kept of a window.
const maxBodies = 1 << 16

// checkerBodies finds regions of checkerboard: pixels connected in space and time. Two pixels of a
// frame connect if they are beside or above each other. A pixel connects with itself in the next
// stored frame.
type checkerBodies struct {
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
	box         box
}

// box is x0 ≤ x < x1, y0 ≤ y < y1.
type box struct{ x0, y0, x1, y1 int }

func (b box) with(o box) box {
	return box{min(b.x0, o.x0), min(b.y0, o.y0), max(b.x1, o.x1), max(b.y1, o.y1)}
}

func (b box) region() []int { return []int{b.x0, b.y0, b.x1 - b.x0, b.y1 - b.y0} }

// streak is checkerboard in one line, x0 ≤ x < x1.
type streak struct{ y, x0, x1, body int }

const beforeShare = -1 // the frame before a share's first one

// root returns the body that a body has become a part of.
func (b *checkerBodies) root(i int) int {
	for b.all[i].joined != i {
		b.all[i].joined = b.all[b.all[i].joined].joined
		i = b.all[i].joined
	}
	return i
}

// join makes one body of two.
func (b *checkerBodies) join(i, k int) {
	i, k = b.root(i), b.root(k)
	if i == k {
		return
	}
	p, q := &b.all[i], &b.all[k]
	p.first, p.last, p.box = min(p.first, q.first), max(p.last, q.last), p.box.with(q.box)
	q.joined = i
}

// keep notes that nothing changed up to and with a frame.
func (b *checkerBodies) keep(frame int) { b.seen = frame }

// take adds the checkerboard of a frame that differs from the previous one. Frame beforeShare is
// the one before a share.
func (b *checkerBodies) take(m *checkerMask, frame int) {
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
		p.box = p.box.with(box{r.x0, r.y, r.x1, r.y + 1})
		if frame != beforeShare {
			p.first = min(p.first, frame)
		}
	}
	if len(b.all) > maxBodies {
		*b = checkerBodies{tooMany: true}
	}
}

// close notes until when the streaks of the last frames were there.
func (b *checkerBodies) close() {
	for _, r := range b.now {
		p := &b.all[b.root(r.body)]
		p.last = max(p.last, b.seen)
	}
}

// streaks finds those of a mask; each begins without a body.
func (b *checkerBodies) streaks(list []streak, m *checkerMask) []streak {
	for y, n := range m.lines {
		if n == 0 {
			continue
		}
		line := m.on[y*m.area.words : (y+1)*m.area.words]
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
func (b *checkerBodies) link(old []streak) {
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
			b.all = append(b.all, body{r.body, math.MaxInt, -1, box{r.x0, r.y, r.x1, r.y + 1}})
		}
	}
}

func (b *checkerBodies) touch(r *streak, other int) {
	if r.body < 0 {
		r.body = b.root(other)
		return
	}
	b.join(r.body, other)
}

// merge adds the regions of the following frames.
func (b *checkerBodies) merge(n *checkerBodies) {
	if b.tooMany || n.tooMany || len(b.all)+len(n.all) > maxBodies {
		*b = checkerBodies{tooMany: true}
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
func (b *checkerBodies) regions() []body {
	b.close()
	var found []body
	for i, p := range b.all {
		if p.joined == i {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(p, q body) int {
		return cmp.Or(cmp.Compare(p.first, q.first), cmp.Compare(p.box.y0, q.box.y0), cmp.Compare(p.box.x0, q.box.x0),
			cmp.Compare(p.last, q.last), cmp.Compare(p.box.y1, q.box.y1), cmp.Compare(p.box.x1, q.box.x1))
	})
	return found
}
