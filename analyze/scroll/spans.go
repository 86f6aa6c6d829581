package scroll

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Equal spans
//
// Most content moves by a few pixels a frame, and unchanged. The previous frame then has a short
// span of a changed line at most 64 lines up or down, and 1 KB left or right. Eight spans vote for
// the displacements at which they are found. Bytes of the first plane are compared, so noise hides
// such content. The search does not depend on what the recording says of moves.
const (
	spans     = 8
	spanBytes = 48 // bytes.Index is fast up to 63
	spanWords = 4  // of its 12 words must differ from the one before: flat colour is everywhere
	spanRows  = 64
	spanReach = 1024 // bytes
	spanHits  = 16   // with more places a span says nothing
	spanVotes = 2
)

// spanHit is a displacement by which a span is found, and for how many spans it is.
type spanHit struct{ dx, dy, votes int }

// ofSpans finds displacements of content that is otherwise unchanged.
func (m *estimator) ofSpans(measure.Rect) (found []candidate) {
	m.hits = m.hits[:0]
	n := min(spans, len(m.lines))
	for k := range n {
		at := &m.lines[(2*k+1)*len(m.lines)/(2*n)]
		if x, span := m.span(at, 2*k+1, 2*n); len(span) > 0 {
			m.places(at.y, x, span)
		}
	}
	slices.SortFunc(m.hits, func(a, b spanHit) int { return cmp.Or(a.dy-b.dy, a.dx-b.dx) })
	voted := m.hits[:0]
	for _, h := range m.hits {
		if k := len(voted) - 1; k >= 0 && voted[k].dx == h.dx && voted[k].dy == h.dy {
			voted[k].votes++
		} else {
			voted = append(voted, h)
		}
	}
	slices.SortStableFunc(voted, func(a, b spanHit) int { return b.votes - a.votes })
	for _, h := range voted[:min(len(voted), peaks)] {
		if h.votes >= spanVotes {
			found = append(found, candidate{dx: h.dx, dy: h.dy})
		}
	}
	return found
}

// pixelBytes returns how many bytes a pixel has in the first plane.
func (m *estimator) pixelBytes() int { return m.Layout.Rows[0].Seen / m.Layout.Format.Width }

// span returns bytes of the changed part of a line, and where in the row they begin. It takes the
// first that are not flat, from part/parts of the changed part on.
func (m *estimator) span(at *sampledLine, part, parts int) (x int, span []byte) {
	row, each := m.now.Rows[at.y], m.pixelBytes()
	first, end := ends(at.line.Bits)
	first, end = first+64*at.line.Word, end+64*at.line.Word
	for x := each * (first + (end-first)*part/parts); x+spanBytes <= each*end; x += spanBytes / 2 / each * each {
		if span := row[x : x+spanBytes]; !flat(span) {
			return x, span
		}
	}
	return 0, nil
}

// flat reports whether a span has few different words in a row.
func flat(span []byte) bool {
	n := 0
	for i := 4; i < len(span); i += 4 {
		if string(span[i:i+4]) != string(span[i-4:i]) {
			n++
		}
	}
	return n < spanWords
}

// places votes for the displacements by which the previous frame has a span, which begins at byte x
// of row y.
func (m *estimator) places(y, x int, span []byte) {
	r, each, had := m.Area.Region, m.pixelBytes(), len(m.hits)
	start := max(each*r.X, x-spanReach/each*each)
	end := min(each*(r.X+r.Width), x+spanReach+spanBytes)
	for from := max(r.Y, y-spanRows); from < min(r.Y+r.Height, y+spanRows+1); from++ {
		for at := start; ; at++ {
			i := bytes.Index(m.before.Rows[from][at:end], span)
			if i < 0 {
				break
			}
			if at += i; (at-x)%each != 0 {
				continue
			}
			if len(m.hits)-had == spanHits {
				m.hits = m.hits[:had]
				return
			}
			m.hits = append(m.hits, spanHit{(x - at) / each, y - from, 1})
		}
	}
}
