package recording

import (
	"slices"

	"github.com/eideticker/eideticker/codec/rowdelta"
)

// row is the bytes of one row, shared by all frames in which it is the same.
type row struct {
	b    []byte
	refs int32
	hash uint64

	// How it was made of the row that stood there before.
	made    int // the frame, as counted in Player.shown
	place   int32
	spans   [rowdelta.MaxSpans]rowdelta.Span // all in which the two differ
	changes int8                             // how many
}

type rowPool struct{ free []*row }

func (p *rowPool) get(n int) *row {
	if k := len(p.free); k > 0 {
		r := p.free[k-1]
		p.free = p.free[:k-1]
		r.refs, r.made = 1, 0
		if cap(r.b) < n {
			r.b = make([]byte, n)
		}
		r.b = r.b[:n]
		return r
	}
	return &row{b: make([]byte, n), refs: 1}
}

func (p *rowPool) put(r *row) {
	if r == nil {
		return
	}
	if r.refs--; r.refs == 0 {
		p.free = append(p.free, r)
	}
}

// advance updates p.now from p.before and the delta, except for the stored bytes. p.now held the
// rows of the frame before p.before.
func (p *Player) advance(d *rowdelta.Delta) {
	for i := range d.Runs {
		run := &d.Runs[i]
		switch run.Kind {
		case rowdelta.Same:
			for y := run.Row; y < run.Row+run.Rows; y++ {
				p.share(y, p.before[y])
			}
		case rowdelta.Copied:
			for k := range run.Rows {
				p.share(run.Row+k, p.before[run.Src+k])
			}
		case rowdelta.New:
			moved := d.MovedSpans(run)
			for y := run.Row; y < run.Row+run.Rows; y++ {
				if len(moved) > 0 {
					p.compose(y, moved)
				} else {
					p.renew(y, d.StoredSpans(run))
				}
			}
		}
	}
}

func (p *Player) fill(rows int) error {
	for p.more && int(p.walk.Row) < rows {
		if err := p.fillBlock(); err != nil {
			return err
		}
	}
	return nil
}

// fillBlock puts the next block into its rows.
func (p *Player) fillBlock() error {
	block := p.walk.Block
	b := &p.current.head.blocks[block]
	var from []byte
	if p.current.ahead {
		from = p.current.raw[p.fetched:]
		p.fetched += int(b.raw)
	} else {
		p.block = slices.Grow(p.block[:0], int(b.raw))[:b.raw]
		from = p.block
		if err := p.blocks.read(p.r, b, from); err != nil {
			return err
		}
	}
	for p.more && p.walk.Block == block {
		w := &p.walk
		to := p.now[w.Row].b[w.Start:w.End]
		copy(to, from[w.Off:])
		if b.kind == rowdelta.Difference {
			if p.before[w.Row] == nil {
				return &CorruptError{b.offset, "block of differences from unknown bytes"}
			}
			rowdelta.Add(to, p.before[w.Row].b[w.Start:])
		}
		p.more = w.Next()
	}
	return nil
}

func (p *Player) share(y int32, r *row) {
	if p.now[y] == r {
		return
	}
	if r != nil {
		r.refs++
	}
	p.rows.put(p.now[y])
	p.now[y] = r
}

// renew gives row y memory of its own with its old content. It leaves out the spans that are about
// to be written. If the frame before was made in the same way, the row before it already has that
// content. Only the changes in between differ. So a video copies no bytes.
func (p *Player) renew(y int32, spans []rowdelta.Span) {
	old, r := p.before[y], p.now[y]
	n := p.layout.Rows[y].Bytes
	if old == nil && (len(spans) != 1 || int(spans[0].End-spans[0].Start) != n) {
		p.rows.put(r)
		p.now[y] = nil
		return
	}
	if r != nil && r.refs == 1 && old != nil && old.made == p.shown-1 && old.place == y {
		for _, s := range old.spans[:old.changes] {
			copyBetween(r.b, old.b, s, spans)
		}
	} else {
		p.rows.put(r)
		r = p.rows.get(n)
		if old != nil {
			copyBetween(r.b, old.b, rowdelta.Span{End: int32(n)}, spans)
		}
	}
	r.made, r.place, r.changes = p.shown, y, int8(copy(r.spans[:], spans))
	p.now[y] = r
}

// compose gives row y memory of its own with its old content and the parts that moved into it.
func (p *Player) compose(y int32, moved []rowdelta.Moved) {
	p.rows.put(p.now[y])
	p.now[y] = nil
	old := p.before[y]
	for _, m := range moved {
		if old == nil || p.before[y+m.Row] == nil {
			return
		}
	}
	r := p.rows.get(p.layout.Rows[y].Bytes)
	at := int32(0)
	for _, m := range moved {
		copy(r.b[at:m.Start], old.b[at:])
		copy(r.b[m.Start:m.End], p.before[y+m.Row].b[m.Start+m.Byte:])
		at = m.End
	}
	copy(r.b[at:], old.b[at:])
	p.now[y] = r
}

// copyBetween copies what of a range lies outside of the spans.
func copyBetween(dst, src []byte, in rowdelta.Span, spans []rowdelta.Span) {
	at := in.Start
	for _, s := range spans {
		if end := min(s.Start, in.End); end > at {
			copy(dst[at:end], src[at:end])
		}
		at = max(at, s.End)
	}
	if at < in.End {
		copy(dst[at:in.End], src[at:in.End])
	}
}

// frameHasher keeps the hash of each row, so that only rows that changed are hashed.
type frameHasher struct {
	hashes []uint64
	sum    []byte
}

func newFrameHasher(rows int) *frameHasher {
	return &frameHasher{make([]uint64, rows), make([]byte, 8*rows)}
}

// rehash hashes the rows that a delta stored.
func (h *frameHasher) rehash(d *rowdelta.Delta, rows []*row) {
	for i := range d.Runs {
		if run := &d.Runs[i]; run.Kind == rowdelta.New {
			for _, r := range rows[run.Row : run.Row+run.Rows] {
				if r != nil {
					r.hash = rowdelta.RowHash(r.b)
				}
			}
		}
	}
}

func (h *frameHasher) hash(rows []*row) uint64 {
	for y, r := range rows {
		h.hashes[y] = r.hash
	}
	return rowdelta.SumRowHashes(h.hashes, h.sum)
}
