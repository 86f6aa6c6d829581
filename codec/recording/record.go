package recording

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// recordType is the kind of a record. FORMAT.md has the table.
type recordType uint8

const (
	typeSegment    recordType = 1  // a format; frames follow
	typeMetadata   recordType = 2  // a named JSON value
	typeEvent      recordType = 3  // a timeline.Event
	typeGap        recordType = 4  // frames that are missing
	typeFrame      recordType = 5  // a frame, as a delta
	typeRows       recordType = 6  // all rows of the last frame once more, for the checkpoint that follows
	typeCheckpoint recordType = 7  // where each row of the last frame lies
	typeIndex      recordType = 8  // the heads of all records since the last index
	typeDirectory  recordType = 9  // where the indexes are
	typePad        recordType = 10 // nothing, up to the next block
	typeSync       recordType = 11 // the durable size
	typeVoid       recordType = 12 // bytes found destroyed, marked by repair
)

func (t recordType) String() string {
	names := [...]string{"", "segment", "metadata", "event", "gap", "frame", "rows", "checkpoint", "index", "directory",
		"pad", "sync", "void"}
	if t > 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

const (
	recordMagic      = 0x43455245 // "EREC", little endian
	recordHeaderSize = 40
	recordAlign      = 8
	maxHead          = 64 << 20 // bytes; the largest legitimate one is a delta of a very tall frame
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// recordHeader stands before each record: header, head, body and zeros up to a multiple of 8. It
// has its own offset and the file's tag. So stale bytes of another place or file are never read as
// a record.
type recordHeader struct {
	typ     recordType
	headLen uint32
	headCRC uint32
	bodyLen uint64
	offset  int64
	tag     uint32
}

func (h *recordHeader) size() int64 {
	n := recordHeaderSize + int64(h.headLen) + int64(h.bodyLen)
	return (n + recordAlign - 1) &^ (recordAlign - 1)
}

func (h *recordHeader) body() int64 { return h.offset + recordHeaderSize + int64(h.headLen) }

func (h *recordHeader) put(b *[recordHeaderSize]byte) {
	le := binary.LittleEndian
	*b = [recordHeaderSize]byte{}
	le.PutUint32(b[0:], recordMagic)
	b[4] = byte(h.typ)
	le.PutUint32(b[8:], h.headLen)
	le.PutUint32(b[12:], h.headCRC)
	le.PutUint64(b[16:], h.bodyLen)
	le.PutUint64(b[24:], uint64(h.offset))
	le.PutUint32(b[32:], h.tag)
	le.PutUint32(b[36:], checksum(b[:36]))
}

// parseRecordHeader reads the header that should stand at offset at of a file of size bytes. A
// record that reaches beyond the end is whole as far as its header goes: the caller compares sizes.
func parseRecordHeader(b []byte, at int64, tag uint32) (recordHeader, error) {
	le := binary.LittleEndian
	if len(b) < recordHeaderSize {
		return recordHeader{}, &CorruptError{at, "ends within a record header"}
	}
	if le.Uint32(b) != recordMagic {
		return recordHeader{}, &CorruptError{at, "no record starts here"}
	}
	if le.Uint32(b[36:]) != checksum(b[:36]) {
		return recordHeader{}, &CorruptError{at, "record header fails its checksum"}
	}
	h := recordHeader{
		typ:     recordType(b[4]),
		headLen: le.Uint32(b[8:]),
		headCRC: le.Uint32(b[12:]),
		bodyLen: le.Uint64(b[16:]),
		offset:  int64(le.Uint64(b[24:])),
		tag:     le.Uint32(b[32:]),
	}
	switch {
	case h.offset != at:
		return h, &CorruptError{at, fmt.Sprintf("record was written for offset %d", h.offset)}
	case h.tag != tag:
		return h, &CorruptError{at, "record belongs to another recording"}
	case h.headLen > maxHead:
		return h, &CorruptError{at, fmt.Sprintf("%v record has a head of %d bytes, limit %d", h.typ, h.headLen,
			maxHead)}
	case h.bodyLen > 1<<40:
		return h, &CorruptError{at, fmt.Sprintf("%v record has a body of %d bytes", h.typ, h.bodyLen)}
	}
	return h, nil
}

// CorruptError names the bytes of a recording that differ from the written ones.
type CorruptError struct {
	Offset int64 // in the file
	What   string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("damaged at offset %d: %s", e.Offset, e.What)
}
