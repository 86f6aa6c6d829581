package recording

import (
	"slices"

	"github.com/eideticker/eideticker/codec/rowdelta"
)

// liveBlocks are the blocks that the last frame's rows may refer to, with their sizes.
type liveBlocks struct {
	ids  []int64 // ascending
	raws []int
	live []bool
}

func (b *liveBlocks) reset() { b.ids, b.raws = b.ids[:0], b.raws[:0] }

func (b *liveBlocks) add(id int64, raw int) {
	b.ids = append(b.ids, id)
	b.raws = append(b.raws, raw)
}

// keep removes all blocks without a row. It returns the rest, which stays valid until the next
// call, and their size.
func (b *liveBlocks) keep(p *rowdelta.Places, rows int) (ids []int64, raw int) {
	b.live = slices.Grow(b.live[:0], len(b.ids))[:len(b.ids)]
	clear(b.live)
	last := -1
	for y := range rows {
		place := p.Row(y)
		for _, piece := range place.Pieces[:place.N] {
			if last < 0 || b.ids[last] != piece.Block {
				last, _ = slices.BinarySearch(b.ids, piece.Block)
			}
			b.live[last] = true
		}
	}
	n := 0
	for i, live := range b.live {
		if live {
			b.ids[n], b.raws[n] = b.ids[i], b.raws[i]
			raw += b.raws[n]
			n++
		}
	}
	b.ids, b.raws = b.ids[:n], b.raws[:n]
	return b.ids, raw
}
