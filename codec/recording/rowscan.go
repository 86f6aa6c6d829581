package recording

import (
	"sync"
	"sync/atomic"

	"github.com/eideticker/eideticker/codec/rowdelta"
)

const (
	mostScanners = 3  // beside the planner; memory has no more to give
	scanRows     = 32 // that are claimed at once
)

// rowScan compares the rows of a frame on several goroutines. The planner takes part and never waits for a helper to wake up: whoever
// comes claims the next rows, and if nobody does the planner claims them all.
type rowScan struct {
	// The frame. Written by the planner before it sets left, read only by whoever has claimed rows by counting left down, which
	// orders the two. Between frames left is at most 0: a helper that comes late claims nothing and reads nothing.
	encoder   *rowdelta.Encoder
	prev, cur []byte
	rows      int32
	claims    int32

	left     atomic.Int32  // claims that nobody has taken yet
	done     atomic.Int32  // claims whose rows have been compared
	finished chan struct{} // told by a helper that did the last one

	wake []chan struct{}
	wg   sync.WaitGroup
}

// start makes helpers ready.
func (s *rowScan) start(helpers int) {
	s.finished = make(chan struct{}, 1)
	for range helpers {
		wake := make(chan struct{}, 1)
		s.wake = append(s.wake, wake)
		s.wg.Go(func() {
			for range wake {
				if s.work() {
					s.finished <- struct{}{}
				}
			}
		})
	}
}

// stop ends the helpers.
func (s *rowScan) stop() {
	for _, wake := range s.wake {
		close(wake)
	}
	s.wg.Wait()
}

// frame has all rows of a frame compared with the frame before.
func (s *rowScan) frame(e *rowdelta.Encoder, prev, cur []byte, rows int) {
	s.encoder, s.prev, s.cur, s.rows = e, prev, cur, int32(rows)
	s.claims = (s.rows + scanRows - 1) / scanRows
	s.done.Store(0)
	s.left.Store(s.claims)
	const worthWaking = 1 << 20 // bytes; less is compared before anybody is awake
	if len(cur) >= worthWaking {
		for _, wake := range s.wake {
			select {
			case wake <- struct{}{}:
			default: // has not yet come for the last frame
			}
		}
	}
	if !s.work() {
		<-s.finished
	}
}

// work compares rows as long as there are some to claim, and reports whether its were the last to be done.
func (s *rowScan) work() (last bool) {
	for {
		n := s.left.Add(-1)
		if n < 0 {
			return last
		}
		claims := s.claims // not to be read once this claim is done: the next frame may have begun
		claim := claims - 1 - n
		s.encoder.Scan(s.prev, s.cur, int(claim*scanRows), int(min((claim+1)*scanRows, s.rows)))
		last = s.done.Add(1) == claims
	}
}
