package analyze

import (
	"fmt"
	"math"
	"time"
)

// # unchanged
//
// How much of a second nothing new was shown, in the manner of Chromium's PercentDroppedFrames: a window of one second slides over the frames, and
// ends with each of them in turn, from the first one at which a second has passed since s. It holds n = one second / period frames,
// rounded. Of these, those count that are not unique; s is.
//
//	unchanged_mean   mean of all windows
//	unchanged_p95    as Chromium's percentile: the share of each window is rounded to a whole percent, and counted down from 100 until 5 % of the
//	                 windows are reached
//	unchanged_worst  of the window with the most
//
// What differs: Chromium knows whether a new frame was wanted, and counts as dropped only what was wanted and did not come. A signal does not
// tell; where the page rests, all of a second is unchanged. With the content's cadence or a code strip, dropped says more.
//
// By hand: at 4 frames a second, of s U – – U U U U (– is not unique), windows of 4 end with the 4th to the 8th frame and hold 2, 2, 2, 1 and 0
// that do not count, that is 50, 50, 50, 25 and 0 %: a mean of 35 %, a worst of 50 %, and, 5 % of five windows being 0.25, a 95th percentile
// of 50 %.
//
// A frame that was lost is taken for unchanged. It, and the frame behind it, may have been unique or not: the bounds
// are those of U. Windows that end with a lost frame are not looked at.

// unchangedWindow is a second, in frames.
type unchangedWindow struct{ value, low, high int }

// maxRate is how many frames a second's window may hold: more than any screen shows.
const maxRate = 10000

// unchanged adds the figures of sliding seconds.
func (p *fps) unchanged(r *Result) {
	period := p.Times.Period()
	n := 0
	if period > 0 {
		n = int((time.Second + period/2) / period)
	}
	first := p.Times.Meta(p.Window.Start).Sequence
	last := p.Times.Meta(p.Window.End).Sequence
	switch {
	case n == 0 || n > maxRate:
		r.Warnings = append(r.Warnings, "frames do not follow a beat: how much of a second is unchanged is left out")
		return
	case last-first+1 < uint64(n):
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d frames are less than a second: how much of one is unchanged is left out", last-first+1))
		return
	}
	series := Series{Name: "unchanged", Unit: "fraction", Holds: true}
	var sum, worst unchangedWindow
	var bins [3][101]int
	worstAt := None
	p.eachSecond(n, func(frame int, w unchangedWindow) {
		series.Frames = append(series.Frames, frame)
		series.Values = append(series.Values, float64(w.value)/float64(n))
		if worstAt == None || w.value > worst.value {
			worstAt, worst.value = frame, w.value
		}
		worst.low, worst.high = max(worst.low, w.low), max(worst.high, w.high)
		sum.value, sum.low, sum.high = sum.value+w.value, sum.low+w.low, sum.high+w.high
		for i, v := range [...]int{w.value, w.low, w.high} {
			bins[i][int(math.Round(100*float64(v)/float64(n)))]++
		}
	})
	count := len(series.Frames)
	if count == 0 {
		r.Warnings = append(r.Warnings, "every frame a second behind the first was lost: how much of a second is unchanged is left out")
		return
	}
	of := func(v unchangedWindow, by float64) (float64, float64, float64) {
		return float64(v.value) / by, float64(v.low) / by, float64(v.high) / by
	}
	add := func(name string, v, low, high float64) *Value {
		r.Values = append(r.Values, between(name, "fraction", v, low, high, Lower, 0.05))
		return &r.Values[len(r.Values)-1]
	}
	v, low, high := of(sum, float64(count)*float64(n))
	add("unchanged_mean", v, low, high)
	add("unchanged_p95", percentileDown(&bins[0], count), percentileDown(&bins[1], count), percentileDown(&bins[2], count))
	v, low, high = of(worst, float64(n))
	add("unchanged_worst", v, low, high).Frames = []int{worstAt}
	r.Series = append(r.Series, series)
}

// percentileDown counts windows from the greatest share down until a twentieth of them is reached, and returns the share there.
func percentileDown(bins *[101]int, count int) float64 {
	i := len(bins) - 1
	for n := bins[i]; 20*n < count && i > 0; n += bins[i] {
		i--
	}
	return float64(i) / 100
}

// eachSecond calls do with each stored frame that ends a window of n frames, and how many of these are unchanged.
func (p *fps) eachSecond(n int, do func(frame int, w unchangedWindow)) {
	s := p.slots()
	from := p.Window.Start // the first frame in the window
	var w unchangedWindow  // of the frames from to now
	first := p.Times.Meta(p.Window.Start).Sequence
	ahead, behind := s, s
	for i := p.Window.Start; i <= p.Window.End; i++ {
		if p.Times.Broken(i) {
			continue
		}
		w.add(ahead.of(i), 1)
		seq := p.Times.Meta(i).Sequence
		if seq-first+1 < uint64(n) {
			continue
		}
		start := seq - uint64(n) + 1
		for ; p.Times.Broken(from) || p.Times.Meta(from).Sequence < start; from++ {
			if !p.Times.Broken(from) {
				w.add(behind.of(from), -1)
			}
		}
		// Only a part of the frames lost before the first one may lie in the window.
		head := behind
		slot := head.of(from)
		part := slot
		if inside := int(min(uint64(slot.lost), p.Times.Meta(from).Sequence-start)); inside < slot.lost {
			part = slot.cut(inside)
		}
		w.add(slot, -1)
		w.add(part, 1)
		do(i, w)
		w.add(part, -1)
		w.add(slot, 1)
	}
}

// slot is a stored frame and the lost ones before it.
type slot struct {
	lost   int
	unique bool
}

// cut leaves so many of the lost frames.
func (s slot) cut(lost int) slot { return slot{lost: -1 - lost, unique: s.unique} }

// add counts a slot, or takes it away again. A negative count of lost frames, −1 − m, stands for m of some more.
func (w *unchangedWindow) add(s slot, sign int) {
	repeated := 1
	if s.unique {
		repeated = 0
	}
	switch {
	case s.lost == 0:
		w.value += sign * repeated
		w.low += sign * repeated
		w.high += sign * repeated
	case s.lost > 0: // one of the frames changed, where the last differs
		w.value += sign * (s.lost + repeated)
		w.high += sign * (s.lost + repeated)
	default: // which may have been one outside
		m := -1 - s.lost
		w.value += sign * (m + repeated)
		w.high += sign * (m + 1)
	}
}

// slots goes through the window's stored frames in ascending order.
type slots struct {
	*fps
	unique []int // not yet passed
}

func (p *fps) slots() slots { return slots{p, p.unique} }

func (s *slots) of(n int) slot {
	for len(s.unique) > 0 && s.unique[0] < n {
		s.unique = s.unique[1:]
	}
	lost := 0
	if n > s.Window.Start {
		lost = s.Times.Lost(n)
	}
	return slot{lost, n == s.Window.Start || len(s.unique) > 0 && s.unique[0] == n}
}
