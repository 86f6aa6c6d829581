package certify

import (
	"math"
	"slices"
	"time"
)

// Delay is how long a picture takes from the output to its frame's time. Each frame bounds it: the
// picture was there before the frame was sampled, and its successor was not.
type Delay struct {
	MinLow    int64 `json:"min_low_ns"` // the smallest delay lies between min_low_ns and min_high_ns
	MinHigh   int64 `json:"min_high_ns"`
	MedianLow int64 `json:"median_low_ns"`
	MedianTop int64 `json:"median_high_ns"`
	MaxLow    int64 `json:"max_low_ns"`
	MaxHigh   int64 `json:"max_high_ns"`
	// Varies is by how much the delay changed, 0 where the bounds do not tell.
	Varies int64 `json:"varies_ns"`
	// OffTime frames show another picture than the delay around them explains, and have no other
	// fault.
	OffTime int `json:"off_time_frames"`
}

// bounds is an interval of delays, both ends included.
type bounds struct{ low, high time.Duration }

func (b bounds) mid() time.Duration { return b.low + (b.high-b.low)/2 }

// far returns by how much a delay lies outside of the bounds: negative where it is less than they
// allow.
func (b bounds) far(d time.Duration) time.Duration {
	switch {
	case d < b.low:
		return d - b.low
	case d > b.high:
		return d - b.high
	}
	return 0
}

// If the signal clocks the output, likely is the middle part of the interval. It ends a quarter of
// a period from the middle. A delay at the edge of a wide interval is possible. But it would
// explain a frame that the middle does not only by accident. Outputs without such a clock move
// through all phases, which leaves the interval narrow, and all of it counts.
func (e *evidence) likely(b bounds) bounds {
	if !e.played.Clocked {
		return b
	}
	return bounds{max(b.low, b.mid()-e.period/4), min(b.high, b.mid()+e.period/4)}
}

// silent returns bounds that say nothing.
func silent() bounds { return bounds{1, 0} }

func (b bounds) says() bool { return b.low <= b.high }

// endless is a delay that nothing bounds.
const endless = time.Duration(math.MaxInt64 / 4)

// delayOf bounds the delay of a frame that shows one picture.
func (e *evidence) delayOf(s shot) bounds {
	b := bounds{-endless, s.meta.Sampled.Latest.Sub(e.puts[s.put].at.Earliest)}
	if s.put+1 < len(e.puts) {
		b.low = s.meta.Sampled.Earliest.Sub(e.puts[s.put+1].at.Latest.Add(e.latch)) + 1 // from then on it is the next
	}
	return b
}

// agree returns a stretch of delays that lies within as many of the bounds as any delay does.
func agree(all []bounds) bounds {
	type end struct {
		at   time.Duration
		open bool
	}
	ends := make([]end, 0, 2*len(all))
	for _, b := range all {
		if b.says() {
			ends = append(ends, end{b.low, true}, end{b.high, false})
		}
	}
	slices.SortFunc(ends, func(a, b end) int {
		switch {
		case a.at != b.at:
			if a.at < b.at {
				return -1
			}
			return 1
		case a.open == b.open:
			return 0
		case a.open: // ends belong to their stretch
			return -1
		}
		return 1
	})
	var best bounds
	depth, most := 0, 0
	for i, v := range ends {
		if !v.open {
			depth--
			continue
		}
		if depth++; depth > most {
			most = depth
			best = bounds{v.at, v.at}
			for _, w := range ends[i+1:] { // ends close before anything else opens, or the depth would grow further
				if !w.open {
					best.high = w.at
					break
				}
			}
		}
	}
	return best
}

// settleOn returns the delays that explain most of the frames.
//
// A signal that is sampled at its own rate has every frame at the same place between two pictures.
// Each frame then bounds the delay to the same whole period. A frame that shows the previous
// picture bounds it to the next period. A delay just between the two would explain both, though it
// is the least likely of all. So bounds are first narrowed from both ends, which leaves the
// majority's. Then the delay is bounded as closely as possible, with only those that agree with it
// in the middle.
func settleOn(all []bounds, margin time.Duration) bounds {
	narrow := make([]bounds, len(all))
	for i, b := range all {
		narrow[i] = bounds{b.low + margin, b.high - margin}
	}
	middle := agree(narrow).mid()
	var with []bounds
	for _, b := range all {
		if b.says() && b.far(middle).Abs() <= margin {
			with = append(with, b)
		}
	}
	return agree(with)
}

// window is how many frames on each side say what the delay is around a frame.
const window = 24

// around returns the delay around each frame, and before it. Frames that show no one picture have
// bounds that say nothing. One delay for all is taken where it explains nearly all: the more
// frames, the closer it is bounded.
func around(all []bounds, margin time.Duration) (centred, past []bounds) {
	one := settleOn(all, margin)
	said, off := 0, 0
	for _, b := range all {
		if b.says() {
			said++
			if b.far(one.mid()) != 0 {
				off++
			}
		}
	}
	const nearly = 5 // a fifth may be off
	for i := range all {
		if off*nearly <= said {
			centred, past = append(centred, one), append(past, one)
			continue
		}
		centred = append(centred, settleOn(all[max(0, i-window):min(len(all), i+window+1)], margin))
		if i < window { // too little history: the next delay is as good
			past = append(past, settleOn(all[:min(len(all), 2*window)], margin))
			continue
		}
		past = append(past, settleOn(all[i-2*min(window, i/2):i], margin))
	}
	return centred, past
}

// measureJitter returns what bounds may miss each other by without meaning anything: by how much
// the steps from stamp to stamp differ, leaving the largest tenth out.
func (e *evidence) measureJitter(shots []shot) time.Duration {
	var off []time.Duration
	for i := 1; i < len(shots); i++ {
		if shots[i].meta.Sequence == shots[i-1].meta.Sequence+1 {
			off = append(off, (shots[i].meta.Sampled.Mid().Sub(shots[i-1].meta.Sampled.Mid()) - e.period).Abs())
		}
	}
	if len(off) == 0 {
		return 0
	}
	slices.Sort(off)
	return min(off[len(off)*9/10], e.period/8)
}

// measureDelay sums the delays up. Only frames without a fault count.
func (e *evidence) measureDelay(centred []bounds, good []bool) Delay {
	var lows, highs, mids []time.Duration
	for i, b := range centred {
		if good[i] {
			lows, highs, mids = append(lows, b.low), append(highs, b.high), append(mids, b.mid())
		}
	}
	if len(lows) == 0 {
		return Delay{}
	}
	slices.Sort(lows)
	slices.Sort(highs)
	last, mid := len(lows)-1, len(lows)/2
	// No picture arrives before it is put.
	positive := func(d time.Duration) int64 { return max(0, d).Nanoseconds() }
	d := Delay{
		MinLow: positive(lows[0]), MinHigh: positive(highs[0]), MedianLow: positive(lows[mid]),
		MedianTop: positive(highs[mid]),
		MaxLow:    positive(lows[last]), MaxHigh: positive(highs[last]),
	}
	if v := lows[last] - highs[0]; v > e.slack {
		d.Varies = v.Nanoseconds()
	}
	// the bounds may touch, their middles do not
	if v := slices.Max(mids) - slices.Min(mids); v > e.period/2 {
		d.Varies = max(d.Varies, v.Nanoseconds())
	}
	return d
}
