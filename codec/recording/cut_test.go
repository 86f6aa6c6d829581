package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestCutAtEveryByte cuts a recording at each of its bytes. A reader reads the records before the
// cut, and repair keeps them and closes the file.
//
// Fault: The file was cut
func TestCutAtEveryByte(t *testing.T) {
	tale := smallTale(t)
	whole := &memDisk{}
	tale.record(t, whole, 300*time.Millisecond, 1500*time.Millisecond)
	all := records(t, whole.b)
	if n := framesBefore(all, int64(len(whole.b))); n != len(tale.frames) {
		t.Fatalf("%d frames", n)
	}
	indexes := 0
	for _, r := range all {
		if r.typ == typeIndex {
			indexes++
		}
	}
	if indexes < 3 {
		t.Fatalf("only %d indexes", indexes)
	}
	inParallel(t, len(whole.b), func(cut int) error {
		if !picked(cut) {
			return nil
		}
		return checkCut(tale, all, whole.b[:cut])
	})
}

func checkCut(tale *tale, all []recordAt, b []byte) error {
	d := &memDisk{b: slices.Clone(b)}
	r, err := newReader(d, int64(len(b)))
	if len(b) < headerSize {
		if !errors.Is(err, ErrNotRecording) {
			return fmt.Errorf("open: %v, want ErrNotRecording", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	want := framesBefore(all, int64(len(b)))
	if err := allReadable(tale, r, want); err != nil {
		return err
	}
	if _, err := r.Verify(context.Background(), nil); err != nil {
		return err
	}
	return checkRepaired(tale, d, want, wholeUntil(all, int64(len(b))))
}

// wholeUntil returns the end of the last whole record before a cut.
func wholeUntil(all []recordAt, cut int64) int64 {
	end := int64(0)
	for _, r := range all {
		if r.to <= cut {
			end = r.to
		}
	}
	return end
}

// allReadable insists on the first want frames, and on no others being offered.
func allReadable(tale *tale, r *Reader, want int) error {
	readable, err := tale.check(r)
	if err != nil {
		return err
	}
	if i := slices.Index(readable[:want], false); i >= 0 {
		return fmt.Errorf("frame %d of %d whole ones cannot be read", i, want)
	}
	if r.Frames() != want {
		return fmt.Errorf("%d frames, want %d", r.Frames(), want)
	}
	return nil
}

// checkRepaired repairs a recording whose end is torn and expects it to be perfect then.
func checkRepaired(tale *tale, d *memDisk, frames int, whole int64) error {
	before := slices.Clone(d.b)
	rep, err := repair(d, int64(len(d.b)), nil)
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	if !rep.Repaired || rep.Kept != frames || len(rep.Voided) > 0 {
		return fmt.Errorf("repair: %+v, want %d frames kept", rep, frames)
	}
	if whole > 0 && !bytes.Equal(before[:whole], d.b[:whole]) {
		return fmt.Errorf("repair changed whole records")
	}
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		return fmt.Errorf("open after repair: %w", err)
	}
	if !r.complete || len(r.damage) > 0 {
		return fmt.Errorf("after repair: complete %v, damage %v", r.complete, r.damage)
	}
	if err := allReadable(tale, r, frames); err != nil {
		return fmt.Errorf("after repair: %w", err)
	}
	v, err := r.Verify(context.Background(), nil)
	if err != nil || len(v.Problems) > 0 || v.Checked != frames {
		return fmt.Errorf("verify after repair: %+v, %v", v, err)
	}
	return repairIsDone(d)
}

// repairIsDone expects another repair to change nothing.
func repairIsDone(d *memDisk) error {
	before := slices.Clone(d.b)
	rep, err := repair(d, int64(len(d.b)), nil)
	if err != nil || rep.Repaired || !bytes.Equal(before, d.b) {
		return fmt.Errorf("second repair: %+v, %v", rep, err)
	}
	return nil
}
