package recording

import (
	"errors"
	"fmt"
	"sort"

	"github.com/eideticker/eideticker/codec/rowdelta"
)

// maxBases is how many pieces the blocks of differences after a checkpoint may differ from. It
// bounds a reader's memory.
const maxBases = 1 << 20

// maxAsked is how many pieces of one level there may be. Few rows may have as many as a frame: the
// pieces of a row may come from as many others.
func (v *resolver) maxAsked() int {
	return max(maxBases, rowdelta.MaxPieces*rowdelta.MaxChain*len(v.wanted))
}

// basePiece is a part of a block of differences and the bytes that it differs from.
type basePiece struct {
	block, off, n  int32
	from, fromByte int32 // the other block and the first byte in it
}

// noteBases adds the bases of the current delta's blocks. The places are those of the frame before.
// Bytes that are unknown there have no base.
func (v *resolver) noteBases() error {
	if !differences(v.head.blocks) {
		return nil
	}
	first := int32(len(v.blocks))
	for w := v.delta.Walk(); w.Next(); {
		if v.head.blocks[w.Block].kind != rowdelta.Difference {
			continue
		}
		v.places.Cover(int(w.Row), w.Span, func(q rowdelta.Piece, n int32) {
			v.bases = append(v.bases, basePiece{first + w.Block, w.Off + q.Start - w.Start, n, int32(q.Block), q.Off})
		})
		if len(v.bases) > maxBases {
			return fmt.Errorf("blocks of differences from more than %d pieces", maxBases)
		}
	}
	return nil
}

func differences(blocks []blockInfo) bool {
	for i := range blocks {
		if blocks[i].kind == rowdelta.Difference {
			return true
		}
	}
	return false
}

// askBases replaces the asked pieces by what they differ from. An error comes with the offset of
// the block that has none.
func (v *resolver) askBases() (int64, error) {
	was := len(v.asked)
	for i := range was {
		a := v.asked[i]
		if v.blocks[a.block].kind != rowdelta.Difference {
			continue
		}
		k := sort.Search(len(v.bases), func(k int) bool {
			b := &v.bases[k]
			return b.block > a.block || b.block == a.block && b.off+b.n > a.off
		})
		for end := a.off + a.n; a.off < end; k++ {
			if k == len(v.bases) || v.bases[k].block != a.block || v.bases[k].off > a.off {
				return v.blocks[a.block].offset, errors.New("block of differences from unknown bytes")
			}
			b := &v.bases[k]
			skip := a.off - b.off
			n := min(end-a.off, b.n-skip)
			v.asked = append(v.asked, askedPiece{b.from, wantedPiece{a.to, b.fromByte + skip, n}})
			a.off, a.to = a.off+n, a.to+n
		}
		if len(v.asked)-was > v.maxAsked() {
			return v.blocks[a.block].offset, errors.New("block of differences from too many pieces")
		}
	}
	v.asked = append(v.asked[:0], v.asked[was:]...)
	return 0, nil
}
