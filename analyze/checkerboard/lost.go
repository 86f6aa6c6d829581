package checkerboard

import (
	"math"
	"sort"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # Regions and lost frames
//
// A lost frame may have shown anything. So regions may have come and gone during a gap. Regions
// just before or just after a gap may be one region, joined in the gap. A region on both sides may
// be several: some ended in the gap and others began.
//
// A region touches a gap if it is in the stored frame before it or after it. Gaps and regions that
// touch each other, directly or through others, may all be one region. A region that touches no gap
// is certain. Gaps cut a region into certain parts: before the first gap, between gaps, and after
// the last one.

// gap is a place at which frames are missing.
type gap struct {
	before, after int           // the stored frames around it; None and math.MaxInt where these are not of the content
	lost          int           // frames
	since, until  timeline.Time // the longest time that they may have been there
	links         int           // most regions that hang together over it
}

// gaps returns the window's, in order.
func (p *part) gaps() (list []gap) {
	w := &p.Window
	for n := w.Start; n <= w.End; n++ {
		lost := p.Times.Lost(n)
		if lost <= 0 {
			continue
		}
		g := gap{measure.None, n, lost, p.Times.Since(n).Earliest, p.Times.Bounds(n).Latest, 0}
		if n > w.Start {
			g.before = p.Times.Before(n)
			g.links = min(p.areaIn(g.before), p.areaIn(n))
		}
		list = append(list, g)
	}
	if lost, first := p.LostAtEnd(); lost > 0 {
		_, until := p.Times.End(w)
		list = append(list, gap{w.End, math.MaxInt, lost, p.Times.Since(first).Earliest, until.Latest, 0})
	}
	return list
}

// areaIn returns A of a stored frame.
func (p *part) areaIn(n int) int {
	return p.areas[sort.Search(len(p.frames), func(i int) bool { return p.frames[i] > n })-1]
}

// filling is a region's time, and the gaps that it touches: from to to, to not included, in order.
type filling struct {
	body
	took         measure.Duration
	since, until timeline.Time // at most
	least        timeline.Time // the earliest end
	filled       bool
	from, to     int
}

// crosses reports whether it is there on both sides of a gap.
func (f *filling) crosses(g *gap) bool { return f.first <= g.before && g.after <= f.last }

// fillings are all regions, with the certain ones marked.
type fillings struct {
	*part
	all  []filling
	gaps []gap
}

func (p *part) fillings() *fillings {
	f := &fillings{part: p, gaps: p.gaps()}
	for _, b := range p.bodies.regions() {
		r := p.fill(b)
		r.from = sort.Search(len(f.gaps), func(i int) bool { return f.gaps[i].after >= b.first })
		r.to = sort.Search(len(f.gaps), func(i int) bool { return f.gaps[i].before > b.last })
		f.all = append(f.all, r)
	}
	return f
}

// parts returns the longest that a part of a region is certainly there.
func (f *fillings) parts(r *filling) time.Duration {
	begin, longest, whole := r.first, time.Duration(0), true
	for i := r.from; i < r.to; i++ {
		if g := &f.gaps[i]; r.crosses(g) {
			longest = max(longest, atLeast(f.Times.Since(begin).Latest, g.since))
			begin, whole = g.after, false
		}
	}
	if whole {
		return r.took.Low
	}
	return max(longest, atLeast(f.Times.Since(begin).Latest, r.least))
}

// count returns how many regions there may be.
func (f *fillings) count() (low, high float64) {
	high = float64(len(f.all))
	joined := f.joined()
	for i := range f.all {
		if r := &f.all[i]; r.from >= r.to {
			low++
		}
	}
	for _, j := range joined {
		if j.regions > 0 {
			low++
		}
	}
	for i := range f.gaps {
		g := &f.gaps[i]
		high += float64(g.lost)*float64(f.Area.Pixels) + float64(g.links)
	}
	return low, high
}

// joint is gaps and regions that may all be one region.
type joint struct {
	regions      int
	since, until timeline.Time
}

// joined returns them, in order of their gaps.
func (f *fillings) joined() (list []joint) {
	ties := make([]int, len(f.gaps)+1) // how many more regions touch gap i and the next than gap i - 1 and i
	for i := range f.all {
		if r := &f.all[i]; r.from < r.to {
			ties[r.from]++
			ties[r.to-1]--
		}
	}
	of := make([]int, len(f.gaps)) // place in the list
	tied := 0
	for i := range f.gaps {
		g := &f.gaps[i]
		if tied == 0 {
			list = append(list, joint{0, g.since, g.until})
		}
		of[i] = len(list) - 1
		j := &list[of[i]]
		j.since, j.until = min(j.since, g.since), max(j.until, g.until)
		tied += ties[i]
	}
	for i := range f.all {
		if r := &f.all[i]; r.from < r.to {
			j := &list[of[r.from]]
			j.regions++
			j.since, j.until = min(j.since, r.since), max(j.until, r.until)
		}
	}
	return list
}

// unfilled returns how many regions there may be in the last content frame.
func (f *fillings) unfilled() (low, high float64) {
	if lost, _ := f.LostAtEnd(); lost > 0 {
		return 0, float64(f.Area.Pixels)
	}
	touching, crossing := 0, 0
	for i := range f.all {
		r := &f.all[i]
		if r.filled {
			continue
		}
		if r.from >= r.to {
			low++
			continue
		}
		touching++
		for k := r.from; k < r.to; k++ {
			if r.crosses(&f.gaps[k]) {
				crossing++
				break
			}
		}
	}
	high = low + float64(touching)
	if crossing > 0 { // then it has no more parts than pixels
		high = max(high, float64(f.areaIn(f.Window.End)))
	}
	return low + float64(min(touching, 1)), high
}

// bounds returns those of the longest and the mean time to fill. There must be a region.
func (f *fillings) bounds() (longest, mean measure.Duration) {
	var sum, apart time.Duration
	alone := 0
	for i := range f.all {
		r := &f.all[i]
		sum += r.took.Mid
		longest.Mid = max(longest.Mid, r.took.Mid)
		longest.Low = max(longest.Low, f.parts(r))
		longest.High = max(longest.High, r.took.High)
		mean.Low, mean.High = mean.Low+r.took.Low, mean.High+r.took.High
		if r.from >= r.to {
			alone, apart = alone+1, apart+r.took.Low
		}
	}
	n := time.Duration(len(f.all))
	mean = measure.Duration{Mid: sum / n, Low: mean.Low / n, High: mean.High / n}
	if len(f.gaps) == 0 {
		return longest, mean
	}
	for _, j := range f.joined() {
		longest.High = max(longest.High, j.until.Sub(j.since))
	}
	mean.Low, mean.High = min(mean.Mid, f.Times.Period()), longest.High // a region takes one frame at least
	if alone > 0 {
		mean.Low = min(mean.Low, apart/time.Duration(alone))
	}
	return longest, mean
}

// atLeast is the time from one moment to another, and none where that is before it.
func atLeast(from, to timeline.Time) time.Duration { return max(0, to.Sub(from)) }
