package rowdelta

import "github.com/eideticker/eideticker/capture/frame"

// MaxPieces is into how many pieces a row may fall before it is stored as a whole.
const MaxPieces = 8

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
	layout     *frame.Layout
	rows, were []Place
}

// NewPlaces returns places that are all unknown.
func NewPlaces(l *frame.Layout) *Places {
	return &Places{layout: l, rows: make([]Place, len(l.Rows)), were: make([]Place, len(l.Rows))}
}

// Row returns the place of row y, to read it or, while a table is loaded, to fill it.
func (p *Places) Row(y int) *Place { return &p.rows[y] }

// Forget makes all rows unknown.
func (p *Places) Forget() { clear(p.rows) }

// CopyFrom makes p equal to q, which has the same layout.
func (p *Places) CopyFrom(q *Places) { copy(p.rows, q.rows) }

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
	for i := range d.Runs {
		if d.Runs[i].Kind == Copied {
			p.move(d)
			break
		}
	}
	ok := true
	for w := d.Walk(); w.Next(); {
		length := int32(p.layout.Rows[w.Row].Bytes)
		piece := Piece{Block: firstBlock + int64(w.Block), Off: w.Off, Start: w.Start}
		ok = p.rows[w.Row].overlay(piece, w.End, length) && ok
	}
	return ok
}

// move carries out all copies at once, since a source may be another copy's destination.
func (p *Places) move(d *Delta) {
	copy(p.were, p.rows)
	for i := range d.Runs {
		if r := &d.Runs[i]; r.Kind == Copied {
			copy(p.rows[r.Row:r.Row+r.Rows], p.were[r.Src:r.Src+r.Rows])
		}
	}
}

// overlay replaces bytes [piece.Start, end) of a row of the given length.
func (p *Place) overlay(piece Piece, end, length int32) bool {
	if piece.Start == 0 && end == length {
		p.N = 1
		p.Pieces[0] = piece
		return true
	}
	if p.N == 0 {
		return true // still unknown
	}
	was := *p
	n := int32(0)
	for n < was.N && was.Pieces[n].Start < piece.Start {
		n++
	}
	p.N = n // pieces that start before are cut by what follows
	if !p.push(piece) {
		return false
	}
	// The piece under end goes on behind it.
	last := was.N - 1
	for last > 0 && was.Pieces[last].Start > end {
		last--
	}
	if end < length {
		q := was.Pieces[last]
		q.Off += end - q.Start
		q.Start = end
		if !p.push(q) {
			return false
		}
	}
	for _, q := range was.Pieces[last+1 : was.N] {
		if !p.push(q) {
			return false
		}
	}
	return true
}

func (p *Place) push(q Piece) bool {
	if p.N == MaxPieces {
		p.N = 0
		return false
	}
	p.Pieces[p.N] = q
	p.N++
	return true
}

// fits reports whether row y could take the spans without falling into too many pieces.
func (p *Places) fits(y int, spans []Span) bool {
	place := p.rows[y]
	for _, s := range spans {
		if !place.overlay(Piece{Block: -1, Start: s.Start}, s.End, int32(p.layout.Rows[y].Bytes)) {
			return false
		}
	}
	return true
}

// Of reports whether the places are those of frames of layout l.
func (p *Places) Of(l *frame.Layout) bool { return p.layout == l }
