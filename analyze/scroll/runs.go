package scroll

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/timeline"
)

// # Motion error
//
// Content that stands still jumps if it should move evenly. P(i) is the content's position in
// stored frame i, the sum of displacements up to it. Its expected position in a run is one of
// these:
//
//   - on the input path, if the recording has its events: the position requested at time(i) − lag.
//     The lag is from 0 to 500 ms, in whole milliseconds, with the least error over all runs. See
//     path.go. The result has it as input_lag.
//   - otherwise v · time(i) + p, the least-squares straight line through P(i) of all stored frames
//     of the run.
//
// The error is the distance between the two. A frame that is shown for too long is as wrong as it
// is late. Content drawn less often than the screen shows it is always a little wrong. Content that
// slows down is wrong against a straight line, though it may not be visible.
//
// With displacements known to ± δ, P is known to ± Σ δ of the run. The root mean square may be off
// by at most that, and the maximum by three times that. For lost frames see lost.go.
const (
	runGap    = 200 * time.Millisecond
	minRun    = 3 // moving frames
	longestMS = 500
)

// motionRun is one stretch of motion.
type motionRun struct {
	moves  []motion
	within float64 // Σ of what displacements are known to
}

func (r *motionRun) first() int { return r.moves[0].frame }
func (r *motionRun) last() int  { return r.moves[len(r.moves)-1].frame }

// runs puts moving frames together.
func (p *part) runs() (all []motionRun) {
	open := false
	for _, m := range p.moves {
		if m.failed || m.scale != 1 {
			open = false
			continue
		}
		if open {
			run := &all[len(all)-1]
			before := run.moves[len(run.moves)-1]
			if p.follows(&before, &m) {
				run.moves, run.within = append(run.moves, m), run.within+m.within
				continue
			}
		}
		all, open = append(all, motionRun{moves: []motion{m}, within: m.within}), true
	}
	return all
}

// place is where content is in a frame of a run.
type place struct {
	frame int
	at    timeline.Time
	x, y  float64
}

// places are those of all stored frames of a run, from its first to its last moving one. x and y
// begin at given values.
func (p *part) places(r *motionRun, x, y float64) (all []place) {
	k := 0
	for n := r.first(); n <= r.last(); n++ {
		if p.Times.IsUnreadable(n) {
			continue
		}
		if r.moves[k].frame == n {
			x, y = x+r.moves[k].dx, y+r.moves[k].dy
			k++
		}
		all = append(all, place{n, p.Times.At(n), x, y})
	}
	return all
}

// straight is motion of constant velocity.
type straight struct {
	zero  timeline.Time
	x, vx float64 // px, px/s
	y, vy float64
}

func fitStraight(all []place) straight {
	s := straight{zero: all[0].at}
	var n, t, tt, x, tx, y, ty float64
	for _, p := range all {
		at := p.at.Sub(s.zero).Seconds()
		n, t, tt = n+1, t+at, tt+at*at
		x, tx, y, ty = x+p.x, tx+at*p.x, y+p.y, ty+at*p.y
	}
	if d := n*tt - t*t; d > 0 {
		s.vx, s.vy = (n*tx-t*x)/d, (n*ty-t*y)/d
	}
	s.x, s.y = (x-s.vx*t)/n, (y-s.vy*t)/n
	return s
}

func (s *straight) off(at timeline.Time, x, y float64) float64 {
	t := at.Sub(s.zero).Seconds()
	return math.Hypot(x-s.x-s.vx*t, y-s.y-s.vy*t)
}

// errors are the motion errors of stored frames.
type motionErrors struct {
	frames  []int
	off     []float64
	within  float64 // greatest Σ δ of a run
	worst   int
	certain float64 // the greatest of runs that no lost frame can change
	square  float64
}

func (e *motionErrors) add(all []place, certain bool, within float64,
	off func(at timeline.Time, x, y float64) float64) {
	e.within = max(e.within, within)
	for _, p := range all {
		d := off(p.at, p.x, p.y)
		e.frames, e.off = append(e.frames, p.frame), append(e.off, d)
		if d > e.off[e.worst] {
			e.worst = len(e.off) - 1
		}
		if certain {
			e.certain = max(e.certain, d)
		}
		e.square += d * d
	}
}

// report tells the errors. Where frames are lost they may be up to most.
func (e *motionErrors) report(r *measure.Result, against string, most float64) {
	if len(e.off) == 0 {
		r.Warnf("no run has %d moving frames: motion errors are left out", minRun)
		return
	}
	rms, worst := math.Sqrt(e.square/float64(len(e.off))), e.off[e.worst]
	v := measure.Between("motion_error_rms", "px", rms, max(0, rms-e.within), rms+e.within, measure.Lower, 0.1)
	m := measure.Between("motion_error_max", "px", worst, max(0, worst-3*e.within), worst+3*e.within, measure.Lower,
		0.1)
	if most > 0 {
		v = measure.Between(v.Name, v.Unit, rms, 0, max(v.High, most), measure.Lower, 0.1)
		m = measure.Between(m.Name, m.Unit, worst, max(0, e.certain-3*e.within), max(m.High, most), measure.Lower, 0.1)
	}
	v.Note = against
	m.Frames, m.Note = []int{e.frames[e.worst]}, against
	r.Add(v, m)
	r.Series = append(r.Series, measure.Series{Name: "motion_error", Unit: "px", Frames: e.frames, Values: e.off})
	r.Evidence = append(r.Evidence, measure.Evidence{Kind: "motion", Frame: e.frames[e.worst],
		Text: fmt.Sprintf("content is %.1f px away from where it should be, %s", worst, against)})
}

// motionError adds the errors of all runs.
func (p *part) motionError(r *measure.Result, runs []motionRun, o *opens) {
	path, warnings := p.path()
	r.Warnings = append(r.Warnings, warnings...)
	var e motionErrors
	var x, y float64
	var all [][]place
	var of []int // runs
	for i := range runs {
		run := &runs[i]
		places := p.places(run, x, y)
		last := places[len(places)-1]
		x, y = last.x, last.y
		if len(run.moves) >= minRun {
			all, of = append(all, places), append(of, i)
		}
	}
	most := 0.0
	if !o.none() {
		most = p.farthest(o)
	}
	if len(path) > 0 && len(all) > 0 {
		lag := path.lag(all, p.Times.At(p.Window.Start))
		off := path.off(lag, p.Times.At(p.Window.Start))
		for i := range all {
			// all that was before moves the places of a run, and the lag
			e.add(all[i], o.none(), runs[of[i]].within, off)
		}
		if most > 0 {
			most += path.reach()
		}
		r.Add(measure.Exactly("input_lag", "ms", measure.MS(lag), measure.Lower, 0.1))
		e.report(r, "against the input path", most)
		return
	}
	for i := range all {
		s := fitStraight(all[i])
		e.add(all[i], p.certain(o, runs, of[i]), runs[of[i]].within, s.off)
	}
	e.report(r, "against constant velocity", most)
}

// animationError adds how evenly the content's own clock goes along with the screen's.
func (p *part) animationError(r *measure.Result, runs []motionRun, o *opens) {
	if p.ids == nil {
		return
	}
	clocks := map[int]uint32{} // of each frame: that of its newest id
	newest := map[int]uint32{}
	for _, s := range p.ids.Seen {
		if id, ok := newest[int(s.Frame)]; !ok || int32((s.Id-id)<<8) > 0 {
			newest[int(s.Frame)], clocks[int(s.Frame)] = s.Id, s.Clock
		}
	}
	series := measure.Series{Name: "animation_error", Unit: "ms"}
	var square float64
	worst := 0
	low, high := 0.0, 0.0 // of the greatest
	for i := range runs {
		moves := runs[i].moves
		for k := 1; k < len(moves); k++ {
			a, okA := clocks[moves[k-1].frame]
			b, okB := clocks[moves[k].frame]
			if !okA || !okB {
				continue
			}
			step := float64(int32((b-a)<<8) >> 8)
			took := measure.MS(p.Times.At(moves[k].frame).Sub(p.Times.At(moves[k-1].frame)))
			d := step - took
			if o.between(moves[k-1].frame-1, moves[k].frame) {
				high = max(high, took, step)
			} else {
				low = max(low, math.Abs(d))
			}
			series.Frames, series.Values = append(series.Frames, moves[k].frame), append(series.Values, d)
			square += d * d
			if math.Abs(d) > math.Abs(series.Values[worst]) {
				worst = len(series.Values) - 1
			}
		}
	}
	if len(series.Values) == 0 {
		return
	}
	rms, most := math.Sqrt(square/float64(len(series.Values))), math.Abs(series.Values[worst])
	v := measure.Between("animation_error_rms", "ms", rms, max(0, rms-1), rms+1, measure.Lower, 0.1)
	m := measure.Between("animation_error_max", "ms", most, max(0, most-1), most+1, measure.Lower, 0.1)
	if !o.none() {
		high = max(high, most, p.longestWithout(clocks, o))
		v = measure.Between(v.Name, v.Unit, rms, 0, high+1, measure.Lower, 0.1)
		m = measure.Between(m.Name, m.Unit, most, max(0, low-1), high+1, measure.Lower, 0.1)
	}
	m.Frames = []int{series.Frames[worst]}
	r.Add(v, m)
	r.Series = append(r.Series, series)
}

func (p *part) Result() measure.Result {
	runs := p.runs()
	zoomed, moving, undecided := p.count(runs)
	if moving == 0 {
		return measure.Result{State: measure.Refused,
			Refusal: fmt.Sprintf("nothing in the window moves as a whole: %d unique frames were tried, and none is "+
				"the frame before it, displaced or scaled", p.tried)}
	}
	var r measure.Result
	o := p.opens(undecided)
	r.Add(measure.Exactly("moving_frames", "frames", float64(moving), measure.Neither, 0), measure.Exactly("runs",
		"runs", float64(len(runs)), measure.Neither, 0))
	p.speeds(&r, runs, o)
	if len(runs) > 0 {
		p.motionError(&r, runs, o)
		p.animationError(&r, runs, o)
	}
	if zoomed > 0 {
		p.zoom(&r)
	}
	u := measure.Exactly("undecided_frames", "frames", float64(len(undecided)), measure.Lower, 0)
	u.Frames = undecided
	r.Add(u)
	if len(undecided) > 0 {
		r.Warnf("the motion of %d frames is unknown, first of frame %d; a jump past the frame goes further than the "+
			"bounds", len(undecided), undecided[0])
	}
	p.widen(&r, o)
	if o.lost > 0 {
		r.Warnf("frames are lost: how %d frames moved is not known, and by bounds of what they may have done content "+
			"may have jumped there and back", o.lost)
	}
	return r
}

// count returns the number of scaled frames and of all moving frames. It also lists the undecided
// ones: frames that change in the same place, or next to these.
func (p *part) count(runs []motionRun) (zoomed, moving int, undecided []int) {
	for i, m := range p.moves {
		if !m.failed {
			moving++
			if m.scale != 1 {
				zoomed++
			}
			continue
		}
		near := func(k int) bool {
			if k < 0 || k >= len(p.moves) || p.moves[k].failed {
				return false
			}
			d := p.Times.At(p.moves[k].frame).Sub(p.Times.At(m.frame))
			return max(d, -d) <= runGap
		}
		if m.covers && (moving > 0 || !m.loads) || near(i-1) || near(i+1) {
			undecided = append(undecided, m.frame)
		}
	}
	return zoomed, moving, undecided
}

// speeds adds displacements, speeds and the framerate.
func (p *part) speeds(r *measure.Result, runs []motionRun, o *opens) {
	dx, dy := measure.Series{Name: "dx", Unit: "px"}, measure.Series{Name: "dy", Unit: "px"}
	speed := measure.Series{Name: "speed", Unit: "px/s"}
	var sumX, sumY, sum, within, travelled, slack float64
	var lengths []float64
	var took time.Duration
	frames, most := 0, 0.0
	maxAt := 0
	fastest, fastestWithin := 0.0, 0.0
	fastestAt := measure.None
	for i := range runs {
		run := &runs[i]
		for k, m := range run.moves {
			dx.Frames, dx.Values = append(dx.Frames, m.frame), append(dx.Values, m.dx)
			dy.Frames, dy.Values = append(dy.Frames, m.frame), append(dy.Values, m.dy)
			length := m.length()
			sumX, sumY, sum, within = sumX+m.dx, sumY+m.dy, sum+length, within+m.within
			share := length / float64(o.at(m.frame))
			lengths = append(lengths, share)
			if share > most {
				most, maxAt = share, m.frame
			}
			before := p.Times.Before(m.frame)
			if k > 0 {
				before = run.moves[k-1].frame
				travelled, slack = travelled+length, slack+math.Sqrt2*m.within
			}
			if d := p.Times.At(m.frame).Sub(p.Times.At(before)); d > 0 {
				v := length / d.Seconds()
				speed.Frames, speed.Values = append(speed.Frames, m.frame), append(speed.Values, v)
				if v > fastest {
					fastest, fastestAt, fastestWithin = v, m.frame, math.Sqrt2*m.within/d.Seconds()
				}
			}
		}
		took += p.Times.At(run.last()).Sub(p.Times.At(run.first()))
		frames += len(run.moves) - 1
	}
	if len(lengths) == 0 {
		return
	}
	if took > 0 {
		r.Add(measure.Exactly("framerate", "frames/s", measure.Rate(frames, took), measure.Higher, 0.03))
	}
	r.Add(measure.Between("distance_x", "px", sumX, sumX-within, sumX+within, measure.Neither, 0.05),
		measure.Between("distance_y", "px", sumY, sumY-within, sumY+within, measure.Neither, 0.05),
		measure.Between("distance", "px", sum, max(0, sum-math.Sqrt2*within), sum+math.Sqrt2*within, measure.Neither,
			0.05))
	slices.Sort(lengths)
	each := 0.0
	if within > 0 {
		each = math.Sqrt2 / 2
	}
	median := lengths[(len(lengths)+1)/2-1]
	longest := measure.Between("displacement_max", "px", most, max(0, most-each), most+each, measure.Lower, 0.1)
	longest.Frames = []int{maxAt}
	r.Add(measure.Between("displacement_p50", "px", median, max(0, median-each), median+each, measure.Neither, 0.1),
		longest)
	if took > 0 {
		s := took.Seconds()
		r.Add(measure.Between("speed", "px/s", travelled/s, max(0, travelled-slack)/s, (travelled+slack)/s,
			measure.Neither, 0.05))
	}
	if fastestAt != measure.None {
		v := measure.Between("speed_max", "px/s", fastest, max(0, fastest-fastestWithin), fastest+fastestWithin,
			measure.Neither, 0.1)
		v.Frames = []int{fastestAt}
		r.Add(v)
	}
	r.Series = append(r.Series, dx, dy, speed)
}

// zoom adds what the frames that are scaled come to.
func (p *part) zoom(r *measure.Result) {
	scale := measure.Series{Name: "scale", Unit: "ratio"}
	value, low, high := 1.0, 1.0, 1.0
	for _, m := range p.moves {
		if m.failed || m.scale == 1 {
			continue
		}
		scale.Frames, scale.Values = append(scale.Frames, m.frame), append(scale.Values, m.scale)
		value, low, high = value*m.scale, low*(m.scale-m.bound), high*(m.scale+m.bound)
	}
	v := measure.Between("zoom", "ratio", value, low, high, measure.Neither, 0.05)
	v.Frames = scale.Frames
	v.Note = "about the middle of the region"
	r.Add(v)
	r.Series = append(r.Series, scale)
}
