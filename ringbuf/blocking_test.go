package ringbuf

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// result of a call that was made in a goroutine of its own.
type result[T any] struct {
	value T
	err   error
}

// start calls f in a goroutine and makes sure that it waits.
func start[T any](t *testing.T, f func() (T, error)) <-chan result[T] {
	t.Helper()
	done := make(chan result[T], 1)
	go func() {
		value, err := f()
		done <- result[T]{value, err}
	}()
	synctest.Wait()
	select {
	case got := <-done:
		t.Fatalf("did not wait, but returned %v, %v", got.value, got.err)
	default:
	}
	return done
}

// finish returns what a call gives that has no reason to wait any more.
func finish[T any](t *testing.T, done <-chan result[T]) (T, error) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-done:
		return got.value, got.err
	default:
		t.Fatal("still waits")
		panic("unreachable")
	}
}

func waitNext(t *testing.T, rd *Reader[uint64], ctx context.Context) <-chan result[*Lease[uint64]] {
	t.Helper()
	return start(t, func() (*Lease[uint64], error) { return rd.Next(ctx) })
}

func waitAcquire(t *testing.T, r *Ring[uint64], ctx context.Context) <-chan result[*Slot[uint64]] {
	t.Helper()
	return start(t, func() (*Slot[uint64], error) { return r.Acquire(ctx) })
}

func TestNextWaits(t *testing.T) {
	cause := errors.New("cable pulled")
	for _, mode := range []Mode{Lossless, Latest} {
		for _, c := range []struct {
			name string
			wake func(*Ring[uint64], *Reader[uint64])
			want error // nil: a frame
		}{
			{"commit", func(r *Ring[uint64], _ *Reader[uint64]) { put(t, r, 1) }, nil},
			{"close", func(r *Ring[uint64], _ *Reader[uint64]) { r.Close(nil) }, io.EOF},
			{"close with error", func(r *Ring[uint64], _ *Reader[uint64]) { r.Close(cause) }, cause},
			{"reader closed", func(_ *Ring[uint64], rd *Reader[uint64]) { rd.Close() }, os.ErrClosed},
		} {
			t.Run(mode.String()+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRing(t, 3)
					rd := r.NewReader(mode)
					// Twice with a frame, so that the second wait starts after a wake-up.
					for range 2 {
						done := waitNext(t, rd, t.Context())
						c.wake(r, rd)
						l, err := finish(t, done)
						if !errors.Is(err, c.want) || (l != nil) != (c.want == nil) {
							t.Fatalf("lease %v, error %v; want error %v", l, err, c.want)
						}
						if c.want != nil {
							return
						}
						l.Release()
					}
				})
			})
		}
	}
}

func TestTryNextDoesNotWait(t *testing.T) {
	r := newRing(t, 4)
	rd := r.NewReader(Lossless)
	if lease, err := rd.TryNext(); lease != nil || err != nil {
		t.Fatalf("TryNext of an empty ring is %v, %v", lease, err)
	}
	put(t, r, 7)
	lease, err := rd.TryNext()
	if err != nil || lease == nil {
		t.Fatalf("TryNext is %v, %v, want the frame", lease, err)
	}
	lease.Release()
	r.Close(nil)
	if lease, err := rd.TryNext(); lease != nil || err != io.EOF {
		t.Errorf("TryNext after the end is %v, %v, want EOF", lease, err)
	}
}

func TestNextCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, 4)
		rd := r.NewReader(Lossless)
		ctx, cancel := context.WithCancel(t.Context())
		done := waitNext(t, rd, ctx)
		cancel()
		if _, err := finish(t, done); err != context.Canceled {
			t.Errorf("cancelled: %v", err)
		}

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := rd.Next(ctx); err != context.DeadlineExceeded || time.Since(begin) != time.Second {
			t.Errorf("deadline: %v after %v", err, time.Since(begin))
		}

		// Frames that come meanwhile are not lost, and not given to the cancelled call.
		put(t, r, 1)
		put(t, r, 2)
		if l, err := rd.Next(ctx); l != nil || err != context.DeadlineExceeded {
			t.Errorf("after the deadline: lease %v, error %v", l, err)
		}
		wantIDs(t, rd, 1, 2)
		done = waitNext(t, rd, t.Context())
		put(t, r, 3)
		if l, err := finish(t, done); err != nil || l.Meta() != 3 {
			t.Errorf("after a cancelled wait: %v", err)
		}
	})
}

func TestAcquireWaits(t *testing.T) {
	for _, c := range []struct {
		name string
		free func(full *Reader[uint64], lease *Lease[uint64])
	}{
		{"release", func(_ *Reader[uint64], lease *Lease[uint64]) { lease.Release() }},
		{"reader closed", func(full *Reader[uint64], _ *Lease[uint64]) { full.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, 3)
				rd := r.NewReader(Lossless)
				for id := range uint64(3) {
					put(t, r, id)
				}
				lease := next(t, rd)
				done := waitAcquire(t, r, t.Context())
				c.free(rd, lease)
				s, err := finish(t, done)
				if err != nil {
					t.Fatal(err)
				}
				s.Abandon()
				if st := r.Stats(); st.Lost != 0 {
					t.Errorf("waiting counted %d losses", st.Lost)
				}
			})
		})
	}
}

func TestAcquireCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, 3)
		rd := r.NewReader(Lossless)
		for id := range uint64(3) {
			put(t, r, id)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := waitAcquire(t, r, ctx)
		cancel()
		if s, err := finish(t, done); s != nil || err != context.Canceled {
			t.Fatalf("cancelled: slot %v, error %v", s, err)
		}
		if st := r.Stats(); st.Lost != 0 || st.Trailing != 0 || st.Used != 3 {
			t.Errorf("a cancelled Acquire left %+v", st)
		}
		wantIDs(t, rd, 0, 1, 2)
		if s, err := r.Acquire(ctx); s != nil || err != context.Canceled {
			t.Errorf("cancelled before, with slots free: slot %v, error %v", s, err)
		}
		// All slots are still there for the next ones.
		for id := uint64(3); id < 6; id++ {
			put(t, r, id)
		}
		done = waitAcquire(t, r, t.Context())
		wantIDs(t, rd, 3)
		s, err := finish(t, done)
		if err != nil {
			t.Fatal(err)
		}
		s.Commit(0, 6)
	})
}

// One slow reader must not keep another one from being woken.
func TestEachReaderIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, 8)
		var waiting []<-chan result[*Lease[uint64]]
		for i := range 6 {
			waiting = append(waiting, waitNext(t, r.NewReader(Mode(i%2)), t.Context()))
		}
		put(t, r, 1)
		for i, done := range waiting {
			if l, err := finish(t, done); err != nil || l.Meta() != 1 {
				t.Errorf("reader %d: %v", i+1, err)
			}
		}
	})
}
