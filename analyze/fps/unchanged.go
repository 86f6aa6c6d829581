package fps

import (
	"math"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # unchanged
//
// The unchanged part of a second, in the manner of Chromium's PercentDroppedFrames. A window of one
// second slides over the frames. It ends with each frame in turn, beginning with the first one a
// second after s. It holds n = one second / period frames, rounded. It counts those that are not
// unique; s is unique.
//
//	unchanged_mean   mean of all windows;
//	unchanged_p95    95th percentile as in Chromium: shares are rounded to whole percents, and counted
//	                 down from 100 until 5 % of the windows are reached. Of 100 windows these are six:
//	                 see percentileDown;
//	unchanged_worst  the greatest share of a window.
//
// Chromium differs in one point. It knows whether a new frame was wanted, and counts only wanted
// frames that did not come. A signal does not have this. If the page rests, the whole second is
// unchanged. With a cadence or a code strip, dropped has more information.
//
// By hand: 4 frames a second, s U – – U U U U (– is not unique). Windows of 4 end with the 4th to
// the 8th frame. They hold 2, 2, 2, 1 and 0 unchanged frames: 50, 50, 50, 25 and 0 %. The mean is
// 35 %, and the worst is 50 %. 5 % of five windows are 0.25, so the 95th percentile is 50 %.
//
// A lost frame counts as unchanged. It, and the frame after it, may have been unique or not: the
// bounds are those of U. A window may end with a lost frame as well, which the series cannot name.
// Frames lost between g and s, or between e and r, may be content. The seconds that would begin or
// end with them count for the bounds only. Each counts with the frames that make the figure least
// or greatest.

// unchangedWindow is a second: how many of its frames are unchanged.
type unchangedWindow struct{ value, low, high int64 }

// maxRate is how many frames a second's window may hold: more than any screen shows.
const maxRate = 10000

// maxUnchanged is how many frames a window may hold, the lost ones among them.
const maxUnchanged = 1 << 50

// unchanged adds the figures of sliding seconds.
func (p *part) unchanged(r *measure.Result) {
	period := p.Times.Period()
	n := 0
	if period > 0 {
		n = int((time.Second + period/2) / period)
	}
	all := newUnchanged(n)
	switch {
	case n == 0 || n > maxRate || !p.eachGroup((&seconds{n: int64(n), do: all.add}).add):
		r.Warnf("frames do not follow a beat: how much of a second is unchanged is left out")
		return
	case p.Times.Meta(p.Window.End).Sequence-p.Times.Meta(p.Window.Start).Sequence+1 < uint64(n):
		r.Warnf("%d frames are less than a second: how much of one is unchanged is left out",
			p.Times.Meta(p.Window.End).Sequence-p.Times.Meta(p.Window.Start).Sequence+1)
		return
	}
	all.report(r)
}

// unchangedGroup is a stored frame and the lost ones before it. They have places first to last
// among the window's frames. The lost ones that may have been content at the window's beginning
// come first.
type unchangedGroup struct {
	first, last int64
	frame       int // None: there are lost ones only, before r
	unique      bool
}

func (g *unchangedGroup) lost() int64 { return g.last - g.first }

// eachGroup calls do with the window's frames, and reports whether they can be counted.
func (p *part) eachGroup(do func(unchangedGroup)) bool {
	unique := p.unique
	at := int64(0)
	for n := p.Window.Start; n <= p.Window.End; n++ {
		if p.Times.IsUnreadable(n) {
			continue
		}
		lost := int64(p.Times.Lost(n))
		if lost < 0 || lost > maxUnchanged {
			return false
		}
		g := unchangedGroup{at, at + lost, n, n == p.Window.Start}
		if len(unique) > 0 && unique[0] == n {
			g.unique, unique = true, unique[1:]
		}
		if at = g.last + 1; at > maxUnchanged {
			return false
		}
		do(g)
	}
	behind, _ := p.LostAtEnd()
	if behind < 0 || behind >= maxUnchanged {
		return false
	}
	if behind > 0 {
		do(unchangedGroup{at, at + int64(behind), measure.None, false})
	}
	return true
}

// second is so many windows that hold the same, one behind the other.
type second struct {
	unchangedWindow
	frame   int   // that the first of them ends with, or that is the next one behind it
	stored  bool  // it ends with that frame
	certain bool  // it lies between s and e
	times   int64 // how many there are
}

// seconds calls do with each window of n frames. It keeps the groups of one window and no more.
type seconds struct {
	n       int64
	do      func(second)
	begun   bool
	begins  int64            // s
	groups  []unchangedGroup // from tail on, those in which a window begins that is not done yet, and all behind
	tail    int
	between unchangedWindow // all of them
}

// add takes the next group.
func (w *seconds) add(g unchangedGroup) {
	if !w.begun {
		w.begun, w.begins = true, g.last
	}
	for end := max(g.first, w.n-1); end <= g.last; end++ {
		if g.frame == measure.None && end == g.last {
			break
		}
		start := end - w.n + 1
		for w.tail < len(w.groups) && w.groups[w.tail].last < start {
			w.between.count(&w.groups[w.tail], -1)
			w.tail++
		}
		s := second{frame: g.frame, stored: end == g.last, certain: g.frame != measure.None && start >= w.begins,
			times: 1}
		switch {
		// all of it was lost, and so are those up to the next stored frame
		case w.tail == len(w.groups) && end < g.last:
			s.unchangedWindow = unchangedWindow{w.n, 0, w.n}
			s.times = g.last - end
			end = g.last - 1
		case w.tail == len(w.groups):
			s.unchangedWindow = g.within(start)
		default:
			s.unchangedWindow = w.between
			s.count(&w.groups[w.tail], -1)
			s.sum(w.groups[w.tail].within(start))
			if end < g.last {
				s.sum(unchangedWindow{end - g.first + 1, 0, end - g.first + 1})
			} else {
				s.sum(g.within(g.first))
			}
		}
		w.do(s)
	}
	w.between.count(&g, 1)
	if w.tail > len(w.groups)/2 { // passed groups make room
		w.groups, w.tail = w.groups[:copy(w.groups, w.groups[w.tail:])], 0
	}
	w.groups = append(w.groups, g)
}

func (w *unchangedWindow) sum(o unchangedWindow) {
	w.value, w.low, w.high = w.value+o.value, w.low+o.low, w.high+o.high
}

// count adds a group, or takes it away again.
func (w *unchangedWindow) count(g *unchangedGroup, sign int64) {
	o := g.within(g.first)
	w.sum(unchangedWindow{sign * o.value, sign * o.low, sign * o.high})
}

// within returns the group's part of a window that ends with its last frame. The window begins with
// place start of the group, or before the group.
func (g *unchangedGroup) within(start int64) unchangedWindow {
	repeated := int64(1)
	if g.unique {
		repeated = 0
	}
	lost := g.last - max(start, g.first)
	switch {
	case g.lost() == 0:
		return unchangedWindow{repeated, repeated, repeated}
	case start <= g.first: // one of the frames changed, where the last differs
		return unchangedWindow{lost + repeated, 0, lost + repeated}
	}
	return unchangedWindow{lost + repeated, 0, lost + 1} // which may have been one before the window
}

// unchangedFigures gathers windows.
type unchangedFigures struct {
	n       int
	series  measure.Series
	sum     [3]float64 // of the certain windows: value, low, high
	count   float64    // of them
	worst   [3]int64
	worstAt int
	bins    [3][101]float64 // of certain windows, by whole percents
	open    [3][101]float64 // of others
	sums    [3][101]float64 // of these
}

func newUnchanged(n int) *unchangedFigures {
	return &unchangedFigures{n: n, worstAt: measure.None, series: measure.Series{Name: "unchanged", Unit: "fraction",
		Holds: true}}
}

func (u *unchangedFigures) add(s second) {
	times := float64(s.times)
	for i, v := range [...]int64{s.value, s.low, s.high} {
		bin := int(math.Round(100 * float64(v) / float64(u.n)))
		if !s.certain {
			u.open[i][bin] += times
			u.sums[i][bin] += times * float64(v)
			continue
		}
		u.bins[i][bin] += times
		u.sum[i] += times * float64(v)
	}
	u.worst[2] = max(u.worst[2], s.high)
	if !s.certain {
		return
	}
	u.count += times
	u.worst[1] = max(u.worst[1], s.low)
	if u.worstAt == measure.None || s.value > u.worst[0] {
		u.worst[0], u.worstAt = s.value, s.frame
	}
	share := float64(s.value) / float64(u.n)
	// where it rests, one value holds
	if n := len(u.series.Values); s.stored && (n == 0 || u.series.Values[n-1] != share) {
		u.series.Frames, u.series.Values = append(u.series.Frames, s.frame), append(u.series.Values, share)
	}
}

func (u *unchangedFigures) report(r *measure.Result) {
	n := float64(u.n)
	add := func(name string, v, low, high float64) *measure.Value {
		r.Add(measure.Between(name, "fraction", v, low, high, measure.Lower, 0.05))
		return &r.Values[len(r.Values)-1]
	}
	var none [101]float64
	low, high := u.mean(1, false), u.mean(2, true)
	add("unchanged_mean", u.sum[0]/u.count/n, low/n, high/n)
	add("unchanged_p95", percentileDown(&u.bins[0], &none, false), percentileDown(&u.bins[1], &u.open[1], false),
		percentileDown(&u.bins[2], &u.open[2], true))
	add("unchanged_worst", float64(u.worst[0])/n, float64(u.worst[1])/n, float64(u.worst[2])/n).Frames = []int{
		u.worstAt}
	r.Series = append(r.Series, u.series)
}

// mean returns the maximum or minimum mean over all certain windows and any of the others. Index i
// selects the count of a window.
func (u *unchangedFigures) mean(i int, greatest bool) float64 {
	sum, count := u.sum[i], u.count
	for k := range u.open[i] {
		if greatest {
			k = len(u.open[i]) - 1 - k
		}
		more, times := u.sums[i][k], u.open[i][k]
		if times > 0 && (more/times > sum/count) == greatest {
			sum, count = sum+more, count+times
		}
	}
	return sum / count
}

// percentileDown counts windows from the greatest share down until a twentieth of them is reached,
// and returns the share there. Of the open windows, those are among them that make it greatest or
// least.
//
// A twentieth is what Chromium's dropped_frame_counter.cc computes, (1 − 0.95) · count in binary
// floating point: a little more than it says, so that of 100 windows six must be reached and not
// five.
func percentileDown(bins, open *[101]float64, greatest bool) float64 {
	percentile := 0.95 // no constant: those are computed exactly
	twentieth := 1 - percentile
	var all, others float64
	for i := range bins {
		all, others = all+bins[i], others+open[i]
	}
	i := len(bins)
	for reached, above := 0.0, 0.0; i > 0; {
		i--
		reached, above = reached+bins[i], above+open[i]
		if greatest && reached+above >= twentieth*(all+above) || !greatest && reached >= twentieth*(all+others-above) {
			break
		}
	}
	return float64(i) / 100
}
