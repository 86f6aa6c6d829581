package video

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// stamps gives frames their times: those of the file's packets where they have any, else the
// positions that eideticker-media reports, else the nominal period.
type stamps struct {
	known   []timeline.Time // of the packets, rising; may be empty
	period  float64         // nominal, in nanoseconds; 0 if unknown
	count   uint64
	good    timeline.Time // the last time that the file told
	since   uint64        // frames made up since
	last    timeline.Time
	made    uint64        // frames whose times were made up
	longest time.Duration // between two frames
}

func newStamps(known []timeline.Time, fps float64) *stamps {
	s := &stamps{known: known}
	if fps > 0 && fps <= 1e6 {
		s.period = float64(time.Second) / fps
	}
	return s
}

// next returns the time of the next frame. Positions are in milliseconds, exact to far below a
// nanosecond; 0 means that a frame has none.
func (s *stamps) next(position float64) (timeline.Time, error) {
	first := s.count == 0
	s.count++
	at := timeline.Time(0)
	if position > 0 && position < 1e12 { // thirty years
		at = timeline.Time(math.Round(position * 1e6))
	}
	if len(s.known) > 0 {
		at = s.packet(at)
	}
	if first {
		s.good, s.last = at, at
		return at, nil
	}
	if at > s.last {
		s.good, s.since = at, 0
	} else {
		if s.period == 0 {
			return 0, errors.New("no time after the previous frame, and the file has no frame rate")
		}
		s.made++
		s.since++
		at = s.good.Add(time.Duration(math.Round(float64(s.since) * s.period)))
		at = max(at, s.last+1)
	}
	s.longest = max(s.longest, at.Sub(s.last))
	s.last = at
	return at, nil
}

// packet takes the time of the next packet. Where the position is the time of a later one, the
// packets before it gave no frame.
func (s *stamps) packet(position timeline.Time) timeline.Time {
	const rounding = time.Microsecond // of floating point
	i := 0
	if position > s.known[0].Add(rounding) {
		if j, _ := slices.BinarySearch(s.known, position.Add(-rounding)); j < len(s.known) &&
			s.known[j] <= position.Add(rounding) {
			i = j
		}
	}
	at := s.known[i]
	s.known = s.known[i+1:]
	return at
}

// fileTimes are the presentation times of a file's frames, in the order in which they are shown.
type fileTimes struct {
	times []timeline.Time // from the first
	// last is the time of the frame that is last in the file. In a cut file that frame is
	// incomplete; frames that are shown later may precede it.
	last timeline.Time
}

// newFileTimes takes the times of packets in units of num/den seconds. It sorts them in place.
func newFileTimes(ticks []int64, num, den int64) fileTimes {
	if len(ticks) == 0 {
		return fileTimes{}
	}
	first, last := slices.Min(ticks), ticks[len(ticks)-1]
	slices.Sort(ticks)
	ticks = slices.Compact(ticks)
	t := fileTimes{times: make([]timeline.Time, len(ticks))}
	unit := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(num), big.NewInt(int64(time.Second))), big.NewInt(den))
	for i, at := range ticks {
		t.times[i] = nanoseconds(at-first, unit)
	}
	t.last = nanoseconds(last-first, unit)
	return t
}

// nanoseconds returns ticks of so many nanoseconds, rounded to the nearest.
func nanoseconds(ticks int64, unit *big.Rat) timeline.Time {
	n := new(big.Int).Mul(big.NewInt(2*ticks), unit.Num())
	n.Add(n, unit.Denom())
	n.Quo(n, new(big.Int).Mul(big.NewInt(2), unit.Denom()))
	return timeline.Time(n.Int64())
}
