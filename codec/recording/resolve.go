package recording

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// resolver finds where the rows of one frame lie: from the checkpoint before it, through the deltas
// since, without touching a pixel. Then it fetches just the blocks that hold a row of the frame.
type resolver struct {
	layout *frame.Layout
	places *rowdelta.Places
	delta  rowdelta.Delta
	head   frameHead
	blocks []blockInfo

	// The places are those of frame at, made from checkpoint since; none if known is false.
	known     bool
	at, since int
	hashed    uint64 // of frame at

	needed []blockInfo   // those that hold a row of the frame
	memory []blockMemory // of each goroutine

	wanted []wantedRow   // rows that are asked for
	asked  []askedPiece  // their pieces
	pieces []wantedPiece // the same by block
	first  []int32       // of each block: its first piece
	bases  []basePiece   // of all blocks of differences, in order of blocks and of bytes

	hashes []uint64
	sum    []byte
}

// blockMemory holds one block, as it is stored and unpacked.
type blockMemory struct{ stored, raw []byte }

// wantedRow is a row and where its bytes are to be put.
type wantedRow struct{ y, to int }

// wantedPiece is a part of the frame and its place in its block.
type wantedPiece struct {
	to, off, n int32
}

// askedPiece is a wanted piece and its block.
type askedPiece struct {
	block int32
	wantedPiece
}

// Image returns frame n. The bytes are a copy of their own. The decoded frame is held against the
// hash of the frame that was captured.
func (r *Reader) Image(n int) (frame.Image, error) {
	var pix []byte
	layout, err := r.decode(n, func(size int) ([]byte, error) {
		pix = make([]byte, size)
		return pix, nil
	})
	if err != nil {
		return frame.Image{}, err
	}
	return layout.View(pix), nil
}

// ReadFrame is [Reader.Image] into the caller's memory: pix must hold the Layout.Size bytes of the
// frame's segment.
func (r *Reader) ReadFrame(n int, pix []byte) error {
	_, err := r.decode(n, func(size int) ([]byte, error) {
		if len(pix) < size {
			return nil, fmt.Errorf("needs %d bytes, got %d", size, len(pix))
		}
		return pix[:size], nil
	})
	return err
}

// decode puts frame n into memory that it asks for once it knows that the frame can be put
// together.
func (r *Reader) decode(n int, memory func(size int) ([]byte, error)) (*frame.Layout, error) {
	v, err := r.resolver(n)
	if err != nil {
		return nil, err
	}
	defer r.resolvers.Put(v)
	layout := v.layout
	v.wanted = v.wanted[:0]
	for y := range layout.Rows {
		v.wanted = append(v.wanted, wantedRow{y, layout.Rows[y].Offset})
	}
	hash, err := r.resolve(v, n)
	var pix []byte
	if err == nil {
		pix, err = memory(layout.Size)
	}
	if err == nil {
		err = r.assemble(v, pix)
	}
	if err == nil && v.hash(pix) != hash {
		err = &CorruptError{r.frames[n].offset, "decoded frame is not the one that was captured"}
	}
	if err != nil {
		return nil, fmt.Errorf("frame %d: %w", n, err)
	}
	return layout, nil
}

// Rows returns some rows of frame n. rows are numbers in its [frame.Layout], in ascending order.
// The image has nil in place of all others. It reads only the blocks of these rows. It checks each
// block's checksum. Unlike [Reader.Image], it cannot check the whole frame's hash. The caller owns
// the bytes.
func (r *Reader) Rows(n int, rows []int) (frame.Image, error) {
	v, err := r.resolver(n)
	if err != nil {
		return frame.Image{}, err
	}
	defer r.resolvers.Put(v)
	v.wanted = v.wanted[:0]
	size, above := 0, -1
	for _, y := range rows {
		if y <= above || y >= len(v.layout.Rows) {
			return frame.Image{}, fmt.Errorf("frame %d: row %d behind row %d is not one of %d in ascending order", n,
				y, above, len(v.layout.Rows))
		}
		v.wanted = append(v.wanted, wantedRow{y, size})
		size, above = size+v.layout.Rows[y].Bytes, y
	}
	pix := make([]byte, size)
	if _, err = r.resolve(v, n); err == nil {
		err = r.assemble(v, pix)
	}
	if err != nil {
		return frame.Image{}, fmt.Errorf("frame %d: %w", n, err)
	}
	m := frame.Image{Layout: v.layout, Rows: make([][]byte, len(v.layout.Rows))}
	for _, w := range v.wanted {
		end := w.to + v.layout.Rows[w.y].Bytes
		m.Rows[w.y] = pix[w.to:end:end]
	}
	return m, nil
}

// resolver returns one for frame n, to be put back.
func (r *Reader) resolver(n int) (*resolver, error) {
	if n < 0 || n >= len(r.frames) {
		return nil, r.outside(n)
	}
	if r.frames[n].offset == 0 {
		return nil, r.lost(n)
	}
	layout := r.segments[r.segmentIndex(n)].Layout
	v, _ := r.resolvers.Get().(*resolver)
	if v == nil || v.layout != layout {
		v = &resolver{layout: layout, places: rowdelta.NewPlaces(layout), hashes: make([]uint64, len(layout.Rows)),
			sum: make([]byte, 8*len(layout.Rows))}
	}
	return v, nil
}

// hash is the rowdelta.FrameHash of a decoded frame.
func (v *resolver) hash(pix []byte) uint64 {
	for y := range v.hashes {
		v.hashes[y] = rowdelta.RowHash(v.layout.Row(pix, y))
	}
	return rowdelta.SumRowHashes(v.hashes, v.sum)
}

// resolve fills v with the places of frame n and returns the frame's hash. It goes on from the
// frame that v was filled with before, if both have the same checkpoint. So frames in ascending
// order cost each change once.
func (r *Reader) resolve(v *resolver, n int) (hash uint64, err error) {
	seg := r.segmentIndex(n)
	since := sort.Search(len(r.checkpoints), func(i int) bool { return r.checkpoints[i].number > uint64(n) }) - 1
	start, hash := v.at+1, v.hashed
	var damaged error
	goesOn := v.known && v.since == since && v.at <= n && v.at >= r.segments[seg].First
	v.known = false // until all was read
	if !goesOn {
		if start, hash, damaged, err = r.nearest(v, seg, since); err != nil {
			return 0, err
		}
	}
	if hash, err = r.advance(v, start, n, hash, damaged); err == nil {
		v.known, v.at, v.since, v.hashed = true, n, since, hash
	}
	return hash, err
}

// nearest fills v with the places of a checkpoint. If that is damaged, it takes an earlier one of
// the segment. start is the frame after it, or the segment's first one.
func (r *Reader) nearest(v *resolver, seg, i int) (start int, hash uint64, damaged, err error) {
	start = r.segments[seg].First
	v.places.Forget()
	v.blocks, v.bases = v.blocks[:0], v.bases[:0]
	for ; i >= 0 && r.checkpoints[i].segment == seg && r.checkpoints[i].number >= uint64(start); i-- {
		c := &r.checkpoints[i]
		if v.blocks, err = r.table(c, v.places, v.layout, v.blocks[:0]); err == nil {
			return int(c.number) + 1, c.hash, damaged, nil
		}
		if damaged = err; !isCorrupt(err) {
			return 0, 0, nil, err
		}
		v.places.Forget()
		v.blocks = v.blocks[:0]
	}
	return start, 0, damaged, nil
}

// advance applies the changes of frames from start to n. damaged is why an earlier checkpoint had
// to be taken, or nil.
func (r *Reader) advance(v *resolver, start, n int, hash uint64, damaged error) (uint64, error) {
	lost := -2 // the last frame on the way that is
	for k := start; k <= n; k++ {
		if r.frames[k].offset == 0 { // its changes are unknown, so everything is
			if lost != k-1 {
				v.places.Forget()
			}
			lost = k
			continue
		}
		if err := r.frameHead(k, &v.head); err != nil {
			return 0, err
		}
		hash = v.head.hash
		if err := r.parseDelta(k, &v.head, &v.delta, v.layout); err != nil {
			return 0, err
		}
		if err := v.noteBases(); err != nil {
			return 0, &CorruptError{r.frames[k].offset, err.Error()}
		}
		if !v.places.Apply(&v.delta, int64(len(v.blocks))) {
			return 0, &CorruptError{r.frames[k].offset, "frame scatters a row over too many blocks"}
		}
		v.blocks = append(v.blocks, v.head.blocks...)
	}
	if !v.places.Known() {
		if lost >= 0 {
			damaged = r.lost(lost)
		}
		if damaged == nil {
			damaged = &CorruptError{r.frames[n].offset, "rows of it were never stored"}
		}
		return 0, damaged
	}
	return hash, nil
}

func isCorrupt(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt)
}

// parseDelta parses a frame's delta and holds it against the frame's block list.
func (r *Reader) parseDelta(n int, h *frameHead, d *rowdelta.Delta, l *frame.Layout) error {
	if err := d.Parse(h.delta, l); err != nil {
		return &CorruptError{r.frames[n].offset, err.Error()}
	}
	raw := 0
	for _, b := range h.blocks {
		raw += int(b.raw)
	}
	if raw != d.Raw {
		return &CorruptError{r.frames[n].offset, fmt.Sprintf("frame stores %d bytes of pixels, its delta needs %d", raw,
			d.Raw)}
	}
	if d.Raw == 0 {
		return nil
	}
	block, size := int32(0), uint32(0)
	for w := d.Walk(); ; {
		more := w.Next()
		if !more || w.Block != block {
			if int(block) >= len(h.blocks) || h.blocks[block].raw != size {
				return &CorruptError{r.frames[n].offset,
					fmt.Sprintf("block %d of the frame has not the size that its delta says", block)}
			}
			if !more {
				return nil
			}
			block = w.Block
		}
		size = uint32(w.Off + w.End - w.Start)
	}
}

// assemble fetches the blocks that v needs and puts their pieces into pix. Pieces of blocks of
// differences are sums: what they differ from is added, level by level.
func (r *Reader) assemble(v *resolver, pix []byte) error {
	v.ask()
	for level := 0; len(v.asked) > 0; level++ {
		if err := r.assembleLevel(v, pix, level > 0); err != nil {
			return err
		}
		if len(v.bases) == 0 {
			return nil
		}
		if at, err := v.askBases(); err != nil {
			return &CorruptError{at, err.Error()}
		}
		if level == rowdelta.MaxChain && len(v.asked) > 0 {
			return &CorruptError{v.blocks[v.asked[0].block].offset,
				fmt.Sprintf("more than %d blocks of differences one after another", rowdelta.MaxChain)}
		}
	}
	return nil
}

// assembleLevel puts the asked pieces into pix, or adds them.
func (r *Reader) assembleLevel(v *resolver, pix []byte, add bool) error {
	v.sortPieces()
	v.needed = v.needed[:0]
	for i, b := range v.blocks {
		if v.first[i] < v.first[i+1] {
			v.needed = append(v.needed, b)
		}
	}
	r.hintBlocks(v.needed)
	var next atomic.Int32
	var once sync.Once
	var failed error
	work := func(m *blockMemory) {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(v.blocks) {
				return
			}
			pieces := v.pieces[v.first[i]:v.first[i+1]]
			if len(pieces) == 0 {
				continue
			}
			b := v.blocks[i]
			m.raw = slices.Grow(m.raw[:0], int(b.raw))[:b.raw]
			var err error
			if b.offset > r.size-int64(b.stored) {
				err = &CorruptError{b.offset, "block lies behind the end of the file"}
			} else {
				m.stored, err = r.readBlock(b, m.raw, m.stored)
			}
			if err != nil {
				once.Do(func() { failed = err })
				next.Store(int32(len(v.blocks)))
				return
			}
			for _, p := range pieces {
				if add {
					rowdelta.Add(pix[p.to:p.to+p.n], m.raw[p.off:])
				} else {
					copy(pix[p.to:p.to+p.n], m.raw[p.off:])
				}
			}
		}
	}
	var wg sync.WaitGroup
	for len(v.memory) < min(runtime.GOMAXPROCS(0), len(v.needed)) {
		v.memory = append(v.memory, blockMemory{})
	}
	for i := 1; i < min(len(v.memory), len(v.needed)); i++ {
		wg.Go(func() { work(&v.memory[i]) })
	}
	if len(v.needed) > 0 {
		work(&v.memory[0])
	}
	wg.Wait()
	return failed
}

// ask lists the pieces of the wanted rows.
func (v *resolver) ask() {
	v.asked = v.asked[:0]
	for _, w := range v.wanted {
		p := v.places.Row(w.y)
		for k, q := range p.Pieces[:p.N] {
			end := int32(v.layout.Rows[w.y].Bytes)
			if k+1 < int(p.N) {
				end = p.Pieces[k+1].Start
			}
			v.asked = append(v.asked,
				askedPiece{int32(q.Block), wantedPiece{int32(w.to) + q.Start, q.Off, end - q.Start}})
		}
	}
}

// sortPieces lists the asked pieces by block.
func (v *resolver) sortPieces() {
	n := len(v.blocks)
	if cap(v.first) < n+2 {
		v.first = make([]int32, n+2, 2*n+2)
	}
	v.first = v.first[:n+2]
	clear(v.first)
	for i := range v.asked {
		v.first[v.asked[i].block+2]++
	}
	for i := 2; i < len(v.first); i++ {
		v.first[i] += v.first[i-1]
	}
	v.pieces = slices.Grow(v.pieces[:0], len(v.asked))[:len(v.asked)]
	for _, a := range v.asked {
		at := &v.first[a.block+1]
		v.pieces[*at] = a.wantedPiece
		*at++
	}
}
