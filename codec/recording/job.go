package recording

import (
	"sync/atomic"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// job is one record on its way to the file. Records are committed in the order in which they were
// planned; the blocks of several are packed at once.
type job struct {
	typ  recordType
	head []byte // complete but for the block list
	data []byte // body of small records, packed by the committer

	// Frames and rows:
	layout       *frame.Layout
	pix          *pixels
	delta        rowdelta.Delta
	blocks       []rowdelta.Block
	packed       []packedBlock
	firstBlock   int64
	acceleration int
	pending      atomic.Int32
	ready        chan struct{} // signalled when no block is pending
	meta         frame.Meta
	number       uint64

	// Checkpoints:
	places *rowdelta.Places
	live   []int64 // numbers of the blocks that the table needs, ascending

	done chan error // closing: answered when everything is on disk
}

// packedBlock is a block ready to be written.
type packedBlock struct {
	info  blockInfo
	chunk []byte // the stored bytes, of the pool; nil if they are in the frame itself
	whole []byte // the stored bytes
}

// task is one block to be packed, with the memory for it. The planner takes that memory in order of
// blocks. If packers took it, later frames could take the last of it. The committer would wait for
// an earlier block.
type task struct {
	job   *job
	block int32
	chunk []byte
}

// packers pack blocks on several goroutines.
type packers struct {
	tasks  chan task
	chunks chan []byte // memory for packed blocks; its amount bounds how far packing runs ahead of the disk
}

// run packs until the tasks end.
func (p *packers) run(gatherSize int) {
	packer := rowdelta.NewLivePacker()
	gather := make([]byte, 0, gatherSize)
	for t := range p.tasks {
		p.pack(packer, t, &gather)
		if t.job.pending.Add(-1) == 0 {
			t.job.ready <- struct{}{}
		}
	}
}

// pack fills one entry of the job's packed blocks.
func (p *packers) pack(packer *rowdelta.LivePacker, t task, gather *[]byte) {
	b := &t.job.blocks[t.block]
	out := &t.job.packed[t.block]
	if cap(*gather) < b.Raw {
		*gather = make([]byte, 0, b.Raw)
	}
	raw := b.Gather(t.job.layout, t.job.pix.b, *gather)
	gathered := &raw[0] == &(*gather)[:1][0]

	out.info = blockInfo{raw: uint32(len(raw)), stored: uint32(len(raw))}
	out.chunk, out.whole = t.chunk, raw
	// An error means that dst is too small, which PackBound rules out; the block is then stored as
	// it is.
	n, kind, err := packer.PackBlock(t.job.layout, b, raw, t.chunk[:cap(t.chunk)], t.job.acceleration)
	switch {
	case err == nil && n > 0:
		out.info.kind = kind
		out.info.stored = uint32(n)
		out.whole = t.chunk[:n]
	case gathered:
		out.whole = append(t.chunk[:0], raw...)
	default: // it goes straight from the frame into the file
		p.chunks <- t.chunk
		out.chunk = nil
	}
	out.info.crc = checksum(out.whole)
}
