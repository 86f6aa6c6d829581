package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// VerifyReport is the result of a verification.
type VerifyReport struct {
	Frames   int      // in the recording
	Checked  int      // decoded and equal to the captured frame
	Tables   int      // checkpoints from which a frame was put together
	Bytes    int64    // of file, all read
	Complete bool     // closed cleanly
	Problems []Damage // in order of discovery; none: everything is as it was written
}

const maxProblems = 1000 // more say nothing new

func (v *VerifyReport) add(offset, length int64, what string) {
	d := Damage{offset, length, what}
	if len(v.Problems) < maxProblems && !slices.Contains(v.Problems, d) { // opening and reading find some things both
		v.Problems = append(v.Problems, d)
	}
}

func (v *VerifyReport) addError(err error) {
	var c *CorruptError
	if errors.As(err, &c) {
		v.add(c.Offset, 0, err.Error())
		return
	}
	v.add(0, 0, err.Error())
}

// Verify reads a whole recording. It tests every checksum, compares every decoded frame with its
// hash, and uses every checkpoint. progress, if not nil, gets the number of checked frames. The
// error means that verification could not finish. Damage is in the report.
func Verify(ctx context.Context, path string, progress func(done, total int)) (VerifyReport, error) {
	r, err := Open(path)
	if err != nil {
		return VerifyReport{}, err
	}
	defer r.Close()
	return r.Verify(ctx, progress)
}

// Verify is the function [Verify] for an open recording.
func (r *Reader) Verify(ctx context.Context, progress func(done, total int)) (VerifyReport, error) {
	v := VerifyReport{Frames: len(r.frames), Bytes: r.size, Complete: r.complete}
	for _, d := range r.damage {
		v.add(d.Offset, d.Length, d.What)
	}
	if err := r.verifyHeader(&v); err != nil {
		return v, err
	}
	if err := r.verifyRecords(ctx, &v); err != nil {
		return v, err
	}
	if err := r.verifyEvents(ctx, &v); err != nil {
		return v, err
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	if err := r.verifyFrames(ctx, &v, progress); err != nil {
		return v, err
	}
	return v, r.verifyTables(ctx, &v)
}

func (r *Reader) verifyHeader(v *VerifyReport) error {
	b := make([]byte, headerSize)
	for _, at := range []int64{0, headerSize} {
		clear(b)
		if _, err := r.f.ReadAt(b, at); err != nil && err != io.EOF {
			return fmt.Errorf("read recording at offset %d: %w", at, err)
		}
		if h, err := parseFileHeader(b); err != nil || h.id != r.header.id {
			v.add(at, headerSize, "a copy of the file header is damaged")
		}
	}
	return nil
}

// verifyRecords reads every record in turn and tests its checksums.
func (r *Reader) verifyRecords(ctx context.Context, v *VerifyReport) error {
	s := scanner{f: r.f, size: r.size, tag: r.header.tag(), at: dataStart}
	var head, body []byte
	for ctx.Err() == nil {
		h, skipped, err := s.next()
		if skipped != nil {
			v.add(skipped.Offset, skipped.Length, skipped.What)
		}
		if err == errEnd {
			return nil
		}
		if err != nil {
			return err
		}
		if h.typ == typeVoid {
			v.add(h.offset, h.size(), voidNote)
			continue
		}
		if head, err = s.head(h, head); err == nil {
			body, err = r.verifyBody(h, head, body)
		}
		if err == nil {
			body, err = r.verifyZeros(h, body)
		}
		if isCorrupt(err) {
			v.addError(err)
		} else if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// verifyEvents reads the data of every event.
func (r *Reader) verifyEvents(ctx context.Context, v *VerifyReport) error {
	for n := range r.events {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		_, err := r.Event(n)
		if isCorrupt(err) {
			v.addError(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// verifyBody tests the blocks of a record.
func (r *Reader) verifyBody(h recordHeader, head, buf []byte) ([]byte, error) {
	blocks, err := bodyBlocks(h, head)
	if err != nil {
		return buf, &CorruptError{h.offset, fmt.Sprintf("%v record: %v", h.typ, err)}
	}
	for _, b := range blocks {
		if cap(buf) < int(b.stored) {
			buf = make([]byte, b.stored)
		}
		buf = buf[:b.stored]
		if _, err := r.f.ReadAt(buf, b.offset); err != nil {
			return buf, fmt.Errorf("read recording at offset %d: %w", b.offset, err)
		}
		if checksum(buf) != b.crc {
			return buf, &CorruptError{b.offset, fmt.Sprintf("block of a %v record fails its checksum", h.typ)}
		}
	}
	return buf, nil
}

// verifyZeros tests the bytes that no checksum covers: those that pad a record, and the body of one
// that is nothing else.
func (r *Reader) verifyZeros(h recordHeader, buf []byte) ([]byte, error) {
	from, end := h.body()+int64(h.bodyLen), h.offset+h.size()
	if h.typ == typePad {
		from = h.body()
	}
	if cap(buf) < blockSize {
		buf = make([]byte, blockSize)
	}
	for from < end {
		b := buf[:min(blockSize, end-from)]
		if _, err := r.f.ReadAt(b, from); err != nil {
			return buf, fmt.Errorf("read recording at offset %d: %w", from, err)
		}
		for i := range b {
			if b[i] != 0 {
				return buf, &CorruptError{from + int64(i), fmt.Sprintf("padding of a %v record is not zero", h.typ)}
			}
		}
		from += int64(len(b))
	}
	return buf, nil
}

// bodyBlocks returns the blocks of any record.
func bodyBlocks(h recordHeader, head []byte) ([]blockInfo, error) {
	switch h.typ {
	case typeFrame:
		var f frameHead
		err := f.parse(head, h.body(), h.bodyLen, false)
		return f.blocks, err
	case typeRows:
		p := headParser{b: head}
		blocks := p.blocks(nil, h.body(), h.bodyLen)
		return blocks, p.done()
	case typeCheckpoint:
		var c checkpointHead
		err := c.parse(head, h.body(), h.bodyLen)
		return c.blocks, err
	case typeIndex:
		var x indexHead
		err := x.parse(head, h.body(), h.bodyLen)
		return x.blocks, err
	case typeEvent, typeMetadata:
		var e valueHead
		err := e.parse(head, h.body(), h.bodyLen)
		return e.blocks, err
	}
	return nil, nil
}

// verifyFrames decodes every frame. After a frame that cannot be read it goes on at the next one
// that can.
func (r *Reader) verifyFrames(ctx context.Context, v *VerifyReport, progress func(done, total int)) error {
	for from := 0; from < len(r.frames); {
		p, err := r.Play(from, len(r.frames))
		if err != nil {
			return err
		}
		p.hasher = newFrameHasher(0)
		for ctx.Err() == nil && p.Next() {
			v.Checked++
			if p.Number()%16 == 0 {
				progress(p.Number(), len(r.frames))
			}
		}
		err = p.Err()
		stopped := p.Number()
		p.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			break
		}
		if !isCorrupt(err) {
			return err
		}
		v.addError(err)
		from = r.playableAfter(stopped)
	}
	progress(len(r.frames), len(r.frames))
	return nil
}

// playableAfter returns the first frame after n from which a player can start: its predecessor is
// given by a checkpoint, or it begins a segment.
func (r *Reader) playableAfter(n int) int {
	for _, c := range r.checkpoints {
		if k := int(c.number); k >= n {
			if _, err := r.Image(k); err == nil {
				return k + 1
			}
		}
	}
	for _, s := range r.segments {
		if s.First > n {
			return s.First
		}
	}
	return len(r.frames)
}

// verifyTables puts the frame of every checkpoint together from its table.
func (r *Reader) verifyTables(ctx context.Context, v *VerifyReport) error {
	var pix []byte
	for _, c := range r.checkpoints {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c.segment < 0 || r.frames[c.number].offset == 0 {
			continue
		}
		if n := r.segments[c.segment].Layout.Size; len(pix) < n {
			pix = make([]byte, n)
		}
		err := r.ReadFrame(int(c.number), pix)
		if err == nil {
			v.Tables++
			continue
		}
		if !isCorrupt(err) {
			return err
		}
		v.addError(err)
	}
	return nil
}
