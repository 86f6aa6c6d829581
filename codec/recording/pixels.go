package recording

import "sync/atomic"

// Owner is whoever lends the writer a frame's bytes, such as a ring's lease. Release is called
// once, from any goroutine, when the writer has no more use for them.
type Owner interface {
	Release()
}

// pixels are the borrowed bytes of one frame. They are needed until the next frame has been
// compared with them and their own blocks are in the file.
type pixels struct {
	b     []byte
	owner Owner
	refs  atomic.Int32
	home  chan *pixels
}

func (p *pixels) retain() { p.refs.Add(1) }

func (p *pixels) release() {
	if p == nil || p.refs.Add(-1) > 0 {
		return
	}
	p.b = nil
	if p.owner != nil {
		p.owner.Release()
		p.owner = nil
	}
	p.home <- p
}
