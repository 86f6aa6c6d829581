package recording

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Heads are the parts of records that are read without their bodies; indexes repeat them. Each type
// has an append function for the writer and a parse method for the reader. Numbers are uvarints,
// signed ones zigzag.

// blockInfo is a block's place in the file, its sizes and its checksum.
type blockInfo struct {
	offset int64  // in the file; not part of a head
	raw    uint32 // bytes when unpacked
	stored uint32 // bytes in the file; equal to raw: not compressed
	crc    uint32 // of the stored bytes
	kind   rowdelta.Packing
}

// kindShift is where a block's packing begins in the number of its unpacked bytes.
const kindShift = 24

const maxBlockRaw = 4 << 20

// checkSize refuses a block that claims more than LZ4 can pack into so few bytes: a tiny file must
// not ask for much memory.
func (b *blockInfo) checkSize(p *headParser) {
	if b.raw == 0 || uint64(b.raw) > 256*uint64(b.stored) {
		p.fail(fmt.Sprintf("block of %d bytes packed into %d", b.raw, b.stored))
	}
}

func appendBlocks(dst []byte, blocks []blockInfo) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(blocks)))
	for _, b := range blocks {
		dst = b.append(dst)
	}
	return dst
}

// append appends all but the offset.
func (b *blockInfo) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(b.kind)<<kindShift|uint64(b.raw))
	dst = binary.AppendUvarint(dst, uint64(b.stored))
	return binary.LittleEndian.AppendUint32(dst, b.crc)
}

// parse reads what append wrote.
func (b *blockInfo) parse(p *headParser) {
	v := p.limited(1<<32-1, "size of a block")
	b.kind = rowdelta.Packing(v >> kindShift)
	b.raw = uint32(v & (1<<kindShift - 1))
	b.stored = uint32(p.limited(uint64(b.raw), "stored size of a block"))
	b.crc = p.uint32()
	b.checkSize(p)
	if b.raw > maxBlockRaw || !b.kind.Known() || b.kind != rowdelta.Plain && b.stored == b.raw {
		p.fail(fmt.Sprintf("block of %d bytes, packing %d", b.raw, b.kind))
	}
}

// headParser reads a head and keeps its first error.
type headParser struct {
	b   []byte
	err error
}

func (p *headParser) fail(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("head: %s", what)
	}
	p.b = nil
}

func (p *headParser) uvarint() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.fail("ends within a number")
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *headParser) varint() int64 {
	v := p.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// limited reads a number that may be at most most.
func (p *headParser) limited(most uint64, what string) uint64 {
	v := p.uvarint()
	if v > most {
		p.fail(fmt.Sprintf("%s is %d, at most %d", what, v, most))
		return 0
	}
	return v
}

func (p *headParser) bytes(n uint64) []byte {
	if n > uint64(len(p.b)) {
		p.fail("ends too early")
		return nil
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b
}

func (p *headParser) uint32() uint32 {
	if b := p.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (p *headParser) uint64() uint64 {
	if b := p.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (p *headParser) text() string {
	b := p.bytes(p.limited(timeline.MaxEventName, "length of a name"))
	if !utf8.Valid(b) {
		p.fail("name is not UTF-8")
		return ""
	}
	return string(b)
}

// blocks reads a block list into dst. Each block gets its offset in a body that starts at body and
// has bodyLen bytes.
func (p *headParser) blocks(dst []blockInfo, body int64, bodyLen uint64) []blockInfo {
	n := p.limited(uint64(len(p.b)/6+1), "number of blocks")
	at := uint64(0)
	for range n {
		b := blockInfo{offset: body + int64(at)}
		b.parse(p)
		at += uint64(b.stored)
		dst = append(dst, b)
	}
	if at != bodyLen {
		p.fail(fmt.Sprintf("blocks of %d bytes in a body of %d", at, bodyLen))
	}
	return dst
}

func (p *headParser) done() error {
	if p.err == nil && len(p.b) > 0 {
		p.fail(fmt.Sprintf("%d bytes left over", len(p.b)))
	}
	return p.err
}

// frameHead is the head of a frame's record, without pixels.
type frameHead struct {
	number uint64
	// number of its segment: should that one's record be lost, the frame must not be read in
	// another format
	segment uint64
	meta    frame.Meta
	hash    uint64
	delta   []byte
	blocks  []blockInfo
}

// appendFrameHead appends all but the block list, which is known once the blocks are packed.
func appendFrameHead(dst []byte, number, segment uint64, m *frame.Meta, hash uint64, d *rowdelta.Delta,
	scratch []byte) (head, delta []byte) {
	dst = binary.AppendUvarint(dst, number)
	dst = binary.AppendUvarint(dst, segment)
	dst = binary.AppendUvarint(dst, m.Sequence)
	dst = binary.AppendVarint(dst, int64(m.Sampled.Earliest))
	dst = binary.AppendUvarint(dst, uint64(m.Sampled.Width()))
	dst = append(dst, byte(m.Flags), byte(m.Missed))
	dst = binary.LittleEndian.AppendUint64(dst, hash)
	scratch = d.Append(scratch[:0])
	dst = binary.AppendUvarint(dst, uint64(len(scratch)))
	return append(dst, scratch...), scratch
}

// parse reads a frame's head; its delta stays a part of head. With light set blocks are left out.
func (f *frameHead) parse(head []byte, body int64, bodyLen uint64, light bool) error {
	p := headParser{b: head}
	f.number, f.segment = p.uvarint(), p.uvarint()
	f.meta.Sequence = p.uvarint()
	earliest := p.varint()
	width := p.limited(1<<62, "sampling interval")
	if b := p.bytes(2); b != nil {
		f.meta.Flags, f.meta.Missed = frame.Flags(b[0]), frame.Cause(b[1])
	}
	if earliest > 0 && int64(width) > math.MaxInt64-earliest {
		p.fail("sampling interval is out of range")
	}
	f.meta.Sampled = timeline.Interval{Earliest: timeline.Time(earliest),
		Latest: timeline.Time(earliest + int64(width))}
	f.hash = p.uint64()
	f.delta = p.bytes(p.uvarint())
	if light {
		return p.err
	}
	f.blocks = p.blocks(f.blocks[:0], body, bodyLen)
	return p.done()
}

// segmentHead is a format that holds from the next frame on.
type segmentHead struct {
	number uint64 // counts a file's segments from 0
	first  uint64 // number of the segment's first frame
	format frame.Format
	period [2]int64 // nominal, as a fraction of seconds
}

func (s *segmentHead) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, s.number)
	dst = binary.AppendUvarint(dst, s.first)
	for _, v := range []int{s.format.Width, s.format.Height, s.format.Stride, int(s.format.Pixel), int(s.format.Range),
		int(s.format.Matrix)} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	dst = binary.AppendVarint(dst, s.period[0])
	return binary.AppendVarint(dst, s.period[1])
}

func (s *segmentHead) parse(head []byte) error {
	p := headParser{b: head}
	s.number, s.first = p.uvarint(), p.uvarint()
	s.format = frame.Format{
		Width:  int(p.limited(frame.MaxSide, "width")),
		Height: int(p.limited(frame.MaxSide, "height")),
		Stride: int(p.limited(frame.MaxBytes, "stride")),
		Pixel:  frame.PixelFormat(p.limited(1<<32-1, "pixel format")),
		Range:  frame.Range(p.limited(255, "range")),
		Matrix: frame.Matrix(p.limited(255, "matrix")),
	}
	s.period = [2]int64{p.varint(), p.varint()}
	if err := p.done(); err != nil {
		return err
	}
	return s.format.Validate()
}

// gapHead is a run of missing frames.
type gapHead struct {
	before uint64 // number of the frame it stands before
	gap    frame.Gap
}

func (g *gapHead) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, g.before)
	dst = binary.AppendUvarint(dst, g.gap.First)
	dst = binary.AppendUvarint(dst, g.gap.Count)
	dst = append(dst, byte(g.gap.Cause))
	dst = binary.AppendVarint(dst, int64(g.gap.At.Earliest))
	return binary.AppendVarint(dst, int64(g.gap.At.Latest))
}

// Limits of a gap, so that sums over all gaps of a file fit into 64 bits.
const (
	maxGapFirst  = 1 << 63
	maxGapFrames = 1 << 40 // over 500 years of 60 Hz
)

func (g *gapHead) parse(head []byte) error {
	p := headParser{b: head}
	g.before = p.uvarint()
	g.gap.First, g.gap.Count = uint64(p.limited(maxGapFirst, "first missing frame")),
		uint64(p.limited(maxGapFrames, "number of missing frames"))
	if b := p.bytes(1); b != nil {
		g.gap.Cause = frame.Cause(b[0])
	}
	g.gap.At = timeline.Interval{Earliest: timeline.Time(p.varint()), Latest: timeline.Time(p.varint())}
	return p.done()
}

// valueHead is an event or a metadata value; its JSON is the body.
type valueHead struct {
	event  timeline.Event // for metadata only Kind is used: its name
	blocks []blockInfo
}

func (v *valueHead) append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, int64(v.event.At))
	dst = binary.AppendUvarint(dst, uint64(v.event.Uncertainty))
	for _, s := range []string{v.event.Source, v.event.Kind} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

func (v *valueHead) parse(head []byte, body int64, bodyLen uint64) error {
	p := headParser{b: head}
	v.event.At = timeline.Time(p.varint())
	v.event.Uncertainty = time.Duration(p.limited(1<<62, "uncertainty"))
	v.event.Source, v.event.Kind = p.text(), p.text()
	v.blocks = p.blocks(nil, body, bodyLen)
	return p.done()
}

// checkpointHead has the places of a frame's rows; the table is its body.
type checkpointHead struct {
	number uint64 // of the frame whose rows the table places
	hash   uint64 // of that frame
	blocks []blockInfo
}

func (c *checkpointHead) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, c.number)
	return binary.LittleEndian.AppendUint64(dst, c.hash)
}

func (c *checkpointHead) parse(head []byte, body int64, bodyLen uint64) error {
	p := headParser{b: head}
	c.number = p.uvarint()
	c.hash = p.uint64()
	c.blocks = p.blocks(nil, body, bodyLen)
	return p.done()
}

// indexHead repeats the heads of a range of records, so that a file is opened without reading
// pixels.
type indexHead struct {
	previous   int64 // offset of the index before, or 0
	from, to   int64 // the records that it covers, by offset
	firstFrame uint64
	frames     uint64
	wallOffset int64 // as in the file header, sampled when the index was written
	femto      int64 // fitted frame period of the current segment so far, in femtoseconds; 0 unknown
	blocks     []blockInfo
}

func (x *indexHead) append(dst []byte) []byte {
	for _, v := range []int64{x.previous, x.from, x.to, int64(x.firstFrame), int64(x.frames)} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	dst = binary.AppendVarint(dst, x.wallOffset)
	return binary.AppendUvarint(dst, uint64(x.femto))
}

func (x *indexHead) parse(head []byte, body int64, bodyLen uint64) error {
	p := headParser{b: head}
	const most = 1 << 60
	x.previous = int64(p.limited(most, "offset"))
	x.from = int64(p.limited(most, "offset"))
	x.to = int64(p.limited(most, "offset"))
	x.firstFrame = p.limited(most, "frame number")
	x.frames = p.limited(most, "number of frames")
	x.wallOffset = p.varint()
	x.femto = int64(p.limited(1<<62, "frame period"))
	x.blocks = p.blocks(nil, body, bodyLen)
	return p.done()
}

// directoryHead lists all indexes of a file that was closed cleanly.
type directoryHead struct {
	indexes []int64 // offsets
}

func (d *directoryHead) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(d.indexes)))
	last := int64(0)
	for _, at := range d.indexes {
		dst = binary.AppendUvarint(dst, uint64(at-last))
		last = at
	}
	return dst
}

func (d *directoryHead) parse(head []byte) error {
	p := headParser{b: head}
	n := p.limited(uint64(len(p.b)), "number of indexes")
	last := int64(0)
	for range n {
		last += int64(p.limited(1<<60, "offset"))
		d.indexes = append(d.indexes, last)
	}
	return p.done()
}

// syncHead ends each flush; it is the last thing in a block, so that it is found from a file's end.
type syncHead struct {
	durable      int64  // every byte before this was on disk before the record was written
	durableIndex int64  // offset of the last index that lies before durable, or 0
	directory    int64  // offset of the directory, or 0 unless the recording was closed here
	frames       uint64 // stored so far
}

const (
	syncHeadSize   = 32
	syncRecordSize = recordHeaderSize + syncHeadSize // a multiple of recordAlign
)

func (s *syncHead) append(dst []byte) []byte {
	for _, v := range []uint64{uint64(s.durable), uint64(s.durableIndex), uint64(s.directory), s.frames} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

func (s *syncHead) parse(head []byte) error {
	if len(head) != syncHeadSize {
		return fmt.Errorf("head: %d bytes, want %d", len(head), syncHeadSize)
	}
	le := binary.LittleEndian
	s.durable, s.durableIndex = int64(le.Uint64(head)), int64(le.Uint64(head[8:]))
	s.directory, s.frames = int64(le.Uint64(head[16:])), le.Uint64(head[24:])
	return nil
}
