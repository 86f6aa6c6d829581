package scroll

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # Motion where frames are lost
//
// Of L lost frames and the next one it is unknown how each moved: L + 1 frames are open. Each may
// have stood still, or have moved by up to R's width and height. Each may have begun or ended a
// run. Together they moved like the stored pair only if no other picture was shown in between,
// which is unknown. So bounds are the certain part of the other frames, extended by everything that
// the open ones allow.
//
//   - Steps between open frames take at least a period, and at most 200 ms within a run.
//   - Some frames were not tried, because too few follow each other. They are open as well within
//     400 ms of a loss. Lost frames may have been more of them.
//   - A motion error is at most √n times the distance that content moved in n frames.
//   - An animation error is at most the time from the frame before a loss to the next. The larger
//     of the rig's and the page's clock counts. This assumes that the page's clock does not run
//     backwards.
//
// A value is that of the stored frames, where displacements over gaps count as they are. Only the
// values of a single frame, displacement_max and _p50, use an equal share per frame.

// open is a stretch of frames of which it is not known how they moved.
type open struct {
	frame  int // the stored frame after the loss
	frames int // how many are open
	since  timeline.Time
	until  timeline.Time
}

// opens are those of a window, ascending.
type opens struct {
	all    []open
	frames int           // of all of them
	lost   int           // of those, how many are lost or stand around a loss
	period time.Duration // least time of a frame
	far    float64       // px that a frame can move
	wide   float64       // along x
	high   float64       // along y
}

// opens also holds stored frames of which it could not be told how they moved.
func (p *part) opens(undecided []int) *opens {
	r := p.Area.Region
	o := &opens{period: max(p.Times.Nominal(), time.Millisecond), wide: float64(r.Width), high: float64(r.Height),
		far: math.Hypot(float64(r.Width), float64(r.Height))}
	if p.Times.Period() > 0 {
		o.period = p.Times.Period()
	}
	w := &p.Window
	add := func(n, frames int) {
		before := n
		if n > w.First() {
			before = p.Times.Before(n)
		}
		o.all = append(o.all, open{n, frames, p.Times.At(before), p.Times.At(n)})
	}
	if lost := p.Times.Lost(w.Start); lost > 0 {
		add(w.Start, lost)
	}
	for _, n := range p.lost {
		add(n, p.Times.Lost(n)+1)
	}
	if behind, first := p.LostAtEnd(); behind > 0 {
		add(first, behind)
	}
	lost := len(o.all)
	for _, n := range p.few {
		at := p.Times.At(n)
		near := func(l open) bool { return at >= l.since.Add(-2*runGap) && at <= l.until.Add(2*runGap) }
		if slices.ContainsFunc(o.all[:lost], near) &&
			!slices.ContainsFunc(o.all[:lost], func(l open) bool { return l.frame == n }) {
			add(n, 1)
		}
	}
	for _, l := range o.all {
		o.lost += l.frames
	}
	o.frames = o.lost
	held := map[int]bool{} // there may be as many undecided frames as the window has
	for _, l := range o.all {
		held[l.frame] = true
	}
	for _, n := range undecided {
		if !held[n] {
			add(n, 1)
			o.frames++
		}
	}
	slices.SortFunc(o.all, func(a, b open) int { return a.frame - b.frame })
	return o
}

// none reports whether all is known.
func (o *opens) none() bool { return o.frames == 0 }

// between reports whether any frame behind a, up to b, is open.
func (o *opens) between(a, b int) bool {
	i := sort.Search(len(o.all), func(i int) bool { return o.all[i].frame > a })
	return i < len(o.all) && o.all[i].frame <= b
}

// at returns how many frames a displacement that was measured in frame n is of: 1 where it is sure.
func (o *opens) at(n int) int {
	i := sort.Search(len(o.all), func(i int) bool { return o.all[i].frame >= n })
	if i < len(o.all) && o.all[i].frame == n {
		return o.all[i].frames
	}
	return 1
}

func (o *opens) holds(n int) bool { return o.between(n-1, n) }

// extra is how many steps open frames may add to runs, and how long these take at most.
func (o *opens) extra() (steps int, took time.Duration) {
	for _, l := range o.all {
		steps += l.frames + 1
	}
	return steps, time.Duration(steps) * runGap
}

// sureMotion is the certain part of a window's motion.
type sureMotion struct {
	moves     []motion // that form runs
	lengths   []float64
	x, y, sum float64
	within    float64
	runs      int // at least
	maxRuns   int
	steps     int // within runs
	took      time.Duration
	travelled float64
	slack     float64
	fastest   float64
	moving    int // with those that are scaled
	scale     float64
	scaleLow  float64
	scaleHigh float64
	failed    int
	undecided int
}

func (p *part) sure(o *opens) (s sureMotion) {
	s.scale, s.scaleLow, s.scaleHigh = 1, 1, 1
	broken := true // a run cannot go on
	var before *motion
	for i := range p.moves {
		m := &p.moves[i]
		if o.holds(m.frame) {
			continue
		}
		if m.failed || m.scale != 1 {
			broken = true
			if m.failed {
				s.failed++
				if p.surelyUndecided(o, i) {
					s.undecided++
				}
				continue
			}
			s.moving++
			s.scale, s.scaleLow, s.scaleHigh = s.scale*m.scale, s.scaleLow*(m.scale-m.bound),
				s.scaleHigh*(m.scale+m.bound)
			continue
		}
		s.moving++
		s.move(p, o, before, m, broken)
		before, broken = m, false
	}
	s.maxRuns += o.frames
	return s
}

// move takes the next frame that moved.
func (s *sureMotion) move(p *part, o *opens, before, m *motion, broken bool) {
	length := m.length()
	s.moves, s.lengths = append(s.moves, *m), append(s.lengths, length)
	s.x, s.y, s.sum, s.within = s.x+m.dx, s.y+m.dy, s.sum+length, s.within+m.within
	from := p.Window.Start - 1
	if before != nil {
		from = before.frame
	}
	hole := o.between(from, m.frame)
	joined := before != nil && !broken && !hole && p.follows(before, m)
	if !joined {
		s.maxRuns++
		if before == nil || broken || !hole {
			s.runs++
		}
	}
	last := p.Times.Before(m.frame)
	if joined {
		last = before.frame
		s.steps, s.took = s.steps+1, s.took+p.Times.At(m.frame).Sub(p.Times.At(last))
		s.travelled, s.slack = s.travelled+length, s.slack+math.Sqrt2*m.within
	}
	if d := p.Times.At(m.frame).Sub(p.Times.At(last)); d > 0 && !hole {
		s.fastest = max(s.fastest, (length-math.Sqrt2*m.within)/d.Seconds())
	}
}

// follows reports whether a displacement goes on with the run of the one before it.
func (p *part) follows(before, m *motion) bool {
	return p.Times.At(m.frame).Sub(p.Times.At(before.frame)) <= runGap && m.dx*before.dx+m.dy*before.dy >= 0
}

// surelyUndecided reports whether a frame that failed lies next to one that moves, whatever the
// open ones do.
func (p *part) surelyUndecided(o *opens, i int) bool {
	m := &p.moves[i]
	for _, k := range []int{i - 1, i + 1} {
		if k < 0 || k >= len(p.moves) || p.moves[k].failed ||
			o.between(min(m.frame, p.moves[k].frame)-1, max(m.frame, p.moves[k].frame)) {
			continue
		}
		if d := p.Times.At(p.moves[k].frame).Sub(p.Times.At(m.frame)); max(d, -d) <= runGap {
			return true
		}
	}
	return false
}

// widen gives a result's values the bounds that open frames leave.
func (p *part) widen(r *measure.Result, o *opens) {
	if o.none() {
		return
	}
	s := p.sure(o)
	u := float64(o.frames)
	set := func(name string, low, high float64) {
		for i := range r.Values {
			if v := &r.Values[i]; v.Name == name {
				*v = p.bounded(v, low, high)
			}
		}
	}
	each := 0.0 // by what a displacement is known
	if s.within > 0 {
		each = math.Sqrt2 / 2
	}
	set("moving_frames", float64(s.moving), float64(s.moving)+u)
	set("runs", float64(s.runs), float64(s.maxRuns))
	set("undecided_frames", float64(s.undecided), float64(s.failed)+u)
	set("distance_x", s.x-s.within-u*o.wide, s.x+s.within+u*o.wide)
	set("distance_y", s.y-s.within-u*o.high, s.y+s.within+u*o.high)
	set("distance", max(0, s.sum-math.Sqrt2*s.within), s.sum+math.Sqrt2*s.within+u*o.far)
	p.widenSpeeds(o, &s, each, set)
	set("input_lag", 0, longestMS)
	limit := math.Pow(1+zoomStep, zoomSteps*min(u, 1000))
	set("zoom", s.scaleLow/limit, s.scaleHigh*limit)
}

func (p *part) bounded(v *measure.Value, low, high float64) measure.Value {
	w := measure.Between(v.Name, v.Unit, v.Value, min(low, v.Value), max(high, v.Value), v.Better, v.Threshold)
	w.Frames, w.Note = v.Frames, v.Note
	if w.Low < v.Low || w.High > v.High {
		w.Note = strings.TrimPrefix(v.Note+"; "+measure.WorstCase, "; ")
	}
	return w
}

func (p *part) widenSpeeds(o *opens, s *sureMotion, each float64, set func(name string, low, high float64)) {
	slices.Sort(s.lengths)
	n := len(s.lengths)
	more := min(o.frames, 2*n+2) // from there on they are what a median is of
	ends := func(x float64) []float64 { return slices.Repeat([]float64{x}, more) }
	median := func(n int) int { return (n+1)/2 - 1 }
	lower := measure.Least(s.lengths, ends(0), median)
	back := measure.Negative(s.lengths)
	slices.Sort(back)
	upper := -measure.Least(back, ends(-o.far), func(n int) int { return n - 1 - median(n) })
	set("displacement_p50", max(0, lower-each), upper+each)
	longest := 0.0
	if n > 0 {
		longest = s.lengths[n-1]
	}
	set("displacement_max", max(0, longest-each), o.far)
	steps, took := o.extra()
	all := p.Times.At(p.Window.End).Sub(p.Times.At(p.Window.Start))
	if p.Window.Red != measure.None {
		all = p.Times.At(p.Window.Red).Sub(p.Times.At(p.Window.Start))
	}
	longer := (s.took + min(took, max(0, all-s.took))).Seconds()
	shorter := (s.took + time.Duration(steps)*o.period).Seconds()
	idle := longer - s.took.Seconds()
	set("framerate", (float64(s.steps)+idle/runGap.Seconds())/longer, float64(s.steps+steps)/shorter)
	fastest := o.far / o.period.Seconds()
	set("speed", max(0, s.travelled-s.slack)/longer,
		max(fastest, (s.travelled+s.slack)/max(s.took, o.period).Seconds()))
	set("speed_max", max(0, s.fastest), fastest)
}

// farthest bounds a motion error by what content may have gone in all of the window.
func (p *part) farthest(o *opens) float64 {
	s := p.sure(o)
	frames := float64(p.Window.End-p.Window.Start+1) + float64(o.frames)
	return math.Sqrt(frames) * (s.sum + math.Sqrt2*s.within + float64(o.frames)*o.far)
}

// certain reports whether a run does not depend on open frames: none is inside it, nor between it
// and its neighbours.
func (p *part) certain(o *opens, runs []motionRun, i int) bool {
	from, to := p.Window.Start-1, max(p.Window.End, p.Window.Red)
	if i > 0 {
		from = runs[i-1].last()
	}
	if i+1 < len(runs) {
		to = runs[i+1].first()
	}
	return !o.between(from, to)
}

// longestWithout returns the longest time, ms, from a known frame before open ones to the next
// known one. It is the longer one of both clocks.
func (p *part) longestWithout(clocks map[int]uint32, o *opens) (most float64) {
	known := []int{p.Window.Start}
	for n := p.Window.Start + 1; n <= p.Window.End; n++ {
		if _, ok := clocks[n]; ok {
			known = append(known, n)
		}
	}
	last := max(p.Window.End, p.Window.Red)
	for _, l := range o.all {
		i := sort.Search(len(known), func(i int) bool { return known[i] >= l.frame })
		// What moved last may lie some frames away, a run's pause at most.
		from, to := p.Times.At(known[max(0, i-1)]).Add(-runGap), p.Times.At(last)
		if i < len(known) {
			to = p.Times.At(known[i]).Add(runGap)
		}
		most = max(most, measure.MS(to.Sub(from)))
		if a, ok := clocks[known[max(0, i-1)]]; ok && i < len(known) {
			most = max(most, float64(int32((clocks[known[i]]-a)<<8)>>8)+measure.MS(runGap))
		}
	}
	return most
}
