package recording

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/codec/rowdelta"
)

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
	now    func() time.Time // of a test; nil: the system's
}

// fetchAhead is how many frames are fetched at the same time.
const fetchAhead = 4

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

// announce tells the system that blocks will be needed, unless they seem to be in memory: then it
// would only look for them twice.
func (b *blockReader) announce(r *Reader, blocks []blockInfo) {
	if !b.warm.Load() {
		r.hintBlocks(blocks)
	}
}

// clock returns the time, or that of a test.
func (b *blockReader) clock() time.Time {
	if b.now != nil {
		return b.now()
	}
	return time.Now()
}

// read unpacks a block.
func (b *blockReader) read(r *Reader, block *blockInfo, dst []byte) (err error) {
	const slow = 64 * time.Microsecond // from memory it takes a fraction of that
	if block.offset > r.size-int64(block.stored) {
		return &CorruptError{block.offset, "block lies behind the end of the file"}
	}
	began := b.clock()
	b.stored, err = r.readStored(*block, dst, b.stored)
	if warm := b.clock().Sub(began) < slow; warm != b.warm.Load() {
		b.warm.Store(warm)
	}
	if err != nil {
		return err
	}
	return r.unpackBlock(*block, dst, b.stored)
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
