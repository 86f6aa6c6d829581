package recording

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Player decodes frames one after another. Blocks are fetched and unpacked ahead on other goroutines; a row that did not change
// is not touched. It is used by one goroutine and must be closed.
type Player struct {
	r      *Reader
	to     int
	number int // of the current frame
	next   int // to be asked for
	err    error
	layout *frame.Layout
	seg    int

	idle    []*fetch
	pending []*fetch // in order of frames
	work    chan *fetch
	started bool

	rows   rowPool
	now    []*row
	before []*row
	image  frame.Image
	prev   frame.Image
	change frame.Change
	meta   frame.Meta
	hasher *frameHasher // nil: frames are not held against their hash
}

// fetch is one frame on its way.
type fetch struct {
	n     int
	head  frameHead
	delta rowdelta.Delta
	raw   []byte // its blocks, unpacked, one behind the other
	err   error
	ready chan struct{}
}

// row is the bytes of one row, shared by all frames in which it is the same.
type row struct {
	b    []byte
	refs int32
	hash uint64
}

type rowPool struct{ free []*row }

func (p *rowPool) get(n int) *row {
	if k := len(p.free); k > 0 {
		r := p.free[k-1]
		p.free = p.free[:k-1]
		r.refs = 1
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
	p := &Player{r: r, to: to, number: from - 1, next: from, seg: -1}
	return p, nil
}

// start begins to fetch, on as many goroutines as there are processors.
func (p *Player) start() {
	p.started = true
	p.work = make(chan *fetch, fetchAhead)
	for range fetchAhead {
		p.idle = append(p.idle, &fetch{ready: make(chan struct{}, 1)})
	}
	for range min(fetchAhead, runtime.GOMAXPROCS(0)) {
		go func(work <-chan *fetch) {
			var stored []byte
			for f := range work {
				stored, f.err = p.r.fetchFrame(f, stored)
				f.ready <- struct{}{}
			}
		}(p.work)
	}
}

// fetchFrame reads frame f.n but for the frames it builds on.
func (r *Reader) fetchFrame(f *fetch, stored []byte) ([]byte, error) {
	if err := r.frameHead(f.n, &f.head); err != nil {
		return stored, err
	}
	l := r.segments[r.segmentIndex(f.n)].Layout
	if err := r.parseDelta(f.n, &f.head, &f.delta, l); err != nil {
		return stored, err
	}
	r.hintBlocks(f.head.blocks)
	f.raw = slices.Grow(f.raw[:0], f.delta.Raw)[:f.delta.Raw]
	at := 0
	for _, b := range f.head.blocks {
		if b.offset > r.size-int64(b.stored) {
			return stored, &CorruptError{b.offset, "block lies behind the end of the file"}
		}
		var err error
		if stored, err = r.readBlock(b, f.raw[at:at+int(b.raw)], stored); err != nil {
			return stored, err
		}
		at += int(b.raw)
	}
	return stored, nil
}

// Next decodes the next frame, and reports whether there is one: at the end, and at a frame that cannot be read, it is false.
func (p *Player) Next() bool {
	if p.err != nil || p.number+1 >= p.to {
		return false
	}
	if !p.started {
		p.start()
	}
	for len(p.idle) > 0 && p.next < p.to {
		f := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		f.n = p.next
		p.next++
		p.pending = append(p.pending, f)
		p.work <- f
	}
	f := p.pending[0]
	<-f.ready
	copy(p.pending, p.pending[1:])
	p.pending = p.pending[:len(p.pending)-1]
	p.number = f.n
	err := f.err
	if err == nil {
		err = p.show(f)
	}
	if err != nil {
		p.err = fmt.Errorf("frame %d: %w", f.n, err)
	}
	p.idle = append(p.idle, f)
	return p.err == nil
}

// show makes f the current frame.
func (p *Player) show(f *fetch) error {
	if err := p.enter(f.n); err != nil {
		return err
	}
	for _, r := range p.before {
		p.rows.put(r)
	}
	p.before, p.now = p.now, p.before
	p.prev.Rows, p.image.Rows = p.image.Rows, p.prev.Rows
	p.advance(f)
	for y, r := range p.now {
		if r == nil {
			return &CorruptError{p.r.frames[f.n].offset, fmt.Sprintf("row %d was never stored", y)}
		}
		p.image.Rows[y] = r.b
	}
	p.meta = p.r.frames[f.n].meta
	f.delta.Change(&p.change)
	if p.hasher != nil {
		if got := p.hasher.hash(p.now); got != f.head.hash {
			return &CorruptError{p.r.frames[f.n].offset, "decoded frame is not the one that was captured"}
		}
	}
	return nil
}

// enter prepares for frame n, the first to be shown or the first of a segment.
func (p *Player) enter(n int) error {
	seg := p.r.segmentIndex(n)
	if seg == p.seg {
		return nil
	}
	first := p.seg < 0
	p.seg = seg
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
	return nil
}

// advance makes p.now from p.before and the delta.
func (p *Player) advance(f *fetch) {
	d := &f.delta
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
	at := 0
	for w := d.Walk(); w.Next(); {
		n := int(w.End - w.Start)
		if r := p.now[w.Row]; r != nil {
			copy(r.b[w.Start:w.End], f.raw[at:at+n])
		}
		at += n
	}
	if p.hasher != nil {
		p.hasher.rehash(d, p.now)
	}
}

func (p *Player) share(y int32, r *row) {
	if r != nil {
		r.refs++
	}
	p.now[y] = r
}

// renew gives row y memory of its own, holding what was there except for the spans that are about to be written.
func (p *Player) renew(y int32, spans []rowdelta.Span) {
	n := p.layout.Rows[y].Bytes
	old := p.before[y]
	if old == nil && (len(spans) != 1 || int(spans[0].End-spans[0].Start) != n) {
		p.now[y] = nil
		return
	}
	r := p.rows.get(n)
	at := int32(0)
	for _, s := range spans {
		if s.Start > at {
			copy(r.b[at:s.Start], old.b[at:s.Start])
		}
		at = s.End
	}
	if int(at) < n {
		copy(r.b[at:], old.b[at:])
	}
	p.now[y] = r
}

// Number returns the number of the current frame.
func (p *Player) Number() int { return p.number }

// Meta returns what is known of the current frame.
func (p *Player) Meta() frame.Meta { return p.meta }

// Image returns the current frame. It is valid, and must not be changed, until the next call of Next.
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
	if p.started && p.work != nil {
		close(p.work)
		for _, f := range p.pending {
			<-f.ready
		}
		p.pending, p.work = nil, nil
	}
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
