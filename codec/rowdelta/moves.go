package rowdelta

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
)

// mover finds parts of rows that the previous frame had elsewhere. It tries the displacements of
// the last frame with moves. If none fits, it searches the rows around for a few bytes of the row.
// A displacement is only a candidate. It counts if the bytes are equal.
type mover struct {
	layout *frame.Layout
	planes []displacements
	row    []byte  // the row that is looked at, made of the previous frame so far
	found  []Moved // in it, ascending
}

// displacements are those of one plane. Planes differ in the number of rows and bytes.
type displacements struct {
	known   [4]displacement // the last that fitted comes first
	n       int
	hits    int // moved spans in this frame
	tries   int // searches in this frame
	wait    int // frames without searches, since the last ones found nothing
	pause   int // the next wait
	nextRow int // of the next search
}

// displacement is where a source lies, relative to a row and a byte of it.
type displacement struct{ row, byte int32 }

const (
	minMoved     = 64   // bytes that a moved span has at least
	minSaved     = 256  // bytes that it must save, or a quarter of the row: LZ4 packs pages well
	needleBytes  = 48   // bytes that are searched for; bytes.Index is fast up to 63
	needleWords  = 4    // of its 12 words must differ from the one before: flat colour is everywhere
	searchRows   = 64   // up and down
	searchBytes  = 2048 // left and right
	searchHits   = 6    // places that are tried for one needle
	searches     = 8    // in a frame
	maxWait      = 7    // frames
	searchSpaced = 32   // a part of the frame's rows lies between two searches
)

func newMover(l *frame.Layout) mover {
	planes := l.Rows[len(l.Rows)-1].Plane + 1
	m := mover{layout: l, planes: make([]displacements, planes), found: make([]Moved, 0, maxMoves)}
	longest := 0
	for _, r := range l.Rows {
		longest = max(longest, r.Bytes)
	}
	m.row = make([]byte, longest)
	return m
}

// begin starts on a frame that differs from the one before.
func (m *mover) begin() {
	for i := range m.planes {
		p := &m.planes[i]
		switch {
		case p.hits > 0:
			p.wait, p.pause = 0, 0
		case p.tries > 0:
			p.pause = min(2*p.pause+1, maxWait)
			p.wait = p.pause
		case p.wait > 0:
			p.wait--
		}
		if p.hits == 0 {
			p.n = 0
		}
		p.hits, p.tries, p.nextRow = 0, 0, 0
	}
}

// find returns moved spans of row y. The row was a and is b. It differs in n spans, which find
// replaces by those that still differ. The result is valid until the next call.
func (m *mover) find(prev []byte, y int, a, b []byte, spans *[MaxSpans]Span, n int) ([]Moved, int) {
	m.found = m.found[:0]
	p := &m.planes[m.layout.Rows[y].Plane]
	if p.n == 0 && (p.wait > 0 || p.tries == searches) || total(spans[:n]) < minMoved {
		return nil, n
	}
	m.row = m.row[:len(b)]
	copy(m.row, a)
	for len(m.found) < maxMoves && n > 0 {
		widest := spans[0]
		for _, s := range spans[1:n] {
			if s.End-s.Start > widest.End-widest.Start {
				widest = s
			}
		}
		if widest.End-widest.Start < minMoved {
			break
		}
		k, ok := m.known(p, prev, y, a, b, widest, spans, n)
		if !ok && len(m.found) == 0 {
			k, ok = m.search(p, prev, y, a, b, widest, spans, n)
		}
		if !ok {
			break
		}
		n = k
		p.hits++
	}
	return m.found, n
}

// known tries the displacements that fitted last.
func (m *mover) known(p *displacements, prev []byte, y int, a, b []byte, s Span, spans *[MaxSpans]Span,
	n int) (int, bool) {
	for i, by := range p.known[:p.n] {
		if k, ok := m.try(prev, y, a, b, s, by, spans, n); ok {
			copy(p.known[1:i+1], p.known[:i])
			p.known[0] = by
			return k, true
		}
	}
	return n, false
}

// try adds the longest part of span s that equals its displaced source, if it saves enough.
func (m *mover) try(prev []byte, y int, a, b []byte, s Span, by displacement, spans *[MaxSpans]Span,
	n int) (int, bool) {
	src := y + int(by.row)
	if src < 0 || src >= len(m.layout.Rows) || m.layout.Rows[src].Plane != m.layout.Rows[y].Plane {
		return n, false
	}
	from := m.layout.Row(prev, src)
	// Bytes [low, high) of the row have a source, and none of them was found already.
	low, high := max(0, -int(by.byte)), min(len(b), len(b)-int(by.byte))
	start, end := max(low, int(s.Start)), min(high, int(s.End))
	if end-start < minMoved {
		return n, false
	}
	at, length := longestEqual(b[start:end], from[start+int(by.byte):])
	if length < minMoved {
		return n, false
	}
	start, end = start+at, start+at+length
	for _, f := range m.found {
		switch {
		case int(f.End) <= start:
			low = max(low, int(f.End))
		case int(f.Start) >= end:
			high = min(high, int(f.Start))
		default:
			return n, false
		}
	}
	end += firstDiff(b[end:high], from[end+int(by.byte):][:high-end], 0)
	start -= equalBefore(b[low:start], from[low+int(by.byte):][:start-low])
	copy(m.row[start:end], b[start:end])
	var rest [MaxSpans]Span
	k := diffSpans(m.row, b, &rest)
	if saved := total(spans[:n]) - total(rest[:k]); saved < max(minMoved, min(minSaved, int32(len(b)/4))) {
		copy(m.row[start:end], a[start:end])
		return n, false
	}
	*spans = rest
	i := 0
	for i < len(m.found) && int(m.found[i].Start) < start {
		i++
	}
	m.found = slices.Insert(m.found, i, Moved{Span{int32(start), int32(end)}, by.row, by.byte})
	return k, true
}

// search looks for bytes of span s in the rows around row y.
func (m *mover) search(p *displacements, prev []byte, y int, a, b []byte, s Span, spans *[MaxSpans]Span,
	n int) (int, bool) {
	if p.wait > 0 || p.tries == searches || y < p.nextRow {
		return n, false
	}
	p.tries++
	p.nextRow = y + len(m.layout.Rows)/searchSpaced
	at := needle(b, s)
	if at < 0 {
		return n, false
	}
	low, high := max(0, at-searchBytes), min(len(b), at+needleBytes+searchBytes)
	hits := 0
	for i := range 2*searchRows + 1 {
		by := int32(i+1) / 2
		if i%2 == 1 {
			by = -by
		}
		src := y + int(by)
		if src < 0 || src >= len(m.layout.Rows) || m.layout.Rows[src].Plane != m.layout.Rows[y].Plane {
			continue
		}
		from := m.layout.Row(prev, src)
		for x := low; hits < searchHits; hits++ {
			k := bytes.Index(from[x:high], b[at:at+needleBytes])
			if k < 0 {
				break
			}
			x += k
			d := displacement{by, int32(x - at)}
			x++
			if d == (displacement{}) {
				continue
			}
			before := total(spans[:n])
			if left, ok := m.try(prev, y, a, b, s, d, spans, n); ok {
				if 2*total(spans[:left]) <= before { // not only a part of a pattern
					p.n = min(p.n+1, len(p.known))
					copy(p.known[1:p.n], p.known[:p.n-1])
					p.known[0] = d
				}
				return left, true
			}
		}
		if hits == searchHits {
			break
		}
	}
	return n, false
}

// needle returns where in span s of a row the most adjacent words differ, or -1.
func needle(b []byte, s Span) int {
	at, most := -1, needleWords-1
	for i := int(s.Start); i+needleBytes <= int(s.End); i += needleBytes {
		n := 0
		for k := i + 4; k < i+needleBytes; k += 4 {
			if binary.LittleEndian.Uint32(b[k:]) != binary.LittleEndian.Uint32(b[k-4:]) {
				n++
			}
		}
		if n > most {
			at, most = i, n
		}
	}
	return at
}

// longestEqual returns the longest run of at least minMoved bytes that are equal in a and b. Length
// 0 means that there is not one.
func longestEqual(a, b []byte) (at, length int) {
	const probe = minMoved / 2
	b = b[:len(a)]
	for p := 0; p+8 <= len(a) && len(a)-p+probe > length; p += probe {
		if binary.LittleEndian.Uint64(a[p:]) != binary.LittleEndian.Uint64(b[p:]) {
			continue
		}
		start := p - equalBefore(a[:p], b[:p])
		end := firstDiff(a, b, p+8)
		if n := end - start; n >= minMoved && n > length {
			at, length = start, n
		}
		p = end - end%8
	}
	return at, length
}

// equalBefore returns how many of the last bytes of a and b are equal. Both have one length.
func equalBefore(a, b []byte) int {
	i := len(a)
	for i >= 8 && binary.LittleEndian.Uint64(a[i-8:]) == binary.LittleEndian.Uint64(b[i-8:]) {
		i -= 8
	}
	for i > 0 && a[i-1] == b[i-1] {
		i--
	}
	return len(a) - i
}

func total(spans []Span) (bytes int32) {
	for _, s := range spans {
		bytes += s.End - s.Start
	}
	return bytes
}
