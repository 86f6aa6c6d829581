//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// stamper turns the kernel's stamp of a buffer into the interval in which its pixels were on the
// screen.
//
// A stamp of a frame's end means that its first pixel came one period before. A stamp of the start
// means that its last pixel comes one period after. Stamps are truncated to microseconds. Without a
// known period, a frame began after the previous one had ended and after its buffer was queued. It
// was over when it was taken back.
//
// A frame cannot have ended before its buffer was queued, nor after it was taken back. Drivers that
// compute stamps from a nominal rate may be off by a small error. A stamp that is further outside,
// or on an unknown clock, is not used. The frame then ended before its arrival, and after the later
// of two times: its buffer's queueing, and the last look that found no frame.
type stamper struct {
	period timeline.Time // of a frame; 0 where it is not known
	wrong  bool          // a stamp was not believed
	last   timeline.Time // stamp of the frame before, 0 for none
	ended  timeline.Time // when the frame before cannot have ended yet, 0 for none
}

// Slack on both sides of what a stamp may be.
const (
	stampUnit  = timeline.Time(time.Microsecond)
	stampSlack = timeline.Time(5 * time.Millisecond)
)

// arrival has the facts about a frame without its stamp.
type arrival struct {
	queued timeline.Time // when its buffer was given to the driver
	empty  timeline.Time // the last look at which no frame was there
	taken  timeline.Time // when it was taken back
}

// interval returns when a frame was sampled. at is one moment to count with, and grows with time.
func (s *stamper) interval(flags uint32, stamp timeline.Time, a arrival) (i timeline.Interval, at timeline.Time) {
	if !s.believes(flags, stamp, a) {
		s.wrong = true
		s.last = 0
		end := max(a.queued, a.empty)
		earliest := s.began(end, a)
		s.ended = end
		return timeline.Interval{Earliest: min(earliest, a.taken), Latest: a.taken}, a.taken
	}
	i = timeline.Interval{Earliest: s.began(stamp, a), Latest: stamp + stampUnit}
	if flags&bufFlagStampSourceMask == bufFlagStampStart {
		i = timeline.Interval{Earliest: stamp, Latest: stamp + s.period + stampUnit}
		if s.period == 0 {
			i.Latest = a.taken
		}
	}
	s.last, s.ended = stamp, stamp
	i.Latest = min(i.Latest, a.taken)
	i.Earliest = min(i.Earliest, i.Latest)
	return i, stamp
}

// began is when a frame that ended at a time began, at the earliest.
func (s *stamper) began(end timeline.Time, a arrival) timeline.Time {
	if s.period > 0 {
		return end - s.period
	}
	return min(end, max(s.ended, a.queued))
}

func (s *stamper) believes(flags uint32, stamp timeline.Time, a arrival) bool {
	return flags&bufFlagTimestampMask == bufFlagTimestampMonotonic &&
		stamp > s.last &&
		stamp >= a.queued-2*s.period-stampSlack &&
		stamp <= a.taken+s.period+stampSlack
}
