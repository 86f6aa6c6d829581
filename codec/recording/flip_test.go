package recording

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestFlippedBits flips a bit in each byte of a recording, and each bit of each byte of a short
// one. Verify finds all of them. A reader never shows a frame that differs from the captured one.
//
// Fault: A bit was flipped
func TestFlippedBits(t *testing.T) {
	t.Run("bits=one", func(t *testing.T) {
		tale := smallTale(t)
		whole := &memDisk{}
		tale.record(t, whole, 300*time.Millisecond, 1500*time.Millisecond)
		all := records(t, whole.b)
		inParallel(t, len(whole.b), func(at int) error {
			if !picked(at) {
				return nil
			}
			bit := rand.New(rand.NewPCG(uint64(at), 1)).IntN(8)
			return checkFlip(tale, all, whole.b, at, bit)
		})
	})
	t.Run("bits=all", func(t *testing.T) {
		f := talePart{format(t, frame.GREY, 4, 2, 0), 2}
		tale := newTale(t, 1, time.Second, f)
		whole := &memDisk{}
		tale.record(t, whole, time.Second, time.Hour)
		all := records(t, whole.b)
		inParallel(t, len(whole.b), func(at int) error {
			if !picked(at) || at >= 128 && isPadding(all, int64(at)) {
				return nil
			}
			for bit := range 8 {
				if err := checkFlip(tale, all, whole.b, at, bit); err != nil {
					return fmt.Errorf("bit %d: %w", bit, err)
				}
			}
			return nil
		})
	})
}

// isPadding reports whether a byte is one of the zeros that fill headers and blocks.
func isPadding(all []recordAt, at int64) bool {
	if at < dataStart {
		return at%headerSize >= 128 && at%headerSize < headerSize-4
	}
	for _, r := range all {
		if r.typ == typePad && r.from+recordHeaderSize+8 <= at && at < r.to {
			return true
		}
	}
	return false
}

func checkFlip(tale *tale, all []recordAt, whole []byte, at, bit int) error {
	d := &memDisk{b: slices.Clone(whole)}
	d.b[at] ^= 1 << bit
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		return err
	}
	before, err := tale.check(r)
	if err != nil {
		return err
	}
	v, err := r.Verify(context.Background(), nil)
	if err != nil {
		return err
	}
	from, to := int64(at)/headerSize*headerSize, int64(at)/headerSize*headerSize+headerSize
	for _, r := range all {
		if r.from <= int64(at) && int64(at) < r.to {
			from, to = r.from, r.to
		}
	}
	if !slices.ContainsFunc(v.Problems, func(d Damage) bool { return d.Offset >= from && d.Offset < to }) {
		return fmt.Errorf("verify names nothing from %d to %d: %+v", from, to, v.Problems)
	}
	return checkRepairKeeps(tale, d, before)
}

// checkRepairKeeps repairs a damaged recording: what could be read before can be read after.
func checkRepairKeeps(tale *tale, d *memDisk, before []bool) error {
	if _, err := repair(d, int64(len(d.b)), nil); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		return fmt.Errorf("open after repair: %w", err)
	}
	if !r.complete {
		return errors.New("not complete after repair")
	}
	after, err := tale.check(r)
	if err != nil {
		return fmt.Errorf("after repair: %w", err)
	}
	for n := range before {
		if before[n] && !after[n] {
			return fmt.Errorf("frame %d was readable before repair", n)
		}
	}
	return repairIsDone(d)
}
