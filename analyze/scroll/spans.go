package scroll

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Equal spans
//
// Most content moves by a few pixels a frame, and unchanged. Then a short span of a changed line is
// in the previous frame too. It is at most 64 lines up or down, and 256 pixels left or right. Two
// such spans are searched for, and six more vote for the displacements at which these are found.
// Bytes of the first plane are compared, so noise hides such content. The search does not depend on
// what the recording says of moves.
//
// Lists have rows that resemble each other. If such content moves further, a wrong displacement
// explains a part of the change. So a nearby displacement must explain 95 % of the edges. Otherwise
// spans of the rest are searched for in all of the previous frame. It holds if they are not there,
// since something uncovered them. Otherwise the search goes on.
const (
	spans     = 8
	spanBytes = 48 // bytes.Index is fast up to 63
	spanWords = 4  // of its 12 words must differ from the one before: flat colour is everywhere
	spanRows  = 64
	spanReach = 256 // pixels
	spanHits  = 16  // with more places a span says nothing
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
		x, span := m.span(at, 2*k+1, 2*n, nil)
		switch {
		case len(span) == 0:
		case searched == spanFound:
			m.confirm(at.y, x, span)
		case m.search(at.y, x, span):
			searched++
		}
	}
	return m.voted()
}

// uncovers reports whether the previous frame has nothing of the change that a candidate leaves
// unexplained, anywhere. It needs enough of it to tell.
func (m *estimator) uncovers(k *candidate) bool {
	m.hits, m.wanted = m.hits[:0], m.wanted[:0]
	const apart = 4 // lines that are looked at first; then those between
	for i := range apart * len(m.lines) {
		at := i%len(m.lines)*apart + i/len(m.lines)
		if len(m.wanted) == spans || at >= len(m.lines) {
			continue
		}
		line := &m.lines[at]
		x, span := m.span(line, len(m.wanted), spans, func(x int, span []byte) bool {
			return m.has(line.y, x, span, k.dx, k.dy) || m.has(line.y, x, span, 0, 0)
		})
		if len(span) > 0 {
			m.wanted = append(m.wanted, wantedSpan{x: x, y: line.y, span: span})
		}
	}
	if 2*len(m.wanted) < spans {
		return false
	}
	m.searchAll()
	return len(m.voted()) == 0
}

// wantedSpan is a span that begins at byte x of row y, and how often it was found.
type wantedSpan struct {
	x, y  int
	span  []byte
	keys  [maxStep]int // bytes of the span: see searchAll
	found int
}

// spanPlace is the byte of a row at which a span was found.
type spanPlace struct {
	at int
	of *wantedSpan
}

const (
	keyBytes = 16
	maxStep  = 4 // pixels
)

// choose takes a key for each pixel below step: the first one that is not of one word. It reports
// whether each pixel has one. For a step of one pixel, a span that is not flat has one.
func (w *wantedSpan) choose(each, step int) bool {
	for k := range step {
		at := k * each
		for at+keyBytes <= len(w.span) && string(w.span[at:at+keyBytes-4]) == string(w.span[at+4:at+keyBytes]) {
			at += step * each
		}
		if at+keyBytes > len(w.span) {
			return false
		}
		w.keys[k] = at
	}
	return true
}

// searchAll votes for the displacements by which the previous frame has the wanted spans. It looks
// at every step-th pixel only. A span has a key for each k below step. The key begins at pixel k +
// n·step of the span. So one of the keys is at such a pixel wherever the span begins. Keys are long
// because text repeats short ones.
func (m *estimator) searchAll() {
	each, step := m.pixelBytes(), maxStep
	for i := 0; i < len(m.wanted); i++ {
		if !m.wanted[i].choose(each, step) && step > 1 {
			step, i = step/2, -1
		}
	}
	hash := func(b []byte) uint64 {
		v, w := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		return (v*0x9e3779b97f4a7c15 ^ w*0xc2b2ae3d27d4eb4f) >> 52
	}
	var with [1 << 12]uint32 // by the hash of keys: a bit for each key of each span
	for i := range m.wanted {
		for k, at := range m.wanted[i].keys[:step] {
			with[hash(m.wanted[i].span[at:at+keyBytes])] |= 1 << (maxStep*i + k)
		}
	}
	r := m.Area.Region
	for from := r.Y; from < r.Y+r.Height; from++ {
		row := m.before.Rows[from][:each*(r.X+r.Width)]
		m.places = m.places[:0]
		for i := each * r.X; i+keyBytes <= len(row); i += step * each {
			for may := with[hash(row[i:i+keyBytes])]; may != 0; may &= may - 1 {
				bit := bits.TrailingZeros32(may)
				w := &m.wanted[bit/maxStep]
				at := i - w.keys[bit%maxStep]
				if w.found < spanHits && at >= each*r.X && bytes.HasPrefix(row[at:], w.span) {
					m.places = append(m.places, spanPlace{at, w})
				}
			}
		}
		if len(m.places) > 1 { // places count from left to right
			slices.SortFunc(m.places, func(a, b spanPlace) int { return a.at - b.at })
		}
		for _, p := range m.places {
			if w := p.of; w.found < spanHits {
				w.found++
				m.vote(spanHit{(w.x - p.at) / each, w.y - from, 1})
			}
		}
	}
}

// voted returns the displacements with the most votes.
func (m *estimator) voted() (found []candidate) {
	slices.SortStableFunc(m.hits, func(a, b spanHit) int { return b.votes - a.votes })
	for _, h := range m.hits[:min(len(m.hits), peaks)] {
		if h.votes >= spanVotes {
			found = append(found, candidate{dx: h.dx, dy: h.dy, near: true})
		}
	}
	return found
}

// pixelBytes returns how many bytes a pixel has in the first plane.
func (m *estimator) pixelBytes() int { return m.Layout.Rows[0].Seen / m.Layout.Format.Width }

// span returns bytes of the changed part of a line, and where in the row they begin. It takes the
// first that are neither flat nor to be skipped. It begins at part/parts of the changed part, and
// ends with those before.
func (m *estimator) span(at *sampledLine, part, parts int, skip func(x int, span []byte) bool) (x int, span []byte) {
	row, each := m.now.Rows[at.y], m.pixelBytes()
	first, end := ends(at.line.Bits)
	room, stride := each*(end-first)-spanBytes, spanBytes/2/each*each
	if room < 0 {
		return 0, nil
	}
	places := room/stride + 1
	for i := range places {
		x := each*(first+64*at.line.Word) + (i+places*part/parts)%places*stride
		if span := row[x : x+spanBytes]; !flat(span) && (skip == nil || !skip(x, span)) {
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

// search looks in the previous frame for the span that begins at byte x of row y. It votes for the
// displacements of nearby ones. It reports whether there are any, and few enough.
func (m *estimator) search(y, x int, span []byte) bool {
	r, each := m.Area.Region, m.pixelBytes()
	start := max(each*r.X, x-each*spanReach)
	end := min(each*(r.X+r.Width), x+each*spanReach+spanBytes)
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
		m.vote(h)
	}
	return n > 0
}

func (m *estimator) vote(h spanHit) {
	k := slices.IndexFunc(m.hits, func(o spanHit) bool { return h.dx == o.dx && h.dy == o.dy })
	if k < 0 {
		m.hits = append(m.hits, h)
		return
	}
	m.hits[k].votes++
}

// confirm votes for those displacements found so far by which the previous frame has a span.
func (m *estimator) confirm(y, x int, span []byte) {
	for i := range m.hits {
		if h := &m.hits[i]; m.has(y, x, span, h.dx, h.dy) {
			h.votes++
		}
	}
}

// has reports whether the previous frame has a span of row y, from byte x on, by a displacement.
func (m *estimator) has(y, x int, span []byte, dx, dy int) bool {
	r, each := m.Area.Region, m.pixelBytes()
	from, at := y-dy, x-dx*each
	return from >= r.Y && from < r.Y+r.Height && at >= each*r.X && at+spanBytes <= each*(r.X+r.Width) &&
		bytes.Equal(m.before.Rows[from][at:at+spanBytes], span)
}
