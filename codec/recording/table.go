package recording

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/codec/rowdelta"
)

// A checkpoint's table has the place of each row of one frame. The first part is the necessary
// blocks. Their number comes first. Each block has the bytes since the previous block's offset, raw
// and stored size, and CRC. The second part is the rows. Each row has its number of pieces. Each
// piece has the block, the offset in it and the start in the row. These are zigzag differences from
// the values that the row above predicts. Adjacent rows thus become runs of equal bytes, which LZ4
// packs well.

// blockTable maps the numbers of blocks to their places in the file.
type blockTable struct {
	ids  []int64 // ascending
	info []blockInfo
}

func (t *blockTable) reset() { t.ids, t.info = t.ids[:0], t.info[:0] }

func (t *blockTable) add(id int64, b blockInfo) {
	t.ids = append(t.ids, id)
	t.info = append(t.info, b)
}

// keep forgets all blocks that are not in live, which ascends, up to live's last.
func (t *blockTable) keep(live []int64) {
	n, k := 0, 0
	for i, id := range t.ids {
		for k < len(live) && live[k] < id {
			k++
		}
		if k < len(live) && live[k] == id {
			t.ids[n], t.info[n] = t.ids[i], t.info[i]
			n++
		}
	}
	t.ids, t.info = t.ids[:n], t.info[:n]
}

// find returns the position of block id.
func (t *blockTable) find(id int64) int {
	i, _ := slices.BinarySearch(t.ids, id)
	return i
}

// rowPredictor expects each row at the distance that the two rows above have.
type rowPredictor struct {
	last rowdelta.Place
	step [rowdelta.MaxPieces]int32
}

func (p *rowPredictor) next(place *rowdelta.Place) {
	for i := range place.N {
		p.step[i] = place.Pieces[i].Off - p.last.Pieces[i].Off
		p.last.Pieces[i] = place.Pieces[i]
	}
}

// appendTable appends the table of places to dst. Block numbers in it count from the table's own
// list.
func (t *blockTable) appendTable(dst []byte, places *rowdelta.Places, rows int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.ids)))
	last := int64(0)
	for _, b := range t.info {
		dst = binary.AppendVarint(dst, b.offset-last)
		last = b.offset
		dst = b.append(dst)
	}
	var p rowPredictor
	at := 0
	for y := range rows {
		place := *places.Row(y)
		dst = binary.AppendUvarint(dst, uint64(place.N))
		for i := range place.N {
			q := &place.Pieces[i]
			if t.ids[at] != q.Block {
				at = t.find(q.Block)
			}
			q.Block = int64(at)
			e := p.last.Pieces[i]
			dst = binary.AppendVarint(dst, q.Block-e.Block)
			dst = binary.AppendVarint(dst, int64(q.Off)-int64(e.Off)-int64(p.step[i]))
			dst = binary.AppendVarint(dst, int64(q.Start)-int64(e.Start))
		}
		p.next(&place)
	}
	return dst
}

// parseTable reads a table into places and returns its blocks, appended to dst. Nothing in src is
// trusted: every piece lies within its block and every block within the first end bytes of the
// file.
func parseTable(src []byte, places *rowdelta.Places, rowBytes func(y int) int, rows int, end int64,
	dst []blockInfo) ([]blockInfo, error) {
	p := headParser{b: src}
	n := p.limited(uint64(min(len(src)/7, rows*rowdelta.MaxPieces)), "number of blocks")
	last := int64(0)
	for range n {
		b := blockInfo{offset: last + p.varint()}
		b.parse(&p)
		if b.kind == rowdelta.Difference {
			p.fail("block of differences in a table")
		}
		if b.offset < dataStart || b.offset > end-int64(b.stored) {
			p.fail(fmt.Sprintf("block at offset %d", b.offset))
		}
		if p.err != nil {
			return dst, p.err
		}
		last = b.offset
		dst = append(dst, b)
	}
	blocks := dst[len(dst)-int(n):]
	var pred rowPredictor
	for y := range rows {
		place := places.Row(y)
		parsePlace(&p, &pred, place, blocks, int32(rowBytes(y)))
		if p.err != nil {
			return dst, fmt.Errorf("row %d: %w", y, p.err)
		}
		pred.next(place)
	}
	return dst, p.done()
}

func parsePlace(p *headParser, pred *rowPredictor, place *rowdelta.Place, blocks []blockInfo, rowBytes int32) {
	place.N = int32(p.limited(rowdelta.MaxPieces, "number of pieces"))
	for i := range place.N {
		e := &pred.last.Pieces[i]
		block := e.Block + p.varint()
		off := int64(e.Off) + int64(pred.step[i]) + p.varint()
		start := int64(e.Start) + p.varint()
		if block < 0 || block >= int64(len(blocks)) || off < 0 || off > maxBlockRaw || start < 0 ||
			start >= int64(rowBytes) {
			p.fail("piece outside its block or row")
			return
		}
		place.Pieces[i] = rowdelta.Piece{Block: block, Off: int32(off), Start: int32(start)}
	}
	for i := range place.N {
		q, end := place.Pieces[i], rowBytes
		if i+1 < place.N {
			end = place.Pieces[i+1].Start
		}
		if i == 0 && q.Start != 0 || end <= q.Start || int64(q.Off)+int64(end-q.Start) > int64(blocks[q.Block].raw) {
			p.fail("pieces do not make up the row")
			return
		}
	}
}
