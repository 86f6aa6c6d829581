package scroll

import (
	"iter"
	"math"
	"math/bits"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// estimator estimates by what motion one frame became the next. It belongs to one goroutine.
type estimator struct {
	*measure.Case
	tau     int
	lines   []sampledLine // of the frame at hand
	changed []int         // lines of the diff in which pixels differ
	hits    []spanHit
	wanted  []wantedSpan
	places  []spanPlace
	phase   phase
	equals  equals
	zoom    zoomer

	before, now lumas
}

// sampledLine is a line in which something changed.
type sampledLine struct {
	y    int
	line *measure.Line
	luma []byte // of R
	same []byte // of R, in the frame before
}

// changed yields the pixels of the line that changed, counted from pixel left of the frame on.
func (l *sampledLine) changed(left int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range l.line.Bits {
			for ; word != 0; word &= word - 1 {
				if !yield(64*(l.line.Word+w) - left + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

const (
	sampledLines = 32
	minTested    = 64 // pixels, fewer say nothing
	holds        = 0.6
	surely       = 0.95 // explains more than content that only resembles that nearby
	inPlace      = 4    // part of what one pixel of motion changes
	inexact      = 0.5  // of the difference may be left
	inDetail     = 0.65 // and of that of the steps from pixel to pixel
)

func newEstimator(c *measure.Case) *estimator {
	return &estimator{Case: c, tau: max(0, c.Tolerance), lines: make([]sampledLine, 0, sampledLines),
		before: newLumas(c), now: newLumas(c)}
}

// candidate is a displacement and how well it explains the change.
type candidate struct {
	dx, dy int
	tested int     // pixels at edges
	exact  float64 // of these, what part is explained
	near   bool    // it was looked for nearby only
	left   float64 // part of the difference that is left
	detail float64 // the same of the steps from each pixel to its right neighbour, which smooth content has none of
}

// estimate returns the motion, and whether there is one that holds.
func (m *estimator) estimate(c *frame.Change, d *measure.Diff, before, now frame.Image) (motion, bool) {
	m.choose(d, before, now)
	if len(m.lines) == 0 {
		return motion{}, false
	}
	var tried []candidate
	if dy, ok := rowsMoved(m.Case, c); ok {
		tried = append(tried, m.check(0, dy))
	}
	b := aroundDiff(d)
	for i, find := range [...]func(measure.Rect) []candidate{m.ofSpans, m.alongRows, m.alongColumns, m.farRows,
		m.farColumns, m.ofTiles} {
		if i == 1 && m.still() { // most content that moves was found before
			break
		}
		for _, at := range find(b) {
			if at.dx != 0 || at.dy != 0 {
				tried = m.try(tried, at)
			}
		}
		k, ok := bestExact(tried)
		if ok && k.near && k.exact < surely {
			ok = i == 0 && m.uncovers(&k)
		}
		if ok {
			return k.motion(), true
		}
	}
	if k, ok := bestExact(tried); ok {
		return k.motion(), true
	}
	if k, ok := m.bestInexact(tried); ok {
		return k, true
	}
	return m.zoom.estimate(m, b)
}

// try adds a candidate. One that was found nearby is confirmed by any other search.
func (m *estimator) try(tried []candidate, at candidate) []candidate {
	for i := range tried {
		if k := &tried[i]; k.dx == at.dx && k.dy == at.dy {
			k.near = k.near && at.near
			return tried
		}
	}
	k := m.check(at.dx, at.dy)
	k.near = at.near
	return append(tried, k)
}

func (k *candidate) motion() motion { return motion{dx: float64(k.dx), dy: float64(k.dy), scale: 1} }

// choose takes lines with changes of a frame, evenly.
func (m *estimator) choose(d *measure.Diff, before, now frame.Image) {
	m.before.begin(before)
	m.now.begin(now)
	m.lines, m.changed = m.lines[:0], m.changed[:0]
	for i := range d.Lines {
		if first, end := ends(d.Lines[i].Bits); first < end {
			m.changed = append(m.changed, i)
		}
	}
	n := min(sampledLines, len(m.changed))
	for k := range n {
		l := &d.Lines[m.changed[(2*k+1)*len(m.changed)/(2*n)]]
		m.lines = append(m.lines, sampledLine{y: l.Y, line: l, luma: m.now.line(l.Y), same: m.before.line(l.Y)})
	}
}

// aroundDiff is the rectangle that holds all pixels that differ, and perhaps a few beside them.
func aroundDiff(d *measure.Diff) measure.Rect {
	var b measure.Rect
	for i := range d.Lines {
		l := &d.Lines[i]
		if first, end := ends(l.Bits); first < end {
			b.Add(measure.Box(64*l.Word+first, l.Y, 64*l.Word+end, l.Y+1))
		}
	}
	return b
}

// ends returns the range that contains all set bits.
func ends(words []uint64) (first, end int) {
	for k, w := range words {
		if w == 0 {
			continue
		}
		if end == 0 {
			first = 64*k + bits.TrailingZeros64(w)
		}
		end = 64*k + 64 - bits.LeadingZeros64(w)
	}
	return first, end
}

// still reports whether a change is too small to be motion, as where content fades: less than a
// quarter of what a displacement by one pixel would have changed, in each of eight directions. Only
// content that repeats, or a zoom, may move further and change so little.
func (m *estimator) still() bool {
	var change, right, down, falling, rising int // the other directions are opposites
	r := m.Area.Region
	for i := range m.lines {
		at := &m.lines[i]
		if at.y == r.Y {
			continue
		}
		above := m.before.line(at.y - 1)
		for x := range at.changed(r.X) {
			if x < 1 || x+1 >= r.Width {
				continue
			}
			o := int(at.same[x])
			change += abs(int(at.luma[x]) - o)
			right += abs(int(at.same[x-1]) - o)
			down += abs(int(above[x]) - o)
			falling += abs(int(above[x-1]) - o)
			rising += abs(int(above[x+1]) - o)
		}
	}
	return inPlace*change < min(right, down, falling, rising)
}

// checkSums are sums of the pixels of check. Vectors keep several of each.
type checkSums struct {
	left, zero         [4]uint64
	detail, detailZero [8]uint32
	tested, explained  int
}

// check holds the change against a displacement.
func (m *estimator) check(dx, dy int) candidate {
	r := m.Area.Region
	var s checkSums
	for i := range m.lines {
		at := &m.lines[i]
		y := at.y - dy
		if y < r.Y || y >= r.Y+r.Height {
			continue
		}
		old, words := m.before.line(y), at.line.Bits
		x := 64*at.line.Word - r.X // of the first word
		// Words [from, end) are inside both lines. Vectors take these words only.
		from, end := (max(1, 1+dx)-x+63)>>6, (min(r.Width, r.Width+dx)-x)>>6
		if from, end = max(from, 0), min(end, len(words)); m.Area.Masked || !hasVectors() || from >= end {
			from, end = len(words), len(words)
		}
		for w, word := range words[:from] {
			m.checkWord(&s, at, old, x+64*w, dx, dy, word)
		}
		if from < end {
			checkVectors(&s, at.luma, at.same, x+64*from, old, x+64*from-dx, words[from:end], m.tau)
		}
		for w, word := range words[end:] {
			m.checkWord(&s, at, old, x+64*(end+w), dx, dy, word)
		}
	}
	k := candidate{dx: dx, dy: dy, tested: s.tested, left: 1, detail: 1}
	if k.tested > 0 {
		k.exact = float64(s.explained) / float64(k.tested)
	}
	if zero, detailZero := sum(s.zero[:]), sum(s.detailZero[:]); zero > 0 && detailZero > 0 {
		k.left, k.detail = sum(s.left[:])/zero, sum(s.detail[:])/detailZero
	}
	return k
}

func sum[T uint32 | uint64](all []T) (total float64) {
	for _, v := range all {
		total += float64(v)
	}
	return total
}

// checkWord adds the pixels of a word that changed. It begins at pixel base of a line.
func (m *estimator) checkWord(s *checkSums, at *sampledLine, old []byte, base, dx, dy int, word uint64) {
	r := m.Area.Region
	for ; word != 0; word &= word - 1 {
		x := base + bits.TrailingZeros64(word)
		from := x - dx
		if x < 1 || from < 1 || from >= r.Width || m.Area.Masked && !m.Area.Holds(r.X+from, at.y-dy) {
			continue
		}
		v, o := int(at.luma[x]), int(old[from])
		s.left[0] += uint64(abs(v - o))
		s.zero[0] += uint64(abs(v - int(at.same[x])))
		step := v - int(at.luma[x-1])
		s.detail[0] += uint32(abs(step - o + int(old[from-1])))
		s.detailZero[0] += uint32(abs(step - int(at.same[x]) + int(at.same[x-1])))
		if abs(step) <= m.tau {
			continue
		}
		s.tested++
		if abs(v-o) <= m.tau && abs(int(at.luma[x-1])-int(old[from-1])) <= m.tau {
			s.explained++
		}
	}
}

// replaces reports whether less than three quarters of the edges of the frame before are still
// edges. Content that fades or gets darker keeps its edges.
func (m *estimator) replaces() bool {
	before, _, kept := m.edges()
	return 4*kept < 3*before
}

// appears reports whether the pixels that changed had few edges in the frame before: less than a
// quarter of theirs.
func (m *estimator) appears() bool {
	before, now, _ := m.edges()
	return 4*before < now
}

// edges returns the numbers of edges among the pixels that changed: in the frame before, in this
// one, and those before that still rise or fall.
func (m *estimator) edges() (before, now, kept int) {
	for i := range m.lines {
		at := &m.lines[i]
		for x := range at.changed(m.Area.Region.X) {
			if x < 1 {
				continue
			}
			was, is := int(at.same[x])-int(at.same[x-1]), int(at.luma[x])-int(at.luma[x-1])
			if abs(is) > m.tau {
				now++
			}
			if abs(was) > m.tau {
				before++
				if was > 0 == (is > 0) && is != 0 {
					kept++
				}
			}
		}
	}
	return before, now, kept
}

func abs(x int) int { return max(x, -x) }

// bestExact is the displacement that explains most, if it holds and no other explains as much.
func bestExact(all []candidate) (candidate, bool) {
	best, second := candidate{}, 0.0
	for _, k := range all {
		switch {
		case k.tested < minTested || k.dx == best.dx && k.dy == best.dy:
		case k.exact > best.exact:
			best, second = k, best.exact
		default:
			second = max(second, k.exact)
		}
	}
	return best, best.exact >= holds && best.exact > second
}

// bestInexact is the one that leaves least of the difference, refined between its neighbours.
func (m *estimator) bestInexact(all []candidate) (motion, bool) {
	best := candidate{left: math.Inf(1)}
	for _, k := range all {
		if k.tested >= minTested && k.detail <= inDetail && k.left < best.left {
			best = k
		}
	}
	if best.left > inexact {
		return motion{}, false
	}
	x := vertex(m.check(best.dx-1, best.dy).left, best.left, m.check(best.dx+1, best.dy).left)
	y := vertex(m.check(best.dx, best.dy-1).left, best.left, m.check(best.dx, best.dy+1).left)
	return motion{dx: float64(best.dx) + x, dy: float64(best.dy) + y, scale: 1, within: 0.5}, true
}

// vertex returns the minimum of an absolute difference between −1/2 and 1/2, given its values at
// −1, 0 and 1. The difference falls and rises by straight lines of the same slope.
func vertex(a, b, c float64) float64 {
	slope := max(a-b, c-b)
	if slope <= 0 {
		return 0
	}
	return max(-0.5, min(0.5, (a-c)/(2*slope)))
}
