package measure

import (
	"math"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// stamps are the numbers and times of frames in order. As long as numbers and intervals are as a
// signal's, each frame takes 16 bytes.
type stamps struct {
	base  uint64 // number of the first
	small []smallStamp
	wide  []stamp // all of them, in place of small
}

type stamp struct {
	sequence uint64
	sampled  timeline.Interval
}

type smallStamp struct {
	earliest timeline.Time
	sequence uint32 // from base on
	width    uint32 // ns
}

// newStamps makes room for some frames.
func newStamps(frames int) stamps { return stamps{small: make([]smallStamp, 0, frames)} }

func (s *stamps) len() int { return len(s.small) + len(s.wide) }

// add appends a frame.
func (s *stamps) add(sequence uint64, sampled timeline.Interval) {
	if s.len() == 0 {
		s.base = sequence
	}
	after, width := sequence-s.base, uint64(sampled.Latest-sampled.Earliest)
	if s.wide == nil && after <= math.MaxUint32 && width <= math.MaxUint32 {
		s.small = append(s.small, smallStamp{sampled.Earliest, uint32(after), uint32(width)})
		return
	}
	if s.wide == nil {
		wide := make([]stamp, 0, max(cap(s.small), len(s.small)+1))
		for i := range s.small {
			wide = append(wide, s.at(i))
		}
		s.wide, s.small = wide, nil
	}
	s.wide = append(s.wide, stamp{sequence, sampled})
}

func (s *stamps) at(i int) stamp {
	if s.wide != nil {
		return s.wide[i]
	}
	t := &s.small[i]
	return stamp{s.base + uint64(t.sequence),
		timeline.Interval{Earliest: t.earliest, Latest: t.earliest + timeline.Time(t.width)}}
}

// meta is a stamp as others know it, without what else is known of the frame.
func (s stamp) meta() frame.Meta { return frame.Meta{Sequence: s.sequence, Sampled: s.sampled} }
