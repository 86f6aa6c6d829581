package ringbuf

import (
	"fmt"
	"strings"
	"testing"
)

func TestMisusePanics(t *testing.T) {
	slot := func(r *Ring[uint64]) *Slot[uint64] { s, _ := r.TryAcquire(); return s }
	released := func(t *testing.T, r *Ring[uint64]) *Lease[uint64] {
		rd := r.NewReader(Lossless)
		put(t, r, 1)
		l := next(t, rd)
		l.Release()
		return l
	}
	for _, c := range []struct {
		name string
		do   func(*testing.T, *Ring[uint64])
		want string
	}{
		{"commit twice", func(_ *testing.T, r *Ring[uint64]) { s := slot(r); s.Commit(0, 0); s.Commit(0, 0) },
			"Commit of a slot that was"},
		{"abandon twice", func(_ *testing.T, r *Ring[uint64]) { s := slot(r); s.Abandon(); s.Abandon() },
			"Abandon of a slot that was"},
		{"commit then abandon", func(_ *testing.T, r *Ring[uint64]) { s := slot(r); s.Commit(0, 0); s.Abandon() },
			"Abandon of a slot that was"},
		{"bytes after commit", func(_ *testing.T, r *Ring[uint64]) { s := slot(r); s.Commit(0, 0); s.Bytes() },
			"Bytes of a slot that was"},
		{"commit too much", func(_ *testing.T, r *Ring[uint64]) { slot(r).Commit(Alignment+1, 0) },
			"Commit of 4097 bytes in a slot of 4096"},
		{"commit less than nothing", func(_ *testing.T, r *Ring[uint64]) { slot(r).Commit(-1, 0) },
			"Commit of -1 bytes"},
		{"commit after close", func(_ *testing.T, r *Ring[uint64]) { s := slot(r); r.Close(nil); s.Commit(0, 0) },
			"after the ring was closed"},
		{"acquire after close", func(_ *testing.T, r *Ring[uint64]) { r.Close(nil); r.TryAcquire() },
			"after the ring was closed"},
		{"release twice", func(t *testing.T, r *Ring[uint64]) { released(t, r).Release() },
			"Release of a lease that was released"},
		{"retain after release", func(t *testing.T, r *Ring[uint64]) { released(t, r).Retain() },
			"Retain of a lease that was released"},
		{"lease bytes after release", func(t *testing.T, r *Ring[uint64]) { released(t, r).Bytes() },
			"Bytes of a lease that was released"},
		{"lease meta after release", func(t *testing.T, r *Ring[uint64]) { released(t, r).Meta() },
			"Meta of a lease that was released"},
		{"lease losses after release", func(t *testing.T, r *Ring[uint64]) { released(t, r).LostBefore() },
			"LostBefore of a lease that was released"},
		{"lease position after release", func(t *testing.T, r *Ring[uint64]) { released(t, r).position() },
			"Position of a lease that was released"},
		{"slot released below zero", func(_ *testing.T, r *Ring[uint64]) { slot(r).release() },
			"released more often than it was taken"},
		{"unknown mode", func(_ *testing.T, r *Ring[uint64]) { r.NewReader(7) }, "unknown mode(7)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "ringbuf: ") ||
					!strings.Contains(text, c.want) {
					t.Errorf("panic %q, want %q", text, c.want)
				}
			}()
			c.do(t, newRing(t, 3))
		})
	}
}

// A release too many must not take the frame away from another reader.
func TestDoubleReleaseHarmsNobodyElse(t *testing.T) {
	r := newRing(t, 3)
	a, b := r.NewReader(Lossless), r.NewReader(Lossless)
	put(t, r, 1)
	leaseA, leaseB := next(t, a), next(t, b)
	leaseA.Release()
	func() {
		defer func() { _ = recover() }()
		leaseA.Release()
	}()
	put(t, r, 2)
	put(t, r, 3)
	if leaseB.Meta() != 1 {
		t.Errorf("the other reader's frame became %d", leaseB.Meta())
	}
	if _, ok := r.TryAcquire(); ok {
		t.Error("a slot under lease was given away")
	}
}

func TestRetain(t *testing.T) {
	r := newRing(t, 3)
	rd := r.NewReader(Lossless)
	put(t, r, 1)
	l := next(t, rd)
	l.Retain()
	l.Retain()
	put(t, r, 2)
	for i := range 2 {
		l.Release()
		if l.Meta() != 1 || r.Stats().Used != 2 {
			t.Fatalf("after release %d of 3: frame %d, %d slots in use", i+1, l.Meta(), r.Stats().Used)
		}
	}
	l.Release()
	if r.Stats().Used != 1 {
		t.Errorf("after the last release %d slots are in use, want 1", r.Stats().Used)
	}
}
