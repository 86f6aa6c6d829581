package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// PackReport is the result of packing a recording.
type PackReport struct {
	Frames        int
	Before, After int64 // bytes of file
	Packed        bool  // the file was replaced
	Already       bool  // it had been packed before and was left; else it would not become smaller
}

// packedChain is how many blocks of differences a packer makes one after another. More is smaller,
// and slower to read in random order.
const packedChain = 2

// Pack replaces a complete recording by a smaller one with the same id and content. The new file
// takes the place of the old one after both have been decoded and compared. Until then the old file
// is not touched. A file that was packed before is left unless force is set. A progress that is not
// nil gets the done part of the work.
func Pack(ctx context.Context, path string, force bool, progress func(done, total int)) (PackReport, error) {
	var rep PackReport
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return rep, fmt.Errorf("pack recording: %w", err)
	}
	unlock, err := lockFile(path)
	if err != nil {
		return rep, fmt.Errorf("pack %s: %w", path, err)
	}
	defer unlock()
	r, err := Open(path)
	if err != nil {
		return rep, err
	}
	defer r.Close()
	rep = PackReport{Frames: len(r.frames), Before: r.size, After: r.size}
	if r.header.packed && !force {
		rep.Already = true
		return rep, nil
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".packing")
	packed, err := r.packInto(ctx, tmp, progress)
	if err == nil && packed.Size() < rep.Before {
		if err = r.replace(path, tmp, packed); err == nil {
			rep.After, rep.Packed = packed.Size(), true
			return rep, nil
		}
	}
	if rm := os.Remove(tmp); !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	if err != nil {
		return rep, fmt.Errorf("pack %s: %w", path, err)
	}
	return rep, nil
}

// packInto writes a packed copy of the recording and compares the two. It returns the copy's file.
// Until the two are equal, only this user can read the copy.
func (r *Reader) packInto(ctx context.Context, tmp string, progress func(done, total int)) (os.FileInfo, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	total := 2 * len(r.frames)
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) { // a killed program's
		return nil, err
	}
	f, err := createFile(tmp, false, false)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := r.pack(ctx, f, func(done int) { progress(done, total) }); err != nil {
		return nil, err
	}
	packed, err := Open(tmp)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	if err := r.sameAs(ctx, packed, func(done int) { progress(len(r.frames)+done, total) }); err != nil {
		return nil, fmt.Errorf("compare the packed file: %w", err)
	}
	file := packed.closer.(*os.File)
	st, err := r.closer.(*os.File).Stat()
	if err == nil {
		err = keepOwner(file, st)
	}
	if err != nil {
		return nil, err
	}
	return file.Stat()
}

// replace puts the packed copy at tmp in the recording's place. It does not if another file has
// taken either place.
func (r *Reader) replace(path, tmp string, packed os.FileInfo) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	mine, err := r.closer.(*os.File).Stat()
	if err == nil && (!os.SameFile(st, mine) || st.Size() != r.size) {
		err = errors.New("the file was replaced meanwhile")
	}
	now, gone := os.Lstat(tmp)
	if err = errors.Join(err, gone); err == nil && !os.SameFile(now, packed) {
		err = errors.New("another program packs it")
	}
	if err == nil {
		err = errors.Join(r.Close(), os.Rename(tmp, path)) // Windows replaces closed files only
	}
	if err == nil {
		syncFolder(path)
	}
	return err
}

// packer copies a recording and packs its blocks anew.
type packer struct {
	w       *Writer
	workers []*rowdelta.ResidualPacker
	chains  []chain // of all blocks
	bases   int     // pieces that blocks of differences since the last checkpoint differ from
	allowed []allowance
}

// chain is how a block's bytes are the sum of differences.
type chain struct {
	depth uint8  // of how many one after another
	width uint16 // of how many pieces a span is
}

// allowance says whether a block may hold differences.
type allowance struct {
	chain     // of what it would differ from
	bases int // pieces of it
}

// widest returns how many pieces a span may be the sum of. With it no reader asks for more than
// [resolver.maxAsked].
func widest(l *frame.Layout) uint16 {
	return uint16(max(rowdelta.MaxChain, maxBases/(rowdelta.MaxPieces*len(l.Rows))))
}

var errIncomplete = errors.New("recording is incomplete or damaged; use eideticker repair first")

// pack writes a packed copy of the recording to storage, which it closes.
func (r *Reader) pack(ctx context.Context, to storage, progress func(done int)) error {
	if !r.complete || len(r.damage) > 0 {
		return errors.Join(errIncomplete, to.Close())
	}
	header := r.header
	header.codec, header.packed = codecResidual, true
	// An incomplete copy is worth nothing, so it needs no marks of the bytes on disk. They would make
	// it larger, and the more so the slower this machine is.
	o := Options{Workers: 1, SyncEvery: math.MaxInt64, wallOffset: r.wallLast}
	k := &packer{w: startWriter(to, o, &header)}
	for range runtime.GOMAXPROCS(0) {
		k.workers = append(k.workers, rowdelta.NewResidualPacker())
	}
	err := k.copy(ctx, r, progress)
	if err != nil { // nobody will read the file
		k.w.sink.fail(err)
	}
	if closed := k.w.Close(); err == nil {
		err = closed
	}
	return err
}

func (k *packer) copy(ctx context.Context, r *Reader, progress func(done int)) error {
	for _, m := range r.metadata {
		if err := k.w.Metadata(m.Name, m.Value); err != nil {
			return err
		}
	}
	p, err := r.Play(0, len(r.frames))
	if err != nil {
		return err
	}
	defer p.Close()
	p.hasher = newFrameHasher(0)
	var prev, pix []byte
	gap, event, segment := 0, 0, 0
	for n := 0; n <= len(r.frames); n++ {
		last := n == len(r.frames)
		for ; gap < len(r.gaps) && (last || r.gaps[gap].Before <= n); gap++ {
			if err := k.gap(r.gaps[gap]); err != nil {
				return err
			}
		}
		for ; segment < len(r.segments) && r.segments[segment].First <= n; segment++ {
			s := &r.segments[segment]
			if err := k.w.Segment(s.Layout.Format, s.PeriodNum, s.PeriodDen); err != nil {
				return err
			}
			prev, pix, k.bases = nil, make([]byte, s.Layout.Size), 0
		}
		for ; event < len(r.events) && (last || r.events[event].place.offset < r.frames[n].offset); event++ {
			e, err := r.Event(event)
			if err == nil {
				err = k.w.Event(e)
			}
			if err != nil {
				return err
			}
		}
		if last || ctx.Err() != nil || !p.Next() {
			break
		}
		p.image.CopyTo(pix)
		if err := k.frame(pix, prev, p.meta, p.current.head.hash, &p.current.delta); err != nil {
			return fmt.Errorf("frame %d: %w", n, err)
		}
		if prev == nil {
			prev = make([]byte, len(pix))
		}
		prev, pix = pix, prev
		progress(n + 1)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.Err()
}

func (k *packer) gap(g Gap) error {
	w := k.w
	w.mu.Lock()
	number := w.number
	w.number = uint64(g.Before)
	w.mu.Unlock()
	err := w.Gap(g.Gap)
	w.mu.Lock()
	w.number, w.gapped = number, false // a frame keeps its flags
	w.mu.Unlock()
	return err
}

// frame adds a frame whose difference from prev is src.
func (k *packer) frame(pix, prev []byte, m frame.Meta, hash uint64, src *rowdelta.Delta) error {
	w := k.w
	defer w.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	j := <-w.jobs
	places := w.encoder.Places()
	places.Widen(src, &j.delta)
	j.typ, j.meta, j.number = typeFrame, m, w.number
	j.head, w.scratch = appendFrameHead(j.head[:0], w.number, w.segment, &m, hash, &j.delta, w.scratch)
	if prev != nil {
		k.allow(&j.delta, places)
	}
	first := w.block
	if err := k.packBlocks(j, pix, prev); err != nil {
		return err
	}
	if !places.Apply(&j.delta, first) {
		return errors.New("row falls into too many pieces")
	}
	w.changed += int64(j.delta.Raw)
	if w.inSeg == 0 {
		w.restored, w.checked, w.changed = m.Sampled.Earliest, m.Sampled.Earliest, 0
	}
	w.number++
	w.inSeg++
	w.since++
	if w.since >= checkpointFrames || m.Sampled.Earliest-w.checked >= checkpointEvery {
		return k.checkpoint(pix, m.Sampled.Earliest, hash)
	}
	return nil
}

// allow finds which blocks of a delta may hold differences.
func (k *packer) allow(d *rowdelta.Delta, places *rowdelta.Places) {
	k.allowed = k.allowed[:0]
	for w := d.Walk(); w.Next(); {
		if int(w.Block) == len(k.allowed) {
			k.allowed = append(k.allowed, allowance{})
		}
		a := &k.allowed[w.Block]
		covered, width := int32(0), 0
		places.Cover(int(w.Row), w.Span, func(q rowdelta.Piece, n int32) {
			a.depth = max(a.depth, k.chains[q.Block].depth)
			width += max(1, int(k.chains[q.Block].width))
			a.bases++
			covered += n
		})
		a.width = max(a.width, uint16(min(width, math.MaxUint16)))
		if covered < w.End-w.Start {
			a.depth = packedChain
		}
	}
}

// packBlocks packs the blocks of a job and queues it. A nil prev rules out differences.
func (k *packer) packBlocks(j *job, pix, prev []byte) error {
	w := k.w
	j.layout, j.firstBlock = w.layout, w.block
	j.blocks, j.packed = j.delta.Blocks(j.blocks[:0]), j.packed[:0]
	for i := range j.blocks {
		j.packed = append(j.packed, packedBlock{})
		w.blocks.add(w.block+int64(i), j.blocks[i].Raw)
	}
	w.block += int64(len(j.blocks))
	most := widest(w.layout)
	var next atomic.Int32
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for _, p := range k.workers[:min(len(k.workers), len(j.blocks))] {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(j.blocks); i = int(next.Add(1)) - 1 {
				before := prev
				if prev != nil {
					a := &k.allowed[i]
					if a.depth >= packedChain || a.width > most || k.bases+a.bases > maxBases/2 {
						before = nil
					}
				}
				b, kind, err := p.Pack(w.layout, &j.blocks[i], pix, before)
				if err != nil {
					failed.Store(&err)
				}
				j.packed[i] = packedBlock{
					info: blockInfo{raw: uint32(j.blocks[i].Raw), stored: uint32(len(b)), crc: checksum(b),
						kind: kind},
					whole: bytes.Clone(b),
				}
			}
		})
	}
	wg.Wait()
	for i := range j.packed {
		var c chain
		if j.packed[i].info.kind == rowdelta.Difference {
			c = k.allowed[i].chain
			c.depth++
			k.bases += k.allowed[i].bases
		}
		k.chains = append(k.chains, c)
	}
	if len(j.blocks) > 0 {
		j.ready <- struct{}{}
	}
	w.ordered <- j
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// checkpoint plans a table of the last frame. Its rows are stored without differences first.
func (k *packer) checkpoint(pix []byte, now timeline.Time, hash uint64) error {
	w := k.w
	_, raw := w.blocks.keep(w.encoder.Places(), len(w.layout.Rows))
	j := <-w.jobs
	first := w.block
	j.typ, j.head = typeRows, j.head[:0]
	whole := w.restoreDue(now) || raw > fragmentation*w.layout.Size
	if whole {
		w.restored, w.changed = now, 0
		w.encoder.Restore(pix, &j.delta, first)
	}
	if whole || w.encoder.Places().Unchain(&j.delta, func(block int64) bool { return k.chains[block].depth > 0 }) {
		if err := k.packBlocks(j, pix, nil); err != nil {
			return err
		}
		if !whole && !w.encoder.Places().Apply(&j.delta, first) {
			return errors.New("row falls into too many pieces")
		}
	} else {
		w.jobs <- j
	}
	k.bases = 0
	live, _ := w.blocks.keep(w.encoder.Places(), len(w.layout.Rows))
	w.table(live, now, hash)
	return nil
}

// sameAs compares everything that two recordings hold.
func (r *Reader) sameAs(ctx context.Context, q *Reader, progress func(done int)) error {
	if len(q.damage) > 0 || !q.complete {
		return errIncomplete
	}
	if len(q.frames) != len(r.frames) || q.header.id != r.header.id || !reflect.DeepEqual(q.gaps, r.gaps) ||
		!reflect.DeepEqual(q.Metadata(), r.Metadata()) || !reflect.DeepEqual(q.Events(), r.Events()) ||
		len(q.segments) != len(r.segments) {
		return errors.New("frames, gaps, events or metadata differ")
	}
	for i := range r.segments {
		a, b := r.segments[i], q.segments[i]
		if a.Layout.Format != b.Layout.Format || a.First != b.First || a.Frames != b.Frames {
			return fmt.Errorf("segment %d differs", i)
		}
	}
	for i := range r.events {
		a, err := r.Event(i)
		b, again := q.Event(i)
		if err = errors.Join(err, again); err != nil || !reflect.DeepEqual(a, b) {
			return errors.Join(fmt.Errorf("event %d differs", i), err)
		}
	}
	a, err := r.Play(0, len(r.frames))
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := q.Play(0, len(q.frames))
	if err != nil {
		return err
	}
	defer b.Close()
	for ctx.Err() == nil && a.Next() && b.Next() {
		if a.meta != b.meta || a.current.head.hash != b.current.head.hash || !reflect.DeepEqual(a.change, b.change) {
			return fmt.Errorf("frame %d differs in its time or change", a.number)
		}
		for y, row := range a.image.Rows {
			if !bytes.Equal(row, b.image.Rows[y]) {
				return fmt.Errorf("frame %d differs in row %d", a.number, y)
			}
		}
		progress(a.number + 1)
	}
	if err := errors.Join(ctx.Err(), a.Err(), b.Err()); err != nil {
		return err
	}
	return q.seekable(ctx)
}

// seekable reads the parts that a player from the start does not. These are rows at checkpoints and
// their tables. The frame before a checkpoint has the longest chains of differences.
func (r *Reader) seekable(ctx context.Context) error {
	var v VerifyReport
	if err := errors.Join(r.verifyRecords(ctx, &v), r.verifyTables(ctx, &v)); err != nil {
		return err
	}
	last := []int{len(r.frames) - 1}
	for _, c := range r.checkpoints {
		last = append(last, int(c.number)-1)
	}
	for _, n := range last {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if n < 0 {
			continue
		}
		if _, err := r.Image(n); err != nil {
			return err
		}
	}
	if len(v.Problems) > 0 {
		return errors.New(v.Problems[0].What)
	}
	return nil
}
