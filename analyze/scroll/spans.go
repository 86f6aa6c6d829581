package scroll

import (
	"bytes"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Equal spans
//
// Most content moves by a few pixels a frame, and unchanged. The previous frame then has a short
// span of a changed line at most 64 lines up or down, and 1 KB left or right. Two such spans are
// searched for, and six more vote for the displacements at which these are found. Bytes of the
// first plane are compared, so noise hides such content. The search does not depend on what the
// recording says of moves.
const (
	spans     = 8
	spanBytes = 48 // bytes.Index is fast up to 63
	spanWords = 4  // of its 12 words must differ from the one before: flat colour is everywhere
	spanRows  = 64
	spanReach = 1024 // bytes
	spanHits  = 16   // with more places a span says nothing
	spanVotes = 2
	spanFound = 2 // spans that are searched for and found
)

// spanHit is a displacement by which a span is found, and for how many spans it is.
type spanHit struct{ dx, dy, votes int }

// ofSpans finds displacements of content that is otherwise unchanged.
func (m *estimator) ofSpans(measure.Rect) (found []candidate) {
	m.hits = m.hits[:0]
	n, searched := min(spans, len(m.lines)), 0
	for k := range n {
		at := &m.lines[(2*k+1)*len(m.lines)/(2*n)]
		x, span := m.span(at, 2*k+1, 2*n)
		switch {
		case len(span) == 0:
		case searched == spanFound:
			m.confirm(at.y, x, span)
		case m.search(at.y, x, span):
			searched++
		}
	}
	slices.SortStableFunc(m.hits, func(a, b spanHit) int { return b.votes - a.votes })
	for _, h := range m.hits[:min(len(m.hits), peaks)] {
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

// search votes for the displacements by which the previous frame has a span, which begins at byte x
// of row y. It reports whether there are any, and few enough.
func (m *estimator) search(y, x int, span []byte) bool {
	r, each := m.Area.Region, m.pixelBytes()
	start := max(each*r.X, x-spanReach/each*each)
	end := min(each*(r.X+r.Width), x+spanReach+spanBytes)
	var hits [spanHits]spanHit
	n := 0
	for from := max(r.Y, y-spanRows); from < min(r.Y+r.Height, y+spanRows+1); from++ {
		for at := start; ; at++ {
			i := bytes.Index(m.before.Rows[from][at:end], span)
			if i < 0 {
				break
			}
			if at += i; (at-x)%each != 0 {
				continue
			}
			if n == len(hits) {
				return false
			}
			hits[n] = spanHit{(x - at) / each, y - from, 1}
			n++
		}
	}
	for _, h := range hits[:n] {
		if k := slices.IndexFunc(m.hits, h.same); k >= 0 {
			m.hits[k].votes++
		} else {
			m.hits = append(m.hits, h)
		}
	}
	return n > 0
}

func (h spanHit) same(o spanHit) bool { return h.dx == o.dx && h.dy == o.dy }

// confirm votes for those displacements found so far by which the previous frame has a span.
func (m *estimator) confirm(y, x int, span []byte) {
	r, each := m.Area.Region, m.pixelBytes()
	for i := range m.hits {
		h := &m.hits[i]
		from, at := y-h.dy, x-h.dx*each
		if from >= r.Y && from < r.Y+r.Height && at >= each*r.X && at+spanBytes <= each*(r.X+r.Width) &&
			bytes.Equal(m.before.Rows[from][at:at+spanBytes], span) {
			h.votes++
		}
	}
}
