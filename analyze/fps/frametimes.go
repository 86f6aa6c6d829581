package fps

import (
	"slices"
	"sort"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/timeline"
)

// frameTimeDetail counts the frame times of one length: to the nearest period, or to the nearest
// millisecond where frames do not follow a beat.
type frameTimeDetail struct {
	MS    float64 `json:"ms"`
	Count int     `json:"count"`
}

// frameTimes are a window's frame times, with the uncertainty of lost frames.
//
// A frame time is known if no frame is lost within it or just before or after it. Any other may
// really be several, as many as there were chances to change in it. Each of these takes at least a
// period. Each begins at the earliest when its frame may have been shown. It ends at the latest
// with the next unique frame. An order statistic is least when every unknown time is many short
// ones. It is greatest when every one is many long ones.
type frameTimes struct {
	shown  []int // unique frames, s among them
	times  []time.Duration
	sorted []time.Duration // ascending

	certain   []time.Duration // ascending
	few, many int             // how many others there are
	short     time.Duration   // the least that one of them may take
	long      time.Duration   // the most
	open      time.Duration   // all of them together, at most
	unbroken  time.Duration   // the longest time in which certainly nothing changed
}

// earliest returns the first moment at which the content of frame n may have been shown, by the
// beat.
func (p *part) earliest(n int) timeline.Time {
	lost := p.Times.Lost(n)
	switch {
	case lost == 0:
		return p.Times.At(n)
	case p.Times.Period() == 0:
		return min(p.Times.At(n), p.Times.Since(n).Earliest)
	}
	return p.Times.At(n).Add(-time.Duration(lost) * p.Times.Period())
}

func (p *part) times() *frameTimes {
	t := &frameTimes{shown: append([]int{p.Window.Start}, p.unique...), short: p.Times.Period()}
	end, endEarly := p.windowEnd()
	lost := p.lost
	if len(lost) > 0 && lost[0] == p.Window.Start {
		lost = lost[1:]
	}
	for i, n := range t.shown {
		last := i+1 == len(t.shown)
		next, nextEarly := end, endEarly
		if !last {
			next, nextEarly = p.Times.At(t.shown[i+1]), p.earliest(t.shown[i+1])
		}
		at := p.Times.At(n)
		took := next.Sub(at)
		t.times = append(t.times, took)
		chances, piece, from := 0, time.Duration(0), at
		for len(lost) > 0 && (last || lost[0] <= t.shown[i+1]) {
			k := lost[0]
			lost = lost[1:]
			chances += p.Times.Lost(k)
			if !last && k == t.shown[i+1] {
				break
			}
			chances++ // k itself, which looks as before
			piece = max(piece, p.earliest(k).Sub(from))
			from = p.Times.At(k)
		}
		if last {
			behind, _ := p.LostAtEnd()
			chances += behind
		}
		piece = max(piece, nextEarly.Sub(from))
		t.unbroken = max(t.unbroken, piece)
		before := at.Sub(p.earliest(n))
		if chances == 0 && before == 0 {
			t.certain = append(t.certain, took)
			continue
		}
		if i == 0 {
			chances += p.Times.Lost(n)
		}
		t.few++
		t.many += 1 + chances
		t.long = max(t.long, took+before)
		t.open += took + before
	}
	t.sorted = slices.Sorted(slices.Values(t.times))
	slices.Sort(t.certain)
	return t
}

// windowEnd returns the end of the last frame, and the earliest moment at which it may have ended.
func (p *part) windowEnd() (end, early timeline.Time) {
	end, _ = p.Times.End(&p.Window)
	if lost, first := p.LostAtEnd(); lost > 0 {
		return end, p.earliest(first)
	}
	return end, end
}

// rank returns the n-th least, from 0, of the certain times and of many that take each.
func (t *frameTimes) rank(n, many int, each time.Duration) time.Duration {
	below := sort.Search(len(t.certain), func(i int) bool { return t.certain[i] >= each })
	switch {
	case n < below:
		return t.certain[n]
	case n < below+many:
		return each
	}
	return t.certain[n-many]
}

// ranked is an order statistic and its bounds. index returns the place of it among so many, from 0.
func (t *frameTimes) ranked(index func(n int) int) measure.Duration {
	v := t.sorted[index(len(t.sorted))]
	if t.many == 0 {
		return measure.Certain(v)
	}
	k := index(len(t.certain) + t.many)
	return measure.Duration{Mid: v, Low: min(v, t.rank(k, t.many, t.short)), High: max(v, t.rank(k, t.many, t.long))}
}

// longestMean is the mean of the longest count of the certain times and of many that take each.
func (t *frameTimes) longestMean(count, many int, each time.Duration) time.Duration {
	above := len(t.certain) - sort.Search(len(t.certain), func(i int) bool { return t.certain[i] >= each })
	var sum time.Duration
	first := min(above, count)
	for _, d := range t.certain[len(t.certain)-first:] {
		sum += d
	}
	middle := min(count-first, many)
	sum += time.Duration(middle) * each
	rest := count - first - middle
	for _, d := range t.certain[len(t.certain)-above-rest : len(t.certain)-above] {
		sum += d
	}
	return sum / time.Duration(count)
}

// frameTimes adds what follows from the times between unique frames, and returns their histogram.
func (p *part) frameTimes(r *measure.Result) []frameTimeDetail {
	t := p.times()
	series := measure.Series{Name: "frame_time", Unit: "ms", Holds: true, Frames: t.shown}
	longest := 0
	for i, d := range t.times {
		series.Values = append(series.Values, measure.MS(d))
		if d > t.times[longest] {
			longest = i
		}
	}
	r.Series = append(r.Series, series)
	freeze := t.times[longest]
	v := measure.Duration{Mid: freeze, Low: min(freeze, t.unbroken), High: max(freeze, t.long)}.Value("longest_freeze",
		measure.Lower, 0.05)
	v.Frames = []int{t.shown[longest]}
	median := t.ranked(func(n int) int { return n / 2 })
	m := median.Value("median_frame_time", measure.Lower, 0.03)
	r.Add(v, m, t.longFrames(median))
	t.slowest(r)
	return p.histogram(t)
}

// longFrames counts frame times of more than twice the median.
func (t *frameTimes) longFrames(median measure.Duration) measure.Value {
	beyond := func(times []time.Duration, m time.Duration) int {
		return len(times) - sort.Search(len(times), func(i int) bool { return times[i] > longLimit(m) })
	}
	n := beyond(t.sorted, median.Mid)
	low, high := n, n
	if t.many > 0 {
		low = min(low, beyond(t.certain, median.High))
		more := 0
		if limit := longLimit(median.Low); t.long > limit {
			more = t.many
			if limit > 0 {
				more = min(more, int(t.open/limit))
			}
		}
		high = max(high, beyond(t.certain, median.Low)+more)
	}
	v := measure.Between("long_frames", "frames", float64(n), float64(low), float64(high), measure.Lower, 0.05)
	for i, d := range t.times {
		if d > longLimit(median.Mid) {
			v.Frames = append(v.Frames, t.shown[i])
		}
	}
	return v
}

// longLimit is the limit for long frames. Rounding of a period does not exceed it.
func longLimit(median time.Duration) time.Duration { return 2*median + median/100 }

// slowest adds the two figures of the slowest hundredth of frame times.
func (t *frameTimes) slowest(r *measure.Result) {
	n := len(t.sorted)
	if n < 100 {
		r.Warnf("%d frame times %s the slowest 1 %%: that needs 100", n, measure.TooFew)
		return
	}
	hundredth := func(n int) int { return (n + 99) / 100 }
	all := frameTimes{certain: t.sorted}
	mean := all.longestMean(hundredth(n), 0, 0)
	slow := measure.Certain(mean)
	if t.many > 0 {
		slow.Low = min(mean, t.longestMean(hundredth(len(t.certain)+t.many), t.many, t.short))
		slow.High = max(mean, t.longestMean(hundredth(len(t.certain)+t.few), t.many, t.long))
	}
	p99 := t.ranked(func(n int) int { return (99*n+99)/100 - 1 })
	addPerSecond(r, "slowest_1pct_fps", slow)
	addPerSecond(r, "p99_fps", p99)
}

// addPerSecond adds 1 / a frame time.
func addPerSecond(r *measure.Result, name string, d measure.Duration) {
	if d.Low <= 0 {
		r.Warnings = append(r.Warnings, name+" is left out: with the frames that were lost it may be as high as any")
		return
	}
	r.Add(measure.Between(name, "frames/s", measure.Rate(1, d.Mid), measure.Rate(1, d.High), measure.Rate(1, d.Low),
		measure.Higher, 0.05))
}

// histogram counts equal frame times.
func (p *part) histogram(t *frameTimes) []frameTimeDetail {
	unit := p.Times.Period()
	if unit == 0 {
		unit = time.Millisecond
	}
	h := []frameTimeDetail{}
	var beats time.Duration
	for _, d := range t.sorted { // of a hostile file's stamps, times may be negative
		if b := (d + unit/2) / unit; len(h) == 0 || b != beats {
			beats = b
			h = append(h, frameTimeDetail{MS: measure.MS(b * unit)})
		}
		h[len(h)-1].Count++
	}
	return h
}
