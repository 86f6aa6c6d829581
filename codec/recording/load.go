package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Loading a recording's heads: from its indexes as far as they reach, then record by record.

// readIndexes loads everything that is indexed. Where an index is damaged, its records are scanned
// instead.
func (r *Reader) readIndexes() error {
	r.tailFrom, r.end = dataStart, dataStart
	s, syncEnd, ok, err := lastSync(r.f, r.size, r.header.tag())
	if err != nil || !ok {
		return err
	}
	var offsets []int64
	if s.directory != 0 && syncEnd == r.size {
		offsets, r.complete = r.directory(s.directory)
	}
	if !r.complete {
		offsets = r.indexChain(s.durableIndex)
	}
	for _, at := range offsets {
		if err := r.loadIndex(at); err != nil {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) {
				return err
			}
			r.fault(corrupt)
			r.complete = false
			break // records from tailFrom on are scanned
		}
	}
	return nil
}

// directory reads the list of indexes of a recording that was closed.
func (r *Reader) directory(at int64) ([]int64, bool) {
	s := scanner{f: r.f, size: r.size, tag: r.header.tag()}
	h, err := s.header(at)
	if err != nil || h.typ != typeDirectory {
		return nil, false
	}
	head, err := s.head(h, nil)
	var d directoryHead
	if err != nil || d.parse(head) != nil {
		return nil, false
	}
	return d.indexes, true
}

// indexChain follows the indexes back from the last one, and returns them in order of the file. A
// broken link ends it. Earlier bytes are then scanned.
func (r *Reader) indexChain(last int64) []int64 {
	var offsets []int64
	s := scanner{f: r.f, size: r.size, tag: r.header.tag()}
	for at := last; at != 0; {
		x, _, err := s.index(at)
		if err != nil || x.previous >= at {
			return nil
		}
		offsets = append(offsets, at)
		at = x.previous
	}
	slices.Reverse(offsets)
	return offsets
}

// index reads the index at an offset, without its entries.
func (s *scanner) index(at int64) (x indexHead, h recordHeader, err error) {
	if at < dataStart || at%recordAlign != 0 {
		return x, h, &CorruptError{at, "no index can be here"}
	}
	if h, err = s.header(at); err != nil {
		return x, h, err
	}
	if h.typ != typeIndex {
		return x, h, &CorruptError{at, fmt.Sprintf("%v record where an index should be", h.typ)}
	}
	head, err := s.head(h, nil)
	if err != nil {
		return x, h, err
	}
	if err := x.parse(head, h.body(), h.bodyLen); err != nil {
		return x, h, &CorruptError{at, err.Error()}
	}
	return x, h, nil
}

// loadIndex takes in the entries of the index at an offset, which must go on where the last one
// ended.
func (r *Reader) loadIndex(at int64) error {
	s := scanner{f: r.f, size: r.size, tag: r.header.tag()}
	x, h, err := s.index(at)
	if err != nil {
		return err
	}
	if x.from != r.tailFrom || x.to != at || x.from > at || x.firstFrame != uint64(len(r.frames)) {
		return &CorruptError{at, fmt.Sprintf("index covers offsets %d to %d from frame %d on, want %d and frame %d",
			x.from, x.to, x.firstFrame, r.tailFrom, len(r.frames))}
	}
	if raw := rawSize(x.blocks); raw > at-x.from {
		return &CorruptError{at, fmt.Sprintf("index of %d bytes for %d bytes of records", raw, at-x.from)}
	}
	heads, err := r.readBlocks(x.blocks, nil)
	if err != nil {
		return err
	}
	i := int32(len(r.intervals))
	r.intervals = append(r.intervals, interval{at: at, blocks: x.blocks})
	// All entries are checked before the first is used, so an index counts as a whole or not at
	// all.
	if err := eachEntry(heads, x.from, at, func(recordHeader, []byte, uint32) {}); err != nil {
		return err
	}
	err = eachEntry(heads, x.from, at, func(h recordHeader, head []byte, headAt uint32) {
		var corrupt *CorruptError
		if err := r.entry(h, head, i, headAt); errors.As(err, &corrupt) {
			r.fault(corrupt)
		}
	})
	if err != nil {
		return err
	}
	if r.cached+len(heads) <= maxCached && len(r.cache) < maxHeads {
		r.cached += len(heads)
		r.cache = append(r.cache, cachedHeads{i, heads})
	}
	r.indexes = append(r.indexes, at)
	r.tailFrom = at + h.size()
	r.end = r.tailFrom
	r.wallLast = x.wallOffset
	if n := len(r.segments); n > 0 {
		r.segments[n-1].FemtoPeriod = x.femto
	}
	return nil
}

// rawSize is how many bytes blocks unpack to.
func rawSize(blocks []blockInfo) (n int64) {
	for _, b := range blocks {
		n += int64(b.raw)
	}
	return n
}

// eachEntry calls take with each entry of an index of the records from one offset to another. Every
// record takes its room in the file, so that a small file cannot claim many.
func eachEntry(b []byte, from, end int64, take func(h recordHeader, head []byte, headAt uint32)) error {
	size := len(b)
	offset, next := from, from
	for len(b) > 0 {
		p := headParser{b: b[1:]}
		t := recordType(b[0])
		offset += int64(p.limited(uint64(end-offset), "offset of a record"))
		headLen := p.limited(maxHead, "length of a head")
		bodyLen := p.limited(uint64(end-offset), "length of a body")
		headAt := size - len(p.b)
		head := p.bytes(headLen)
		if p.err != nil {
			return &CorruptError{end, "index: " + p.err.Error()}
		}
		h := recordHeader{typ: t, headLen: uint32(headLen), bodyLen: bodyLen, offset: offset}
		if offset < next || offset%recordAlign != 0 || h.size() > end-offset || !t.indexed() {
			return &CorruptError{end, fmt.Sprintf("index: no %v record of %d bytes can be at offset %d", t, h.size(),
				offset)}
		}
		next = offset + h.size()
		take(h, head, uint32(headAt))
		b = p.b
	}
	return nil
}

// readTail scans the records that no index covers.
func (r *Reader) readTail() error {
	s := scanner{f: r.f, size: r.size, tag: r.header.tag(), at: r.tailFrom}
	i := int32(len(r.intervals))
	r.intervals = append(r.intervals, interval{})
	var heads, head []byte
	r.tailEntry, r.tailFirst = r.tailFrom, uint64(len(r.frames))
	for {
		h, skipped, err := s.next()
		if skipped != nil {
			r.damage = append(r.damage, *skipped)
			r.complete = false
		}
		if err == errEnd {
			break
		}
		if err != nil {
			return err
		}
		r.end = s.at
		if h.typ == typeVoid {
			r.damage = append(r.damage, Damage{h.offset, h.size(), voidNote})
		}
		if !h.typ.indexed() {
			continue
		}
		if head, err = s.head(h, head); err == nil {
			at := len(heads)
			heads = append(heads, head...)
			r.intervals[i].heads = heads
			err = r.entry(h, heads[at:], i, uint32(at))
		}
		if err != nil {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) {
				return err
			}
			r.fault(corrupt)
			continue
		}
		r.tail = appendIndexEntry(r.tail, h, head, r.tailEntry)
		r.tailEntry = h.offset
	}
	if len(r.intervals[i].heads) > 0 {
		r.complete = false
	}
	return nil
}

// fault notes a record with impossible contents. Beyond some thousands more of them say nothing
// new.
func (r *Reader) fault(e *CorruptError) {
	if r.faults++; r.faults <= maxFaults {
		r.damage = append(r.damage, Damage{e.Offset, 0, e.What})
	}
}

// Limits of the entries that are kept from a file with too many.
const (
	maxFaults        = 4096
	maxLayoutRows    = 1 << 21  // of all formats together: some hundred of a screen
	maxMetadataTotal = 64 << 20 // bytes of the values that are kept
)

// appendIndexEntry repeats a record's head in an index. last is the offset of the entry before.
func appendIndexEntry(dst []byte, h recordHeader, head []byte, last int64) []byte {
	dst = append(dst, byte(h.typ))
	dst = binary.AppendUvarint(dst, uint64(h.offset-last))
	dst = binary.AppendUvarint(dst, uint64(h.headLen))
	dst = binary.AppendUvarint(dst, h.bodyLen)
	return append(dst, head...)
}

// entry takes in one record by its head.
func (r *Reader) entry(h recordHeader, head []byte, interval int32, headAt uint32) error {
	var err error
	switch h.typ {
	case typeFrame:
		err = r.addFrame(h, head, interval, headAt)
	case typeSegment:
		err = r.addSegment(head)
	case typeGap:
		var g gapHead
		if err = g.parse(head); err == nil {
			r.gaps = append(r.gaps, Gap{Before: int(min(g.before, uint64(r.size))), Gap: g.gap})
		}
	case typeEvent, typeMetadata:
		err = r.addValue(h, head, interval, headAt)
	case typeCheckpoint:
		err = r.addCheckpoint(h, head)
	}
	if err == nil {
		return nil
	}
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return err
	}
	return &CorruptError{h.offset, fmt.Sprintf("%v record: %v", h.typ, err)}
}

func (r *Reader) addFrame(h recordHeader, head []byte, interval int32, headAt uint32) error {
	var f frameHead
	if err := f.parse(head, 0, h.bodyLen, true); err != nil {
		return err
	}
	if len(r.segments) == 0 {
		return errors.New("before the first segment")
	}
	if f.segment != r.segment {
		return fmt.Errorf("belongs to segment %d, and the last one found is segment %d", f.segment, r.segment)
	}
	n := uint64(len(r.frames))
	if f.number < n || f.number > uint64(r.size/recordHeaderSize) {
		return fmt.Errorf("has number %d after %d frames", f.number, n)
	}
	r.addLost(f.number, interval) // their records are gone
	r.frames = append(r.frames, frameEntry{
		meta: f.meta, offset: h.offset, bodyLen: h.bodyLen, interval: interval, headAt: headAt, headLen: h.headLen,
	})
	return nil
}

// addLost adds lost frames up to, and not including, frame end.
func (r *Reader) addLost(end uint64, interval int32) {
	at := int64(0)
	if n := len(r.frames); n > 0 {
		last := &r.frames[n-1]
		if at = int64(last.bodyLen); last.offset != 0 {
			at = last.end()
		}
	}
	for uint64(len(r.frames)) < end {
		r.frames = append(r.frames, frameEntry{interval: interval, bodyLen: uint64(at)})
	}
}

func (r *Reader) addSegment(head []byte) error {
	var s segmentHead
	if err := s.parse(head); err != nil {
		return err
	}
	if s.first < uint64(len(r.frames)) || s.first > uint64(r.size/recordHeaderSize) {
		return fmt.Errorf("starts at frame %d after %d frames", s.first, len(r.frames))
	}
	if len(r.segments) > 0 && s.number <= r.segment || s.number > uint64(r.size/recordHeaderSize) {
		return fmt.Errorf("has number %d after %d", s.number, r.segment)
	}
	layout, err := r.layout(s.format)
	if err != nil {
		return err
	}
	if len(r.segments) > 0 {
		r.addLost(s.first, 0)
	}
	r.segment = s.number
	r.segments = append(r.segments, Segment{First: len(r.frames), Layout: layout, PeriodNum: s.period[0],
		PeriodDen: s.period[1]})
	return nil
}

// layout lays out a format once, however many segments have it.
func (r *Reader) layout(f frame.Format) (*frame.Layout, error) {
	if l := r.layouts[f]; l != nil {
		return l, nil
	}
	if r.layoutRows += 3 * f.Height; r.layoutRows > maxLayoutRows {
		return nil, fmt.Errorf("has one format too many (%v)", f)
	}
	l, err := frame.NewLayout(f)
	if err == nil {
		r.layouts[f] = l
	}
	return l, err
}

func (r *Reader) addCheckpoint(h recordHeader, head []byte) error {
	c := checkpointEntry{segment: len(r.segments) - 1, offset: h.offset}
	if err := c.parse(head, h.body(), h.bodyLen); err != nil {
		return err
	}
	if c.segment < 0 || c.number >= uint64(len(r.frames)) {
		return fmt.Errorf("is of frame %d after %d frames", c.number, len(r.frames))
	}
	if n := len(r.checkpoints); n > 0 && r.checkpoints[n-1].number >= c.number {
		return fmt.Errorf("is of frame %d after one of frame %d", c.number, r.checkpoints[n-1].number)
	}
	r.checkpoints = append(r.checkpoints, c)
	return nil
}

func (r *Reader) addValue(h recordHeader, head []byte, interval int32, headAt uint32) error {
	var v valueHead
	if err := v.parse(head, h.body(), h.bodyLen); err != nil {
		return err
	}
	total := rawSize(v.blocks)
	if total > maxMetadata || h.typ == typeEvent && total > timeline.MaxEventData {
		return fmt.Errorf("carries %d bytes", total)
	}
	place := valuePlace{offset: h.offset, bodyLen: h.bodyLen, interval: interval, headAt: headAt, headLen: h.headLen}
	e := &v.event
	if h.typ == typeEvent {
		if err := e.Validate(); err != nil {
			return err
		}
		r.events = append(r.events,
			eventEntry{timeline.EventHead{At: e.At, Uncertainty: e.Uncertainty, Source: e.Source, Kind: e.Kind,
				Bytes: int(total)}, place})
	} else if i, ok := r.names[e.Kind]; ok {
		r.metadata[i].place = place
	} else {
		r.names[e.Kind] = len(r.metadata)
		r.metadata = append(r.metadata, metadataEntry{Metadata{Name: e.Kind}, place})
	}
	r.valueBytes += total + int64(len(e.Source)+len(e.Kind))
	return nil
}

// value reads the data of an event or the value of metadata; nil is none.
func (r *Reader) value(p valuePlace) ([]byte, error) {
	heads, err := r.heads(p.interval)
	if err != nil {
		return nil, err
	}
	h := recordHeader{headLen: p.headLen, bodyLen: p.bodyLen, offset: p.offset}
	var v valueHead
	if err := v.parse(heads[p.headAt:p.headAt+p.headLen], h.body(), h.bodyLen); err != nil {
		return nil, &CorruptError{p.offset, err.Error()}
	}
	data, err := r.readBlocks(v.blocks, nil)
	if len(data) == 0 {
		data = nil
	}
	return data, err
}

// readMetadata reads the newest value of each name. Values that cannot be read are left out.
func (r *Reader) readMetadata() error {
	left := int64(maxMetadataTotal)
	kept := r.metadata[:0]
	for _, m := range r.metadata {
		var err error
		if m.Value, err = r.value(m.place); err == nil && int64(len(m.Value)) > left {
			err = &CorruptError{m.place.offset, fmt.Sprintf("metadata of more than %d bytes", maxMetadataTotal)}
		}
		var corrupt *CorruptError
		if errors.As(err, &corrupt) {
			r.fault(corrupt)
			continue
		}
		if err != nil {
			return err
		}
		left -= int64(len(m.Value))
		kept = append(kept, m)
	}
	clear(r.metadata[len(kept):])
	r.metadata = kept
	return nil
}

// table reads a checkpoint's table into places and returns its blocks.
func (r *Reader) table(c *checkpointEntry, places *rowdelta.Places, l *frame.Layout, dst []blockInfo) ([]blockInfo,
	error) {
	const most = 64 * rowdelta.MaxPieces // bytes of table for each row: all pieces and a block for each take fewer
	if n := rawSize(c.blocks); n > int64(most*len(l.Rows)) {
		return dst, &CorruptError{c.offset, fmt.Sprintf("checkpoint with a table of %d bytes for %d rows", n,
			len(l.Rows))}
	}
	raw, err := r.readBlocks(c.blocks, nil)
	if err != nil {
		return dst, err
	}
	dst, err = parseTable(raw, places, func(y int) int { return l.Rows[y].Bytes }, len(l.Rows), r.size, dst)
	if err != nil {
		return dst, &CorruptError{c.offset, "checkpoint: " + err.Error()}
	}
	return dst, nil
}
