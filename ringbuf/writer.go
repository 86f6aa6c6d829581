package ringbuf

import (
	"context"
	"fmt"
	"io"
	"os"
)

// TryAcquire takes a free slot, for a source on the signal's clock. It never waits, takes no lock
// and does not allocate. It returns false if every slot is in use. The frame is then counted as
// lost, in the LostBefore of the next committed one.
//
// A source whose driver fills slots directly acquires the replacement of a filled slot. If that
// fails, the frame in the filled slot is the lost one, and its slot returns to the driver.
//
// It panics after Close. It belongs to the writer's goroutine.
func (r *Ring[M]) TryAcquire() (*Slot[M], bool) {
	if word(r.state.Load()).closed() {
		panic("ringbuf: TryAcquire after the ring was closed")
	}
	s := r.pop()
	if s == nil {
		r.lose()
		return nil, false
	}
	return s, true
}

// Acquire takes a free slot, and waits for one as long as ctx allows. Then it returns
// ctx.Err(); nothing is counted as lost. After Close its error is an os.ErrClosed.
// It belongs to the writer's goroutine.
func (r *Ring[M]) Acquire(ctx context.Context) (*Slot[M], error) {
	if word(r.state.Load()).closed() {
		return nil, fmt.Errorf("acquire a slot: ring: %w", os.ErrClosed)
	}
	for armed := false; ; {
		if err := ctx.Err(); err != nil {
			r.room.disarm()
			return nil, err
		}
		if s := r.pop(); s != nil {
			if armed {
				r.room.disarm()
			}
			return s, nil
		}
		if !armed { // and look once more, see bell
			r.room.arm()
			armed = true
			continue
		}
		if err := r.room.wait(ctx); err != nil {
			return nil, err
		}
		armed = false
	}
}

// Close ends the stream. Readers get the committed frames, then err, or io.EOF if err is nil.
// Losses after the last frame stay in Stats.Trailing. Slots that the writer still holds may be
// abandoned but not committed. Close is idempotent and the first err counts. It belongs to the
// writer's goroutine, or to another once that is done.
func (r *Ring[M]) Close(err error) {
	if word(r.state.Load()).closed() {
		return
	}
	if err == nil {
		err = io.EOF
	}
	r.err = err
	r.state.Or(closedBit)
	r.wakeReaders()
}

// wakeReaders wakes those that sleep in Next.
func (r *Ring[M]) wakeReaders() {
	for _, rd := range *r.readers.Load() {
		rd.news.wake()
	}
}
