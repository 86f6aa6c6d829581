package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// RepairReport is the result of a repair.
type RepairReport struct {
	Repaired bool     // false: the recording was closed cleanly, nothing was to be done
	Kept     int      // frames
	Removed  int64    // bytes of an unfinished record at the end
	Voided   []Damage // destroyed bytes between sound records, now marked as such
	Notes    []string
}

// Repair completes a recording that was not closed, in place. It reads only bytes that were not
// known to be durable when the writing stopped. It does not change or remove a byte of a whole
// record. It cuts off an unfinished record at the end, marks destroyed bytes between whole records,
// and appends an index.
func Repair(path string) (RepairReport, error) { return repairFile(path, nil) }

func repairFile(path string, expected *expected) (RepairReport, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return RepairReport{}, fmt.Errorf("open recording: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return RepairReport{}, fmt.Errorf("open recording: %w", err)
	}
	rep, err := repair(&diskFile{File: f}, st.Size(), expected)
	if err != nil {
		return rep, fmt.Errorf("repair %s: %w", path, err)
	}
	return rep, nil
}

// repairable is storage that can be repaired in place.
type repairable interface {
	storage
	io.ReaderAt
	Truncate(size int64) error
}

// repair ends a file. Expected frames that are not in the file are recorded as a gap. They are
// unknown if expected is nil.
func repair(f repairable, size int64, expected *expected) (RepairReport, error) {
	var rep RepairReport
	r, err := newReader(f, size)
	if err != nil {
		return rep, err
	}
	rep.Kept = len(r.frames)
	if err := rep.repairHeader(f, r); err != nil {
		return rep, err
	}
	if r.complete {
		if rep.Repaired {
			return rep, f.Sync()
		}
		return rep, nil
	}
	rep.Repaired = true
	end := r.end
	for _, d := range r.damage {
		switch {
		case d.Length < recordHeaderSize || d.Offset < dataStart:
		case d.Offset >= end:
			rep.Removed = d.Length
		case d.What == voidNote:
		default:
			if err := voidOut(f, r.header.tag(), d); err != nil {
				return rep, err
			}
			rep.Voided = append(rep.Voided, d)
		}
	}
	if end < size {
		rep.Removed = size - end
		if err := f.Truncate(end); err != nil {
			return rep, fmt.Errorf("cut off %d bytes of an unfinished record: %w", size-end, err)
		}
	}
	if err := r.appendEnd(f, end, expected.notIn(r)); err != nil {
		rep.Notes = append(rep.Notes,
			fmt.Sprintf("cannot append an index (%v); the recording opens slowly and lacks the gap at its end", err))
		if err := f.Truncate(end); err != nil {
			return rep, err
		}
	}
	return rep, f.Sync()
}

const voidNote = "found destroyed by an earlier repair"

// repairHeader restores a damaged copy of the file header from the other.
func (rep *RepairReport) repairHeader(f repairable, r *Reader) error {
	b := make([]byte, dataStart)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, first := parseFileHeader(b[:headerSize])
	_, second := parseFileHeader(b[headerSize:])
	var err error
	switch {
	case first == nil && second == nil:
		return nil
	case first != nil:
		_, err = f.WriteAt(b[headerSize:], 0)
	default:
		_, err = f.WriteAt(b[:headerSize], headerSize)
	}
	if err != nil {
		return fmt.Errorf("restore file header: %w", err)
	}
	rep.Repaired = true
	rep.Notes = append(rep.Notes, "a damaged copy of the file header was restored from the other one")
	return nil
}

// voidOut turns destroyed bytes into a record that says so. Only its header is written.
func voidOut(f storage, tag uint32, d Damage) error {
	h := recordHeader{typ: typeVoid, bodyLen: uint64(d.Length - recordHeaderSize), headCRC: checksum(nil),
		offset: d.Offset, tag: tag}
	var b [recordHeaderSize]byte
	h.put(&b)
	if _, err := f.WriteAt(b[:], d.Offset); err != nil {
		return fmt.Errorf("mark destroyed bytes at offset %d: %w", d.Offset, err)
	}
	return nil
}

// appendEnd ends the file as the writer would have done, after a last gap if there is one.
func (r *Reader) appendEnd(f storage, end int64, tail *frame.Gap) error {
	s := newSink(f, end, 64<<10)
	w := &Writer{sink: s, opts: Options{Clock: timeline.Monotonic(), SyncEvery: time.Hour}}
	c := newCommitter(w, &r.header)
	c.index, c.entryAt = r.tail, r.tailEntry
	c.from = r.tailFrom
	c.cover = len(r.damage) > 0
	c.firstFrame, c.frames = r.tailFirst, uint64(len(r.frames))-r.tailFirst
	c.number = uint64(len(r.frames))
	c.indexes = r.indexes
	if n := len(r.indexes); n > 0 {
		c.lastIndex = r.indexes[n-1]
	}
	c.wallOffset = r.wallLast
	if tail != nil {
		head := gapHead{c.number, *tail}
		c.commitPlain(&job{typ: typeGap, head: head.append(nil)})
	}
	return c.finish()
}

// expected has the frames that must be recorded.
type expected struct {
	first, last uint64        // sequence numbers
	until       timeline.Time // when the last was on the screen
}

// notIn returns the gap at the end of a file that holds not all of them, or nil.
func (c *expected) notIn(r *Reader) *frame.Gap {
	if c == nil || len(r.segments) == 0 {
		return nil
	}
	next := c.first
	at := timeline.At(c.until)
	if n := r.Frames(); n > 0 {
		m, err := r.Meta(n - 1)
		if err != nil {
			return nil
		}
		next = m.Sequence + 1
		at.Earliest = min(m.Sampled.Earliest, at.Latest)
	}
	for _, g := range r.gaps {
		next = max(next, g.First+g.Count)
	}
	if next > c.last {
		return nil
	}
	return &frame.Gap{First: next, Count: c.last - next + 1, Cause: frame.Stopped, At: at}
}
