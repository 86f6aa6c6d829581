package recording

import (
	"sync"
	"sync/atomic"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

const (
	maxScanners = 3       // beside the planner; memory has no more to give
	bandBytes   = 1 << 18 // of a frame that are claimed at once; those of two frames stay in a processor's own cache
)

// MaxAhead is how many frames [Writer.Ahead] takes at once.
const MaxAhead = 4

// rowScan compares the rows of frames, each with the previous frame, on several goroutines. A
// goroutine claims a band of rows of all queued frames. Each row then leaves memory once. It is
// still in the cache when the next frame is compared with it. The planner takes part and never
// waits for a helper to wake up. Without helpers the planner claims all bands.
type rowScan struct {
	// The frames. The planner writes them before it sets left. A goroutine reads them only after it
	// has claimed rows by counting left down, which orders the two. Between frames left is at most
	// 0: a helper that comes late claims and reads nothing.
	frames []comparison
	rows   int // of a frame
	band   int // rows
	claims int32

	left     atomic.Int32  // claims that nobody has taken yet
	done     atomic.Int32  // claims whose rows have been compared
	finished chan struct{} // told by a helper that did the last one

	scans [MaxAhead]*rowdelta.Scan // of the planner alone
	used  int                      // frames whose scans have been taken

	wake []chan struct{}
	wg   sync.WaitGroup
}

// comparison is a frame, the one before, and what there is to say of the two.
type comparison struct {
	prev, cur []byte
	scan      *rowdelta.Scan
}

// start makes helpers ready.
func (s *rowScan) start(helpers int) {
	s.finished = make(chan struct{}, 1)
	s.frames = make([]comparison, 0, MaxAhead)
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

// format sets the layout of the next frames. Earlier comparisons are dropped.
func (s *rowScan) format(l *frame.Layout) {
	s.frames, s.used = s.frames[:0], 0
	s.rows = len(l.Rows)
	s.band = max(1, bandBytes/l.Rows[0].Bytes)
	for i := range s.scans {
		s.scans[i] = rowdelta.NewScan(l)
	}
}

// of returns the scan of a frame: one that was made ahead, or else it is made now.
func (s *rowScan) of(prev, cur []byte, shift int32) *rowdelta.Scan {
	if s.used < len(s.frames) {
		if c := &s.frames[s.used]; &c.prev[0] == &prev[0] && &c.cur[0] == &cur[0] {
			s.used++
			return c.scan
		}
	}
	one := [1][]byte{cur}
	s.compare(prev, one[:], shift)
	s.used = 1
	return s.frames[0].scan
}

// compare makes the scans of frames that follow prev, and each other.
func (s *rowScan) compare(prev []byte, frames [][]byte, shift int32) {
	s.frames, s.used = s.frames[:0], 0
	for i, cur := range frames {
		s.scans[i].Begin(shift)
		s.frames = append(s.frames, comparison{prev, cur, s.scans[i]})
		prev = cur
	}
	s.claims = int32((s.rows + s.band - 1) / s.band)
	s.done.Store(0)
	s.left.Store(s.claims)
	const worthWaking = 1 << 20 // bytes; less is compared before anybody is awake
	if len(prev)*len(frames) >= worthWaking {
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

// work compares rows while some can be claimed. It reports whether its rows were the last to be
// done.
func (s *rowScan) work() (last bool) {
	for {
		n := s.left.Add(-1)
		if n < 0 {
			return last
		}
		claims := s.claims // not to be read once this claim is done: the next frames may have begun
		from := int(claims-1-n) * s.band
		to := min(from+s.band, s.rows)
		for i := range s.frames {
			c := &s.frames[i]
			c.scan.Rows(c.prev, c.cur, from, to)
		}
		last = s.done.Add(1) == claims
	}
}
