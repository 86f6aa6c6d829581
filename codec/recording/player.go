package recording

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Player decodes frames one after another. Blocks are fetched and unpacked ahead on other goroutines, unless as many players of the reader are
// at work as there are processors: then each fetches its own, block by block, so that a block's bytes are still in the cache when they
// are put into rows. A row that did not change is not touched, and a frame that did not change costs little more than its number. It is used by one
// goroutine and must be closed.
//
// A frame is larger than a processor's own cache. Whoever looks at its rows from top to bottom goes on with [Player.Begin] in place of
// [Player.Next], and has each row unpacked just before he looks at it, by [Player.Fill].
type Player struct {
	r      *Reader
	to     int
	number int // of the current frame
	next   int // to be asked for
	err    error
	layout *frame.Layout
	seg    int

	idle    []*fetch
	pending []*fetch    // in order of frames
	work    chan *fetch // nil: no goroutine was needed so far
	started bool
	closed  bool
	warm    atomic.Bool // the bytes that were read last came from memory
	blocks  blockReader // of frames that are not fetched ahead
	block   []byte      // one of theirs

	// What is still to be put into rows of the current frame.
	current *fetch
	walk    rowdelta.Walker // stands on the first span of the next block
	more    bool            // there is one
	fetched int             // bytes of current.raw before it

	rows     rowPool
	now      []*row
	before   []*row
	still    bool // both are the same
	complete bool // the current frame has all its rows
	shown    int  // frames, to tell which rows are of the last one
	image    frame.Image
	prev     frame.Image
	change   frame.Change
	meta     frame.Meta
	hasher   *frameHasher // nil: frames are not held against their hash
}

// fetch is one frame on its way.
type fetch struct {
	n     int
	ahead bool // by another goroutine; else when its turn comes
	head  frameHead
	delta rowdelta.Delta
	raw   []byte // its blocks, unpacked, one behind the other; only of those that are fetched ahead
	err   error
	ready chan struct{}
}

// blockReader reads blocks for one goroutine.
type blockReader struct {
	stored []byte
	warm   *atomic.Bool
}

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

const fetchAhead = 4

// Play decodes frames from up to, and not including, to. It goes on across segments.
func (r *Reader) Play(from, to int) (*Player, error) {
	if from < 0 || to > len(r.frames) || from > to {
		return nil, fmt.Errorf("frames %d:%d are outside the recording's %d frames", from, to, len(r.frames))
	}
	p := &Player{r: r, to: to, number: from - 1, next: from, seg: -1, shown: 1}
	p.blocks.warm = &p.warm
	return p, nil
}

// start makes ready to fetch.
func (p *Player) start() {
	p.started = true
	p.r.players.Add(1)
	for range fetchAhead {
		f, _ := p.r.fetches.Get().(*fetch)
		if f == nil {
			f = &fetch{ready: make(chan struct{}, 1)}
		}
		p.idle = append(p.idle, f)
	}
}

// help begins to fetch on as many goroutines as there are processors.
func (p *Player) help() {
	p.work = make(chan *fetch, fetchAhead)
	for range min(fetchAhead, runtime.GOMAXPROCS(0)) {
		go func(work <-chan *fetch) {
			b := blockReader{warm: &p.warm}
			for f := range work {
				if f.err = p.r.fetchHead(f); f.err == nil {
					f.err = p.r.fetchBlocks(f, &b)
				}
				f.ready <- struct{}{}
			}
		}(p.work)
	}
}

// fetchHead reads what there is to know of frame f.n before its blocks.
func (r *Reader) fetchHead(f *fetch) error {
	if err := r.frameHead(f.n, &f.head); err != nil {
		return err
	}
	return r.parseDelta(f.n, &f.head, &f.delta, r.segments[r.segmentIndex(f.n)].Layout)
}

// fetchBlocks reads all blocks of a frame.
func (r *Reader) fetchBlocks(f *fetch, b *blockReader) error {
	f.raw = slices.Grow(f.raw[:0], f.delta.Raw)[:f.delta.Raw]
	b.announce(r, f.head.blocks)
	at := 0
	for k := range f.head.blocks {
		n := int(f.head.blocks[k].raw)
		if err := b.read(r, &f.head.blocks[k], f.raw[at:at+n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// announce tells the system that blocks will be needed, unless they seem to be in memory: then it would only look for them twice.
func (b *blockReader) announce(r *Reader, blocks []blockInfo) {
	if !b.warm.Load() {
		r.hintBlocks(blocks)
	}
}

// read unpacks a block.
func (b *blockReader) read(r *Reader, block *blockInfo, dst []byte) (err error) {
	const slow = time.Nanosecond // a byte; from memory it takes a fraction of that
	if block.offset > r.size-int64(block.stored) {
		return &CorruptError{block.offset, "block lies behind the end of the file"}
	}
	began := time.Now()
	b.stored, err = r.readBlock(*block, dst, b.stored)
	if warm := time.Since(began) < slow*time.Duration(block.raw); warm != b.warm.Load() {
		b.warm.Store(warm)
	}
	return err
}

// crowded reports whether other players use the processors already, and no disk must be waited for.
func (p *Player) crowded() bool {
	return p.warm.Load() && int(p.r.players.Load()) >= runtime.GOMAXPROCS(0)
}

// prefetch chooses frames to be fetched ahead.
func (p *Player) prefetch() {
	crowded := p.crowded()
	for len(p.idle) > 0 && p.next < p.to && !(crowded && len(p.pending) > 0) {
		f := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		f.n = p.next
		p.next++
		p.pending = append(p.pending, f)
		if f.ahead = !crowded && p.r.frames[f.n].bodyLen > 0; !f.ahead {
			continue
		}
		if p.work == nil {
			p.help()
		}
		p.work <- f
	}
}

// Next decodes the next frame, and reports whether there is one: at the end, and at a frame that cannot be read, it is false.
func (p *Player) Next() bool {
	return p.Begin() && p.Fill(len(p.image.Rows)) == nil
}

// Begin goes on to the next frame as Next does, and leaves it to Fill to unpack what is new in it.
func (p *Player) Begin() bool {
	if p.current != nil { // what comes is made of it
		if p.Fill(len(p.image.Rows)) != nil {
			return false
		}
		p.idle = append(p.idle, p.current)
		p.current = nil
	}
	if p.err != nil || p.number+1 >= p.to {
		return false
	}
	if !p.started {
		p.start()
	}
	p.prefetch()
	f := p.pending[0]
	copy(p.pending, p.pending[1:])
	p.pending = p.pending[:len(p.pending)-1]
	if f.ahead {
		<-f.ready
	} else {
		f.err = p.r.fetchHead(f)
	}
	p.number, p.current, p.more = f.n, f, false
	err := f.err
	if err == nil {
		err = p.show(f)
	}
	return p.fail(err) == nil
}

// Fill unpacks what is new in rows of the current frame before the given one, if that has not been done. In those behind, bytes that have changed may be
// anything.
func (p *Player) Fill(rows int) error {
	if p.err != nil {
		return p.err
	}
	return p.fail(p.fill(rows))
}

// fail notes why the current frame cannot be decoded.
func (p *Player) fail(err error) error {
	if err != nil {
		p.err = fmt.Errorf("frame %d: %w", p.number, err)
	}
	return p.err
}

// show makes f the current frame.
func (p *Player) show(f *fetch) error {
	if err := p.enter(f.n); err != nil {
		return err
	}
	p.shown++
	p.meta = p.r.frames[f.n].meta
	f.delta.Change(&p.change)
	if f.delta.Still() && p.complete {
		p.stand()
	} else if err := p.turn(f); err != nil {
		return err
	}
	if p.hasher == nil {
		return nil
	}
	if err := p.fill(len(p.now)); err != nil {
		return err
	}
	p.hasher.rehash(&f.delta, p.now)
	if got := p.hasher.hash(p.now); got != f.head.hash {
		return &CorruptError{p.r.frames[f.n].offset, "decoded frame is not the one that was captured"}
	}
	return nil
}

// stand shows the same frame again.
func (p *Player) stand() {
	if p.still {
		return
	}
	p.still = true
	for y, r := range p.now {
		r.refs++
		p.rows.put(p.before[y])
		p.before[y] = r
	}
	copy(p.prev.Rows, p.image.Rows)
}

// turn shows a frame in which something changed.
func (p *Player) turn(f *fetch) error {
	p.still = false
	p.before, p.now = p.now, p.before
	p.prev.Rows, p.image.Rows = p.image.Rows, p.prev.Rows
	p.advance(&f.delta)
	for y, r := range p.now {
		if r == nil {
			return &CorruptError{p.r.frames[f.n].offset, fmt.Sprintf("row %d was never stored", y)}
		}
		p.image.Rows[y] = r.b
	}
	p.complete = true
	if !f.ahead {
		p.blocks.announce(p.r, f.head.blocks)
	}
	p.walk, p.fetched = f.delta.Walk(), 0
	p.more = p.walk.Next()
	return nil
}

// enter prepares for frame n, the first to be shown or the first of a segment.
func (p *Player) enter(n int) error {
	seg := p.r.segmentIndex(n)
	if seg == p.seg {
		return nil
	}
	first := p.seg < 0
	p.seg, p.still, p.complete = seg, false, false
	s := &p.r.segments[seg]
	p.layout = s.Layout
	rows := len(p.layout.Rows)
	p.rows = rowPool{}
	p.now, p.before = make([]*row, rows), make([]*row, rows)
	p.image = frame.Image{Layout: p.layout, Rows: make([][]byte, rows)}
	p.prev = frame.Image{Layout: p.layout, Rows: make([][]byte, rows)}
	if p.hasher != nil {
		p.hasher = newFrameHasher(rows)
	}
	if !first || n == s.First {
		return nil
	}
	base, err := p.r.Image(n - 1)
	if err != nil {
		return fmt.Errorf("the frame before it is needed: %w", err)
	}
	for y, b := range base.Rows {
		p.now[y] = &row{b: b, refs: 1, hash: rowdelta.RowHash(b)}
		p.image.Rows[y] = b
	}
	p.complete = true
	return nil
}

// advance makes p.now, which holds the rows of the frame before p.before, from p.before and the delta, but for the bytes that are stored.
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
			for y := run.Row; y < run.Row+run.Rows; y++ {
				p.renew(y, d.StoredSpans(run))
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
		copy(p.now[p.walk.Row].b[p.walk.Start:p.walk.End], from[p.walk.Off:])
		p.more = p.walk.Next()
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

// renew gives row y memory of its own, holding what was there except for the spans that are about to be written. Where the frame before was made in
// the same way, the row that stood there before it has all that, but for what changed in between: in a video, nothing is copied.
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

// Number returns the number of the current frame.
func (p *Player) Number() int { return p.number }

// Meta returns what is known of the current frame.
func (p *Player) Meta() frame.Meta { return p.meta }

// Image returns the current frame. It is valid, and must not be changed, until the next call of Next or Begin.
func (p *Player) Image() frame.Image { return p.image }

// Previous returns the frame before the current one, valid as long. ok is false for the first frame of a segment.
func (p *Player) Previous() (m frame.Image, ok bool) {
	return p.prev, p.number > p.r.segments[p.seg].First
}

// Change returns how the current frame differs from the one before it, valid until the next call of Next. In the first frame of
// a segment everything is changed.
func (p *Player) Change() *frame.Change { return &p.change }

// Err returns why Next stopped before the last frame, or nil.
func (p *Player) Err() error { return p.err }

// Close ends the player's goroutines. It is idempotent.
func (p *Player) Close() error {
	if p.work != nil {
		close(p.work)
		for _, f := range p.pending {
			if f.ahead {
				<-f.ready
			}
		}
		p.work = nil
	}
	if p.started && !p.closed {
		p.r.players.Add(-1)
		for _, f := range append(p.idle, p.pending...) { // and their memory is for the next player
			p.r.fetches.Put(f)
		}
		if p.current != nil {
			p.r.fetches.Put(p.current)
		}
		p.idle, p.pending, p.current = nil, nil, nil
	}
	p.closed = true
	p.err = fmt.Errorf("player: %w", ErrClosed)
	return nil
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
