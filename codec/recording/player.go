package recording

import (
	"fmt"
	"sync/atomic"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Player decodes frames one after another. Other goroutines fetch and unpack blocks ahead. If as
// many players of the reader run as there are processors, each fetches its own, block by block. A
// block's bytes are then still in the cache when they are put into rows. A row that did not change
// is not touched. A frame that did not change costs little more than its number. A player is used
// by one goroutine and must be closed.
//
// A frame is larger than a processor's own cache. A caller that reads its rows from top to bottom
// can use Player.begin instead of [Player.Next]. Player.fillRows then unpacks each row just before
// it is read.
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

	// The part that is not yet put into rows of the current frame.
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

// Play decodes frames from up to, and not including, to. It goes on across segments.
func (r *Reader) Play(from, to int) (*Player, error) {
	if from < 0 || to > len(r.frames) || from > to {
		return nil, fmt.Errorf("frames %d:%d are outside the recording's %d frames", from, to, len(r.frames))
	}
	p := &Player{r: r, to: to, number: from - 1, next: from, seg: -1, shown: 1}
	p.blocks.warm = &p.warm
	return p, nil
}

// Next decodes the next frame, and reports whether there is one: at the end, and at a frame that
// cannot be read, it is false.
func (p *Player) Next() bool {
	return p.begin() && p.fillRows(len(p.image.Rows)) == nil
}

// begin goes to the next frame as Next does. fillRows unpacks its changed parts later.
func (p *Player) begin() bool {
	if p.current != nil { // the next frame is made of it
		if p.fillRows(len(p.image.Rows)) != nil {
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

// fillRows unpacks the changed parts of the current frame's rows before the given one, at most
// once. Changed bytes in later rows are undefined.
func (p *Player) fillRows(rows int) error {
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
		p.showSame()
	} else if err := p.showChanged(f); err != nil {
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

// showSame shows the same frame again.
func (p *Player) showSame() {
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

// showChanged shows a frame in which something changed.
func (p *Player) showChanged(f *fetch) error {
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

// Number returns the number of the current frame.
func (p *Player) Number() int { return p.number }

// Meta returns the metadata of the current frame.
func (p *Player) Meta() frame.Meta { return p.meta }

// Image returns the current frame. It is valid, and must not be changed, until the next call of
// Next or begin.
func (p *Player) Image() frame.Image { return p.image }

// previous returns the frame before the current one, valid as long. ok is false for the first frame
// of a segment.
func (p *Player) previous() (m frame.Image, ok bool) {
	return p.prev, p.number > p.r.segments[p.seg].First
}

// lastChange returns how the current frame differs from the one before it. It is valid until the
// next call of Next. In the first frame of a segment everything is changed.
func (p *Player) lastChange() *frame.Change { return &p.change }

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
	p.err = fmt.Errorf("player: %w", errClosed)
	return nil
}
