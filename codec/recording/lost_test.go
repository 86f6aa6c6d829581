package recording

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestLongLoss asks for the last of many frames whose records are destroyed.
//
// Bug: each such question went through all of them, so an analysis over 50,000 lost frames took
// over a minute.
func TestLongLoss(t *testing.T) {
	f := format(t, frame.BGR4, 8, 8, 0)
	pix := film(t, 1, f, 1)[0]
	ask := func(frames int) time.Duration {
		all := make([][]byte, frames)
		for n := range all {
			all[n] = pix
		}
		var d memDisk
		record(t, &d, f, all)
		clear(d.b[len(d.b)/4 : len(d.b)/2])
		d.b = d.b[:len(d.b)-2*blockSize] // no index is named at the end
		r, err := newReader(&d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		first, last := math.MaxInt, 0
		for n := range r.frames {
			if r.frames[n].offset == 0 {
				first, last = min(first, n), n
			}
		}
		if last-first < frames/20 {
			t.Fatalf("frames %d to %d of %d are lost", first, last, frames)
		}
		fastest := time.Duration(math.MaxInt64)
		for range 50 {
			began := time.Now()
			for range 50 {
				_, err = r.Meta(last)
			}
			fastest = min(fastest, time.Since(began))
		}
		var c *CorruptError
		if !errors.As(err, &c) || c.Offset <= dataStart || c.Offset > r.size/2 {
			t.Fatalf("frame %d: %v", last, err)
		}
		return fastest
	}
	if few, many := ask(2_000), ask(40_000); many > 5*few {
		t.Errorf("the last of 20 times as many lost frames takes %v, and %v before", many, few)
	}
}
