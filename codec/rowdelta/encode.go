package rowdelta

import (
	"bytes"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/eideticker/eideticker/capture/frame"
)

// Encoder compares each frame with the one before. It remembers the hash of every row of the last
// frame, not its bytes: those the caller keeps until the next frame has been compared.
type Encoder struct {
	layout *frame.Layout
	places *Places // to keep rows from falling into too many pieces

	hashes, before []uint64 // of the rows of the last frame and of the one before it
	hash           uint64
	rows           rowTable
	sum            []byte
	shift          int32 // where the last copied row was found, relative to it
	moves          mover

	own *Scan // for those who do not bring one

	widened bool
	wide    Delta
}

// NewEncoder returns an encoder for frames of one layout that keeps places up to date.
func NewEncoder(l *frame.Layout) *Encoder {
	n := len(l.Rows)
	return &Encoder{
		layout: l,
		places: NewPlaces(l),
		hashes: make([]uint64, n),
		before: make([]uint64, n),
		rows:   newRowTable(n),
		sum:    make([]byte, 8*n),
		moves:  newMover(l),
		own:    NewScan(l),
	}
}

// Places tells where each row of the last frame lies. It is the encoder's own; copy it with
// [Places.CopyFrom].
func (e *Encoder) Places() *Places { return e.places }

// Encode fills d with the difference of cur from prev, both whole frames, and returns cur's
// [FrameHash]. A nil prev stores every row. firstBlock is the number that the first block of this
// delta will have.
func (e *Encoder) Encode(prev, cur []byte, d *Delta, firstBlock int64) uint64 {
	if prev != nil {
		e.own.Begin(e.Shift())
		e.own.Rows(prev, cur, 0, len(e.layout.Rows))
	}
	return e.EncodeScanned(prev, cur, e.own, d, firstBlock)
}

// SetWide selects whether neighbouring rows of busy frames store the same bytes. They do so only
// where it costs little. Predictions need such rows.
func (e *Encoder) SetWide(on bool) { e.widened = on }

// busy is the least part of a frame that a widened delta stores: one in so many.
const busy = 32

// Shift is by how many rows the picture was last seen to move, for [Scan.Begin].
func (e *Encoder) Shift() int32 { return e.shift }

// EncodeScanned is [Encoder.Encode] for a frame of which s has compared every row with prev. With a
// nil prev s is not used.
func (e *Encoder) EncodeScanned(prev, cur []byte, s *Scan, d *Delta, firstBlock int64) uint64 {
	d.reset()
	if prev == nil {
		e.storeAll(cur, d)
	} else {
		e.compare(prev, cur, s, d)
		if e.widened && d.Raw > e.layout.Size/busy {
			e.places.Widen(d, &e.wide)
			*d, e.wide = e.wide, *d
		}
	}
	if !d.Still() {
		e.hash = sumHashes(e.hashes, e.sum)
		e.places.Apply(d, firstBlock)
	}
	return e.hash
}

// Restore fills d with all rows of the last frame, so that its places become those of one delta.
func (e *Encoder) Restore(cur []byte, d *Delta, firstBlock int64) {
	d.reset()
	e.storeAll(cur, d)
	e.hash = sumHashes(e.hashes, e.sum)
	e.places.Apply(d, firstBlock)
}

// Intact reports whether the last frame still has the hash that was encoded. If not, its memory was
// overwritten or is faulty. Later frames that were found equal to it are then wrong.
func (e *Encoder) Intact(cur []byte) bool {
	for y, h := range e.hashes {
		if xxh3.Hash(e.layout.Row(cur, y)) != h {
			return false
		}
	}
	return true
}

func (e *Encoder) storeAll(cur []byte, d *Delta) {
	for y := range e.layout.Rows {
		d.cut = e.newLength(y)
		row := e.layout.Row(cur, y)
		e.hashes[y] = xxh3.Hash(row)
		stored := [1]Span{{0, int32(len(row))}}
		seen := [1]Span{{0, int32(e.layout.Rows[y].Seen)}}
		d.addNew(int32(y), nil, stored[:], seen[:])
	}
}

// newLength reports whether row y has another length than the row above; a run never holds both.
func (e *Encoder) newLength(y int) bool {
	return y > 0 && e.layout.Rows[y].Bytes != e.layout.Rows[y-1].Bytes
}

// equals reports whether row src of prev, if there is one, equals row. Rows are confirmed by their
// bytes, never by a hash alone.
func equals(l *frame.Layout, prev []byte, src int, row []byte) bool {
	return src >= 0 && src < len(l.Rows) && bytes.Equal(l.Row(prev, src), row)
}

// compare makes the delta of a scanned frame.
func (e *Encoder) compare(prev, cur []byte, s *Scan, d *Delta) {
	l := e.layout
	changed := false
	for y := range l.Rows {
		if s.rows[y].found == same {
			d.addSame(int32(y), 1)
			if changed {
				e.hashes[y] = e.before[y]
			}
			continue
		}
		if !changed {
			changed = true
			e.hashes, e.before = e.before, e.hashes
			copy(e.hashes[:y], e.before[:y])
			e.rows.reset()
			e.moves.begin()
		}
		d.cut = e.newLength(y)
		if s.rows[y].found == moved {
			src := y + int(s.shift)
			e.hashes[y] = e.before[src]
			d.addCopied(int32(y), int32(src), s.rows[y].seen)
			continue
		}
		e.addChanged(prev, cur, y, s.shift, d)
	}
}

// addChanged adds a row that is neither what it was nor what lay the tried shift away.
func (e *Encoder) addChanged(prev, cur []byte, y int, tried int32, d *Delta) {
	a, b := e.layout.Row(prev, y), e.layout.Row(cur, y)
	if src, ok := e.find(prev, b, int32(y), tried); ok {
		start, end, _ := outerDiff(a, b)
		start, end, _ = e.layout.Tighten(y, a, b, start, end)
		d.addCopied(int32(y), src, Span{int32(start), int32(end)})
		return
	}
	e.storeChanges(prev, y, a, b, d)
}

// find returns a row of prev that equals row y of the new frame, and notes the row's hash. It first
// tries the row at the distance of the last found one, without hashing. While a page scrolls,
// nearly all rows match there.
func (e *Encoder) find(prev, row []byte, y, tried int32) (int32, bool) {
	if src := y + e.shift; e.shift != tried && equals(e.layout, prev, int(src), row) {
		e.hashes[y] = e.before[src]
		return src, true
	}
	h := xxh3.Hash(row)
	e.hashes[y] = h
	src := e.rows.find(h, e.before)
	if src < 0 || !equals(e.layout, prev, int(src), row) {
		return 0, false
	}
	e.shift = src - y
	return src, true
}

// storeChanges adds row y, which was a and is b.
func (e *Encoder) storeChanges(prev []byte, y int, a, b []byte, d *Delta) {
	var stored, seen [MaxSpans]Span
	n := diffSpans(a, b, &stored)
	changed := append(make([]Span, 0, MaxSpans), stored[:n]...)
	moved, n := e.moves.find(prev, y, a, b, &stored, n)
	n = e.places.fit(y, moved, &stored, n)
	if len(moved) == 0 {
		changed = stored[:n]
	}
	m := 0
	for _, s := range changed {
		start, end, any := e.layout.Tighten(y, a, b, int(s.Start), int(s.End))
		if any {
			seen[m] = Span{int32(start), int32(end)}
			m++
		}
	}
	if n > 0 && int(stored[0].End-stored[0].Start) == len(b) {
		moved = nil
	}
	d.addNew(int32(y), moved, stored[:n], seen[:m])
}

// FrameHash is the hash that compares a decoded frame with the captured one. It is XXH3-64 over the
// little-endian XXH3-64 hashes of all rows. Rows include padding and are in order of
// [frame.Layout.Rows].
func FrameHash(m frame.Image) uint64 {
	hashes := make([]uint64, len(m.Rows))
	for y, row := range m.Rows {
		hashes[y] = xxh3.Hash(row)
	}
	return sumHashes(hashes, make([]byte, 8*len(hashes)))
}

// RowHash is one row's part of a [FrameHash].
func RowHash(row []byte) uint64 { return xxh3.Hash(row) }

// SumRowHashes is [FrameHash] for rows whose hashes are known. buf must hold 8 bytes a row.
func SumRowHashes(hashes []uint64, buf []byte) uint64 { return sumHashes(hashes, buf) }

func sumHashes(hashes []uint64, buf []byte) uint64 {
	for i, h := range hashes {
		binary.LittleEndian.PutUint64(buf[8*i:], h)
	}
	return xxh3.Hash(buf[:8*len(hashes)])
}
