package groundtruth

import (
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/site"
)

// scrollPage is the one page whose content the browser may move without the page: its strip follows
// later.
const scrollPage = "scroll"

// checkMotion compares the measured motion with the page's.
func (t *played) checkMotion() []check {
	if !t.repeatable() {
		return []check{t.checkDistance()}
	}
	panned := func(from, to site.Place) bool { return from.Scale == 1 && to.Scale == 1 }
	scaled := func(from, to site.Place) bool { return from.Scale != to.Scale }
	list := []check{t.checkSteps("steps of the content, exact in", panned, []string{"dx", "dy"},
		func(from, to site.Place, is []float64) bool {
			return is[0] == from.X-to.X && is[1] == from.Y-to.Y
		})}
	for _, p := range t.Report.Truth.Places {
		if p.Scale != 1 {
			return append(list, t.checkSteps("steps of its size, within 0.25 % in", scaled, []string{"scale"},
				func(from, to site.Place, is []float64) bool {
					return math.Abs(is[0]*from.Scale/to.Scale-1) <= scaleWithin
				}))
		}
	}
	return list
}

// scaleWithin is to what part of itself the measure knows a scale.
const scaleWithin = 0.0025

// checkSteps compares some of the measured steps from frame to frame with the page's places.
func (t *played) checkSteps(what string, some func(from, to site.Place) bool, names []string,
	right func(from, to site.Place, is []float64) bool) check {
	c := newCheck(what, "frames", "")
	equal, all, undecided := 0, 0, 0
	for i := 1; i < len(t.views); i++ {
		from, ok := t.placeIn(&t.views[i-1])
		to, ok2 := t.placeIn(&t.views[i])
		if !ok || !ok2 || from == to || !some(from, to) {
			continue
		}
		var is []float64
		for _, name := range names {
			if v, ok := t.at("scroll", name, t.views[i].frame); ok {
				is = append(is, v)
			}
		}
		if len(is) < len(names) {
			undecided++
			continue
		}
		all++
		if right(from, to, is) {
			equal++
		} else {
			c.Frames = append(c.Frames, t.views[i].frame)
		}
	}
	c.Measured, c.Drawn, c.Agrees = exactly(equal), exactly(all), equal == all && all > 0
	switch {
	case all == 0:
		c.Note = notMeasured
	case undecided > 0:
		c.Note = fmt.Sprintf("left out: %d frames of which nothing was measured", undecided)
	}
	return c
}

// at returns what a measure says of a frame itself.
func (t *played) at(measure, name string, frame int) (float64, bool) {
	s := t.series(measure, name)
	if s == nil {
		return 0, false
	}
	i, ok := slices.BinarySearch(s.Frames, frame)
	if !ok {
		return 0, false
	}
	return s.Values[i], true
}

// placeIn returns where the content is in a frame, if that shows one picture.
func (t *played) placeIn(v *view) (site.Place, bool) {
	id, ok := v.whole()
	if !ok {
		return site.Place{}, false
	}
	i, ok := t.place(id)
	if !ok {
		return site.Place{}, false
	}
	return t.Report.Truth.Places[i], true
}

// checkDistance checks the whole way of the content, there and back, by the places of the page's
// draw calls. Where it turned, it may have gone further, by at most the steps around. Pictures
// before the first frame or behind the last one may be missing. At undecided frames, parts of jumps
// beyond the frame may be missing too. A measure that refuses is right if each jump leaves nothing
// to compare.
func (t *played) checkDistance() check {
	c := newCheck("way of the content", "px", "scroll.distance")
	places := t.Report.Truth.Places
	from, to := t.surelyShown()
	undecided, _ := t.value("scroll", "undecided_frames")
	hidden := t.beyond(undecided.Frames, from, to)
	var way, open, last float64
	for i := 1; i < len(places); i++ {
		step := places[i].Y - places[i-1].Y
		length := math.Abs(step)
		way += length
		if i <= from || i > to {
			hidden += length
		}
		if step*last < 0 {
			open += 2 * max(length, math.Abs(last))
		}
		if step != 0 {
			last = step
		}
	}
	c.Drawn = result.Span{Value: way, Low: way - hidden - open, High: way + open}
	v, ok := t.value("scroll", "distance")
	switch {
	case way == 0:
		c.Note = "the content was never moved"
	case !ok && t.asked("scroll") && t.onlyFarSteps():
		return c.notMade("no frame shows the content moved by half of the frame's height or less")
	case !ok:
		c.Note = notMeasured
	default:
		c.Measured = spanOf(v)
		c.Agrees = meet(c.Measured, c.Drawn)
	}
	return c
}

// beyond returns how far jumps at frames of unknown motion may have gone further than the frame's
// diagonal. A measure expects no more there. A jump is between the places that the frame and the
// one before it can show. Late browsers draw several times between two frames. They scroll on a
// thread of their own: content may be a picture behind the strip, or ahead. So one jump may be of
// several frames, and counts once.
func (t *played) beyond(frames []int, from, to int) (sum float64) {
	r := t.Outcome.Window.Region
	far := math.Hypot(float64(r.Width), float64(r.Height))
	places := t.Report.Truth.Places
	jumps, first, last := 0, 0, 0
	add := func() {
		if jumps == 0 {
			return
		}
		low, high := places[first].Y, places[first].Y
		for _, p := range places[first : last+1] {
			low, high = min(low, p.Y), max(high, p.Y)
		}
		if far > 0 {
			sum += max(0, high-low-float64(jumps)*far)
		}
	}
	for _, n := range frames {
		k, _ := slices.BinarySearchFunc(t.views, n, func(v view, n int) int { return v.frame - n })
		oldest, newest := from, to
		for i := k - 1; i >= 0; i-- {
			if place, ok := t.place(slices.Min(t.views[i].ids[:])); ok {
				oldest = max(oldest, place-1)
				break
			}
		}
		for i := k; i < len(t.views); i++ {
			if place, ok := t.place(t.views[i].newest()); ok {
				newest = min(newest, place+1)
				break
			}
		}
		switch {
		case oldest >= newest:
			continue
		case jumps > 0 && oldest < last:
			jumps, last = jumps+1, max(last, newest)
			continue
		}
		add()
		jumps, first, last = 1, oldest, newest
	}
	add()
	return sum
}

// onlyFarSteps reports whether strips of frames in a row show steps, and each is more than half of
// the height. Otherwise rows of the frame before are in the other one.
func (t *played) onlyFarSteps() bool {
	far := false
	for i := 1; i < len(t.views); i++ {
		from, ok := t.placeIn(&t.views[i-1])
		to, ok2 := t.placeIn(&t.views[i])
		step := math.Abs(to.Y - from.Y)
		if !ok || !ok2 || step == 0 {
			continue
		}
		if 2*step <= float64(t.Outcome.Window.Region.Height) {
			return false
		}
		far = true
	}
	return far
}

// surelyShown returns the first and the last place that frames surely show. These are the newest in
// the first frame and the oldest in the last one. Unreadable strips leave nothing out.
func (t *played) surelyShown() (from, to int) {
	to = len(t.Report.Truth.Places) - 1
	if len(t.views) == 0 {
		return from, to
	}
	if i, ok := t.place(t.views[0].newest()); ok {
		from = i
	}
	if i, ok := t.place(slices.Min(t.views[len(t.views)-1].ids[:])); ok {
		to = i
	}
	return from, to
}
