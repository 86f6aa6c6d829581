package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Damage is a part of a file that differs from the written bytes.
type Damage struct {
	Offset, Length int64
	What           string
}

func (d Damage) String() string {
	return fmt.Sprintf("offset %d, %d bytes: %s", d.Offset, d.Length, d.What)
}

// scanner finds records one after another, without an index. Where the chain is broken it looks for
// the next record.
type scanner struct {
	f    io.ReaderAt
	size int64 // of the file
	tag  uint32
	at   int64
	buf  []byte
}

// errEnd is the orderly end of a scan. A torn end is reported as a Damage that reaches to it.
var errEnd = errors.New("no more records")

// next returns the next record's header. Where bytes had to be skipped on the way, or at the end of
// the file, skipped says which.
func (s *scanner) next() (h recordHeader, skipped *Damage, err error) {
	if s.at >= s.size {
		return h, nil, errEnd
	}
	h, what := s.header(s.at)
	if what == nil {
		s.at += h.size()
		return h, nil, nil
	}
	var ioErr *CorruptError
	if !errors.As(what, &ioErr) {
		return h, nil, what
	}
	start := s.at
	found, err := s.resync(start + recordAlign)
	if err != nil {
		return h, nil, err
	}
	s.at = found
	skipped = &Damage{start, found - start, ioErr.What}
	if found == s.size {
		return h, skipped, errEnd
	}
	if h, err = s.header(found); err != nil {
		return h, skipped, err
	}
	s.at += h.size()
	return h, skipped, nil
}

// header reads the header at an offset; the record must end within the file.
func (s *scanner) header(at int64) (recordHeader, error) {
	if at < 0 || at >= s.size {
		return recordHeader{}, &CorruptError{at, fmt.Sprintf("no record can be outside the file's %d bytes", s.size)}
	}
	var b [recordHeaderSize]byte
	n, err := s.f.ReadAt(b[:min(recordHeaderSize, s.size-at)], at)
	if err != nil && err != io.EOF {
		return recordHeader{}, fmt.Errorf("read recording at offset %d: %w", at, err)
	}
	h, err := parseRecordHeader(b[:n], at, s.tag)
	if err != nil {
		return h, err
	}
	if h.size() > s.size-at {
		return h, &CorruptError{at, fmt.Sprintf("%v record of %d bytes ends behind the file's %d", h.typ, h.size(),
			s.size)}
	}
	return h, nil
}

// resync returns the offset of the first whole record at or after from, or the file's size.
func (s *scanner) resync(from int64) (int64, error) {
	var magic [4]byte
	binary.LittleEndian.PutUint32(magic[:], recordMagic)
	if s.buf == nil {
		s.buf = make([]byte, min(1<<20, s.size))
	}
	for from < s.size {
		n, err := s.f.ReadAt(s.buf[:min(int64(len(s.buf)), s.size-from)], from)
		if err != nil && err != io.EOF || n == 0 {
			return 0, fmt.Errorf("read recording at offset %d: %w", from, err)
		}
		chunk := s.buf[:n]
		for i := 0; ; {
			k := bytes.Index(chunk[i:], magic[:])
			if k < 0 {
				break
			}
			i += k
			at := from + int64(i)
			if at%recordAlign == 0 {
				if _, err := s.header(at); err == nil {
					return at, nil
				}
			}
			i++
		}
		if int64(n) >= s.size-from {
			break
		}
		from += int64(n) - recordAlign // a magic may lie across the seam
		from &^= recordAlign - 1
	}
	return s.size, nil
}

// head reads a record's head and holds it against its checksum.
func (s *scanner) head(h recordHeader, buf []byte) ([]byte, error) {
	if cap(buf) < int(h.headLen) {
		buf = make([]byte, h.headLen)
	}
	buf = buf[:h.headLen]
	if _, err := s.f.ReadAt(buf, h.offset+recordHeaderSize); err != nil {
		return nil, fmt.Errorf("read recording at offset %d: %w", h.offset, err)
	}
	if checksum(buf) != h.headCRC {
		return nil, &CorruptError{h.offset + recordHeaderSize, fmt.Sprintf("head of a %v record fails its checksum",
			h.typ)}
	}
	return buf, nil
}

// lastSync finds the last whole sync record of a file and where it ends. Sync records end with a
// block, so only one place a block needs to be looked at. ok is false where there is none.
func lastSync(f io.ReaderAt, size int64, tag uint32) (s syncHead, end int64, ok bool, err error) {
	// A file that was closed has one at its very end, so the first look is a short one.
	chunkSize := int64(blockSize)
	var buf []byte
	for to := size &^ (blockSize - 1); to > dataStart; {
		from := max(dataStart, to-chunkSize)
		if int64(len(buf)) < to-from {
			buf = make([]byte, to-from)
		}
		chunk := buf[:to-from]
		if _, err := f.ReadAt(chunk, from); err != nil && err != io.EOF {
			return s, 0, false, fmt.Errorf("read recording at offset %d: %w", from, err)
		}
		for n := len(chunk); n >= blockSize; n -= blockSize {
			at := from + int64(n) - syncRecordSize
			b := chunk[n-syncRecordSize : n]
			h, herr := parseRecordHeader(b, at, tag)
			if herr != nil || h.typ != typeSync || h.headLen != syncHeadSize ||
				checksum(b[recordHeaderSize:]) != h.headCRC {
				continue
			}
			if s.parse(b[recordHeaderSize:]) == nil && s.durable <= at {
				return s, from + int64(n), true, nil
			}
		}
		to = from
		chunkSize = min(4*chunkSize, 256*blockSize)
	}
	return s, 0, false, nil
}
