package ringbuf

import (
	"context"
	"testing"
)

func TestNoAllocationPerFrame(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	commit := func(s *Slot[uint64]) { s.Commit(8, 1) }
	read := func(rd *Reader[uint64]) {
		l, err := rd.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		l.Retain()
		_, _, _ = l.Bytes(), l.Meta(), l.LostBefore()
		l.Release()
		l.Release()
	}
	for _, c := range []struct {
		name    string
		prepare func(r *Ring[uint64]) (frame func())
	}{
		{"try acquire", func(r *Ring[uint64]) func() {
			lossless, latest := r.NewReader(Lossless), r.NewReader(Latest)
			return func() {
				s, _ := r.TryAcquire()
				commit(s)
				read(lossless)
				read(latest)
			}
		}},
		{"acquire", func(r *Ring[uint64]) func() {
			rd := r.NewReader(Lossless)
			return func() {
				s, _ := r.Acquire(ctx)
				commit(s)
				read(rd)
			}
		}},
		{"abandon", func(r *Ring[uint64]) func() {
			return func() {
				s, _ := r.TryAcquire()
				s.Abandon()
			}
		}},
		{"loss", func(r *Ring[uint64]) func() {
			r.NewReader(Lossless)
			for range r.Slots() {
				s, _ := r.TryAcquire()
				commit(s)
			}
			return func() {
				if _, ok := r.TryAcquire(); ok {
					t.Fatal("the ring is not full")
				}
			}
		}},
		{"fill", func(r *Ring[uint64]) func() { return func() { _ = r.Fill() } }},
		{"waiting on both sides", func(r *Ring[uint64]) func() {
			// With two rings every frame is waited for: here for the answer, there for the
			// question.
			answers := newRing(t, 3)
			question, answer := r.NewReader(Lossless), answers.NewReader(Lossless)
			t.Cleanup(func() { r.Close(nil) })
			go func() {
				for {
					l, err := question.Next(ctx)
					if err != nil {
						return
					}
					l.Release()
					s, err := answers.Acquire(ctx)
					if err != nil {
						return
					}
					commit(s)
				}
			}()
			return func() {
				s, _ := r.TryAcquire()
				commit(s)
				read(answer)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			frame := c.prepare(newRing(t, 4))
			if n := testing.AllocsPerRun(1000, frame); n != 0 {
				t.Errorf("%g allocations per frame, want 0", n)
			}
		})
	}
}
