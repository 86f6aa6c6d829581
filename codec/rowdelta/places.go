package rowdelta

import "github.com/eideticker/eideticker/capture/frame"

// MaxPieces is into how many pieces a row may fall. The shortest pieces are stored again before
// there would be more.
const MaxPieces = 24

// fewPieces is how many pieces a row without moved ones gets. More would make tables large.
const fewPieces = 8

// Piece is a part of a row that is in one block. It reaches to the next piece, or to the row's end.
type Piece struct {
	Block int64 // number of the block
	Off   int32 // of the piece's first byte within the block
	Start int32 // of the piece within the row
}

// Place is where the bytes of one row lie: its pieces from left to right. A row without pieces is
// unknown.
type Place struct {
	N      int32
	Pieces [MaxPieces]Piece
}

// Places says where every row of a frame lies.
type Places struct {
	layout *frame.Layout
	rows   []Place
	were   []Place // sources of moves; made by the first move

	made    []Piece    // of the row that is being put together
	buffers [2][]Piece // one holds made, unless it is a row's own
	next    int        // of buffers

	wide group // of rows that are widened
}

// NewPlaces returns places that are all unknown.
func NewPlaces(l *frame.Layout) *Places {
	return &Places{layout: l, rows: make([]Place, len(l.Rows))}
}

// Row returns the place of row y, to read it or, while a table is loaded, to fill it.
func (p *Places) Row(y int) *Place { return &p.rows[y] }

// Forget makes all rows unknown.
func (p *Places) Forget() { clear(p.rows) }

// CopyFrom makes p equal to q, which has the same layout.
func (p *Places) CopyFrom(q *Places) {
	for y := range p.rows {
		p.rows[y].set(q.rows[y].pieces())
	}
}

func (p *Place) pieces() []Piece { return p.Pieces[:p.N] }

// set makes the row consist of pieces. It reports false, and the row is unknown, if they are too
// many.
func (p *Place) set(pieces []Piece) bool {
	if len(pieces) > MaxPieces {
		p.N = 0
		return false
	}
	p.N = int32(copy(p.Pieces[:], pieces))
	return true
}

// renew replaces one piece, or the whole row, by q. It reports false, and changes nothing, if bytes
// from q.Start to end are neither. Most stored bytes replace those that the last frame stored.
func (p *Place) renew(q Piece, end, length int32) bool {
	if q.Start == 0 && end == length {
		p.N, p.Pieces[0] = 1, q
		return true
	}
	i := int32(0)
	for i < p.N && p.Pieces[i].Start < q.Start {
		i++
	}
	if i == p.N || p.Pieces[i].Start != q.Start || i > 0 && p.Pieces[i-1].Block == q.Block {
		return false
	}
	if i+1 < p.N {
		length = p.Pieces[i+1].Start
	}
	if end != length {
		return false
	}
	p.Pieces[i] = q
	return true
}

// Known reports whether every row is known.
func (p *Places) Known() bool {
	for y := range p.rows {
		if p.rows[y].N == 0 {
			return false
		}
	}
	return true
}

// Apply moves the places on by one frame. firstBlock is the number of the delta's first block. It
// reports false where a row would fall into more than MaxPieces pieces; that row is then unknown.
// No encoder writes such a delta.
func (p *Places) Apply(d *Delta, firstBlock int64) bool {
	p.remember(d)
	ok := true
	w := d.Walk()
	more := w.Next()
	for i := range d.Runs {
		r := &d.Runs[i]
		for y := r.Row; y < r.Row+r.Rows && r.Kind != Same; y++ {
			row := &p.rows[y]
			if r.Kind == Copied {
				row.set(p.were[r.Src+y-r.Row].pieces())
				continue
			}
			length := int32(p.layout.Rows[y].Bytes)
			p.begin(row.pieces())
			for _, m := range d.MovedSpans(r) {
				p.replace(m.Span, length, p.were[y+m.Row].pieces(), m.Start+m.Byte)
			}
			own := r.Moved.n == 0 // p.made is the row itself
			for ; more && w.Row == y; more = w.Next() {
				q := Piece{Block: firstBlock + int64(w.Block), Off: w.Off, Start: w.Start}
				if own && row.renew(q, w.End, length) {
					p.begin(row.pieces())
					continue
				}
				own = false
				stored := [1]Piece{{Block: q.Block, Off: q.Off}}
				p.replace(w.Span, length, stored[:], 0)
			}
			ok = (own || row.set(p.made)) && ok
		}
	}
	return ok
}

// remember keeps the places of all sources, since a source may be a row that changes too.
func (p *Places) remember(d *Delta) {
	for i := range d.Runs {
		r := &d.Runs[i]
		if r.Kind == Copied {
			p.keep(r.Src, r.Rows)
		}
		for _, m := range d.MovedSpans(r) {
			p.keep(r.Row+m.Row, r.Rows)
		}
	}
}

func (p *Places) keep(row, rows int32) {
	if p.were == nil {
		p.were = make([]Place, len(p.rows))
	}
	for y := row; y < row+rows; y++ {
		p.were[y].set(p.rows[y].pieces())
	}
}

// begin starts to put a row together that had the given pieces. They stay as they are.
func (p *Places) begin(pieces []Piece) { p.made = pieces }

// replace replaces bytes of the row that is put together by bytes of another row from byte from on.
// The row is unknown without pieces of the other row. So it is if an unknown part remains.
func (p *Places) replace(s Span, length int32, other []Piece, from int32) {
	out := p.buffers[p.next][:0]
	if whole := s.Start == 0 && s.End == length; len(other) > 0 && (whole || len(p.made) > 0) {
		out = cut(out, p.made, 0, s.Start, 0)
		out = cut(out, other, from, from+s.End-s.Start, s.Start)
		out = cut(out, p.made, s.End, length, s.End)
	}
	p.made, p.buffers[p.next] = out, out
	p.next ^= 1
}

// cut appends the pieces that make up bytes [start, end) of a row, as bytes from to on.
func cut(dst, pieces []Piece, start, end, to int32) []Piece {
	if start >= end {
		return dst
	}
	i := 0
	for i+1 < len(pieces) && pieces[i+1].Start <= start {
		i++
	}
	j := i
	for j < len(pieces) && pieces[j].Start < end {
		j++
	}
	if i == j {
		return dst
	}
	first := pieces[i]
	if first.Start < start {
		first.Off += start - first.Start
		first.Start = start
	}
	first.Start += to - start
	if k := len(dst) - 1; k < 0 || dst[k].Block != first.Block || first.Off-dst[k].Off != first.Start-dst[k].Start {
		dst = append(dst, first) // else it follows the last piece in its block too
	}
	at := len(dst)
	dst = append(dst, pieces[i+1:j]...)
	for to != start && at < len(dst) {
		dst[at].Start += to - start
		at++
	}
	return dst
}

// fit widens the stored spans of row y, so that it does not fall into too many pieces. It returns
// their number. The moved spans are not needed if the first one is the whole row.
func (p *Places) fit(y int, moved []Moved, stored *[MaxSpans]Span, n int) int {
	length := int32(p.layout.Rows[y].Bytes)
	if len(moved) == 0 && int(p.rows[y].N)+2*n <= fewPieces { // each span adds at most two
		return n
	}
	p.preview(y, length, moved, stored[:n])
	switch {
	case len(p.made) <= fewPieces || len(p.made) <= MaxPieces && (len(moved) > 0 || p.rows[y].N > fewPieces):
		return n
	case len(moved) == 0 && p.rows[y].N <= fewPieces:
		stored[0] = Span{0, length}
		return 1
	}
	end := func(i int) int32 {
		if i+1 < len(p.made) {
			return p.made[i+1].Start
		}
		return length
	}
	// The shortest run of pieces that leaves half of those that are allowed.
	window := len(p.made) - MaxPieces/2
	wide := Span{0, length}
	for i := 0; i+window < len(p.made); i++ {
		if s := (Span{p.made[i].Start, end(i + window)}); s.End-s.Start < wide.End-wide.Start {
			wide = s
		}
	}
	n = include(stored, n, wide)
	p.preview(y, length, moved, stored[:n])
	if len(p.made) > MaxPieces {
		stored[0], n = Span{0, length}, 1
	}
	return n
}

// preview puts row y together as the next frame would have it.
func (p *Places) preview(y int, length int32, moved []Moved, stored []Span) {
	p.begin(p.rows[y].pieces())
	for _, m := range moved {
		p.replace(m.Span, length, p.rows[y+int(m.Row)].pieces(), m.Start+m.Byte)
	}
	for i, s := range stored {
		next := [1]Piece{{Block: int64(-1 - i)}}
		p.replace(s, length, next[:], 0)
	}
}

// include adds a span to ascending ones. Those that it meets become one with it. If there are too
// many, the last two become one.
func include(spans *[MaxSpans]Span, n int, wide Span) int {
	var all [MaxSpans + 1]Span
	k := 0
	placed := false
	for _, s := range spans[:n] {
		switch {
		case s.End < wide.Start:
		case s.Start > wide.End:
			if !placed {
				all[k] = wide
				k++
				placed = true
			}
		default:
			wide.Start, wide.End = min(wide.Start, s.Start), max(wide.End, s.End)
			continue
		}
		all[k] = s
		k++
	}
	if !placed {
		all[k] = wide
		k++
	}
	if k > MaxSpans {
		all[MaxSpans-1].End = all[MaxSpans].End
		k = MaxSpans
	}
	copy(spans[:], all[:k])
	return k
}

// Of reports whether the places are those of frames of layout l.
func (p *Places) Of(l *frame.Layout) bool { return p.layout == l }

// Cover calls take with each part of a span of row y: a piece cut to the span, and its length. It
// does not call it if the row is unknown.
func (p *Places) Cover(y int, s Span, take func(q Piece, n int32)) {
	row := p.rows[y].pieces()
	for i, q := range row {
		end := s.End
		if i+1 < len(row) {
			end = min(end, row[i+1].Start)
		}
		if start := max(q.Start, s.Start); start < end {
			take(Piece{q.Block, q.Off + start - q.Start, start}, end-start)
		}
	}
}
