package recording

import (
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// committer puts planned records into the file, in order. It alone knows where in the file a block
// lies, so it also writes the tables: checkpoints, indexes and the directory.
type committer struct {
	w      *Writer
	sink   *sink
	header *fileHeader

	blocks blockTable
	packer rowdelta.Packer
	packed []byte // of a small record
	table  []byte
	infos  []blockInfo
	head   []byte                 // of an index
	raw    [recordHeaderSize]byte // scratch

	index []byte // entries since the last index
	// write an index even without entries: bytes before it need not be scanned again
	cover      bool
	entryAt    int64 // offset of the last entry
	firstFrame uint64
	frames     uint64 // since the last index
	number     uint64 // frames in the file
	from       int64
	indexes    []int64
	unsynced   []span64 // indexes that are not known to be on disk
	durable    int64    // offset of the last index that is
	lastIndex  int64
	fit        timeline.PeriodFit
	synced     int64 // offset at the last flush
	wallOffset int64 // what indexes say of the wall clock; 0: what it says now
}

type span64 struct{ from, to int64 }

const maxPendingIndex = 4 << 20 // bytes of entries after which an index is written in any case

func newCommitter(w *Writer, h *fileHeader) *committer {
	return &committer{w: w, sink: w.sink, header: h}
}

func (c *committer) run() {
	head := c.header.bytes()
	c.sink.write(head)
	c.sink.write(head)
	c.from, c.entryAt = c.sink.off, c.sink.off
	c.sync(0)

	tick := time.NewTicker(c.w.opts.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case j := <-c.w.ordered:
			if j.done != nil {
				j.done <- c.finish()
				return
			}
			c.take(j)
		case <-tick.C:
			c.syncWritten()
		case <-c.w.flush:
			c.drain()
			c.syncWritten()
		}
		c.w.stats.bytesOut.Store(c.sink.off)
	}
}

// drain commits the records planned so far, up to the end record.
func (c *committer) drain() {
	for range len(c.w.ordered) {
		j := <-c.w.ordered
		if j.done != nil { // the end is for run; there is nothing behind it
			c.w.ordered <- j
			return
		}
		c.take(j)
	}
}

// take commits one record and gives its job back.
func (c *committer) take(j *job) {
	c.commit(j)
	j.data = j.data[:0]
	c.w.jobs <- j
}

func (c *committer) syncWritten() {
	if c.sink.off != c.synced {
		c.sync(0)
	}
}

// commit writes one record.
func (c *committer) commit(j *job) {
	switch j.typ {
	case typeFrame:
		c.commitBlocks(j)
		c.fit.Add(j.meta.Sequence, j.meta.Sampled.Mid())
		c.frames++
		c.number++
	case typeRows:
		c.commitBlocks(j)
	case typeCheckpoint:
		c.blocks.keep(j.live)
		c.table = c.blocks.appendTable(c.table[:0], j.places, len(j.layout.Rows))
		c.commitData(j, c.table)
		c.writeIndex()
	case typeSegment:
		c.blocks.reset()
		c.fit = timeline.PeriodFit{}
		c.commitPlain(j)
	case typeEvent, typeMetadata:
		c.commitData(j, j.data)
	default:
		c.commitPlain(j)
	}
	if len(c.index) > maxPendingIndex {
		c.writeIndex()
	}
}

// commitBlocks writes a record whose blocks were packed by the packers, and lets go of its pixels.
func (c *committer) commitBlocks(j *job) {
	if len(j.blocks) > 0 {
		<-j.ready
	}
	c.infos = c.infos[:0]
	size, raw := uint64(0), uint64(0)
	for i := range j.packed {
		info := j.packed[i].info
		size += uint64(info.stored)
		if info.stored == info.raw {
			raw++
		}
		c.infos = append(c.infos, info)
	}
	j.head = appendBlocks(j.head, c.infos)
	at := c.record(j.typ, j.head, size)
	for i := range j.packed {
		p := &j.packed[i]
		p.info.offset = at
		at += int64(p.info.stored)
		c.blocks.add(j.firstBlock+int64(i), p.info)
		c.sink.write(p.whole)
		if p.chunk != nil {
			c.w.pack.chunks <- p.chunk
		}
		p.whole, p.chunk = nil, nil
	}
	c.align()
	c.w.stats.blocks.Add(uint64(len(j.packed)))
	c.w.stats.rawBlocks.Add(raw)
	if len(j.blocks) > 0 {
		j.pix.release()
		j.pix = nil
	}
}

// commitPlain writes a record that has only a head.
func (c *committer) commitPlain(j *job) {
	c.record(j.typ, j.head, 0)
	c.align()
}

// commitData writes a record whose body is data, packed.
func (c *committer) commitData(j *job, data []byte) {
	c.packData(data)
	j.head = appendBlocks(j.head, c.infos)
	c.record(j.typ, j.head, uint64(len(c.packed)))
	c.sink.write(c.packed)
	c.align()
}

// packData packs data into c.packed and c.infos.
func (c *committer) packData(data []byte) {
	c.packed, c.infos = c.packed[:0], c.infos[:0]
	for len(data) > 0 {
		raw := data[:min(len(data), rowdelta.BlockSize)]
		data = data[len(raw):]
		at := len(c.packed)
		c.packed = slices.Grow(c.packed, rowdelta.PackBound(len(raw)))
		n, err := c.packer.Pack(raw, c.packed[at:cap(c.packed)], rowdelta.Smallest)
		if err != nil || n == 0 {
			c.packed = append(c.packed, raw...)
			n = len(raw)
		} else {
			c.packed = c.packed[:at+n]
		}
		c.infos = append(c.infos, blockInfo{raw: uint32(len(raw)), stored: uint32(n), crc: checksum(c.packed[at:])})
	}
}

// record writes a record's header and head, and notes it for the index. It returns the offset of
// the body, which follows.
func (c *committer) record(t recordType, head []byte, bodyLen uint64) int64 {
	h := recordHeader{typ: t, headLen: uint32(len(head)), headCRC: checksum(head), bodyLen: bodyLen, offset: c.sink.off,
		tag: c.header.tag()}
	h.put(&c.raw)
	c.sink.write(c.raw[:])
	c.sink.write(head)
	if t.indexed() {
		c.index = appendIndexEntry(c.index, h, head, c.entryAt)
		c.entryAt = h.offset
	}
	return h.body()
}

// indexed reports whether indexes repeat the heads of such records.
func (t recordType) indexed() bool { return t >= typeSegment && t <= typeCheckpoint && t != typeRows }

func (c *committer) align() {
	var zeros [recordAlign]byte
	if n := -c.sink.off & (recordAlign - 1); n > 0 {
		c.sink.write(zeros[:n])
	}
}

// writeIndex repeats the heads of all records since the last index.
func (c *committer) writeIndex() {
	if len(c.index) == 0 && !c.cover {
		return
	}
	offset := c.wallOffset
	if offset == 0 {
		offset, _ = timeline.WallOffset(c.w.opts.Clock)
	}
	x := indexHead{
		previous: c.lastIndex, from: c.from, to: c.sink.off,
		firstFrame: c.firstFrame, frames: c.frames,
		wallOffset: offset, femto: c.fit.FemtoPeriod(),
	}
	c.packData(c.index)
	c.head = appendBlocks(x.append(c.head[:0]), c.infos)
	at := c.sink.off
	c.record(typeIndex, c.head, uint64(len(c.packed)))
	c.sink.write(c.packed)
	c.align()
	c.lastIndex = at
	c.indexes = append(c.indexes, at)
	c.unsynced = append(c.unsynced, span64{at, c.sink.off})
	c.index, c.frames, c.firstFrame = c.index[:0], 0, c.number
	c.from, c.entryAt = c.sink.off, c.sink.off
}

// sync fills the current block, so that it is never written again, and asks for everything to be
// made durable. The last bytes of the block are a sync record.
func (c *committer) sync(directory int64) {
	end := (c.sink.off + syncRecordSize + blockSize - 1) &^ (blockSize - 1)
	gap := end - syncRecordSize - c.sink.off
	if gap > 0 && gap < recordHeaderSize {
		gap += blockSize
	}
	if gap > 0 {
		c.record(typePad, nil, uint64(gap-recordHeaderSize))
		c.sink.write(make([]byte, gap-recordHeaderSize))
	}
	durable := c.sink.durable.Load()
	for len(c.unsynced) > 0 && c.unsynced[0].to <= durable {
		c.durable = c.unsynced[0].from
		c.unsynced = c.unsynced[1:]
	}
	s := syncHead{durable: durable, durableIndex: c.durable, directory: directory, frames: c.number}
	c.record(typeSync, s.append(make([]byte, 0, syncHeadSize)), 0)
	c.sink.flush()
	c.synced = c.sink.off
}

// finish writes what makes the file complete and waits for the disk. The record that says so is not
// written before everything else is on disk: a power cut must not leave a file that calls itself
// complete and is not.
func (c *committer) finish() error {
	c.sink.await(c.synced)
	c.writeIndex()
	c.sync(0)
	c.sink.await(c.synced)
	d := directoryHead{c.indexes}
	at := c.sink.off
	c.record(typeDirectory, d.append(nil), 0)
	c.align()
	c.sync(at)
	c.w.stats.bytesOut.Store(c.sink.off)
	return c.sink.close()
}
