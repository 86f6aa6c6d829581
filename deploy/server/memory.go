package server

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/eideticker/eideticker/capture/frame"
)

// pictureMemory is what all captured frames that are made pictures of at once may take, in bytes: a
// frame of 8192x4608 takes three quarters of it.
const pictureMemory = 1 << 30

// pictureWait is how long a request waits for its turn, of all that it waits for.
const pictureWait = 20 * time.Second

// memory is shared by what takes much of it.
type memory struct {
	*semaphore.Weighted
	most int64
	wait time.Duration
}

func newMemory(most int64, wait time.Duration) *memory {
	return &memory{semaphore.NewWeighted(most), most, wait}
}

// frameMemory returns the maximum bytes to make a picture of a frame: its blocks packed and
// unpacked, the frame itself, its colours, and an incompressible picture.
func frameMemory(l *frame.Layout) int64 {
	const rgba = 4 // bytes a pixel
	pixels := int64(l.Format.Width) * int64(l.Format.Height)
	return 3*int64(l.Size) + 2*rgba*pixels
}

// take waits for so many bytes, or for all there is if that is less: what takes more is done alone.
// keep gives back all but so many of them; it is never nil.
func (m *memory) take(ctx context.Context, bytes int64) (keep func(bytes int64), err error) {
	held := min(bytes, m.most)
	if err := m.Acquire(ctx, held); err != nil {
		return func(int64) {}, errCrowded
	}
	return m.keep(held), nil
}

// tryTake is take for who does not wait.
func (m *memory) tryTake(bytes int64) (keep func(bytes int64), is bool) {
	held := min(bytes, m.most)
	if !m.TryAcquire(held) {
		return nil, false
	}
	return m.keep(held), true
}

func (m *memory) keep(held int64) func(bytes int64) {
	return func(bytes int64) {
		if more := held - max(bytes, 0); more > 0 {
			held -= more
			m.Release(more)
		}
	}
}

var errCrowded = &requestError{http.StatusServiceUnavailable,
	"more pictures are asked for than this rig makes at once: ask again later"}
