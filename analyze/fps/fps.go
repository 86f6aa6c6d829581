// Package fps measures how many different frames a second a user saw, and how long each of them
// stayed. It counts frames that differ in pixels, not frames that a page reports. A framerate
// alone hides stutter, so frame times, freezes and dropped frames are beside it.
package fps

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/codestrip"
	"github.com/eideticker/eideticker/analyze/measure"
)

// # fps: framerate
//
// U = 1 + number of unique fi with s < i ≤ e. The framerate is U / (time from s to r). U is exact
// for the signal.
//
// Let L frames be lost between two stored ones fa and fb. They add between [fa ≠ fb] and L + 1 to
// U. Frames lost between g and s, and between e and r, add up to L: they may be content or not. The
// bounds of time come from the sampling intervals at both ends, and from frames lost there.
//
// A frame time is the time from one unique frame to the next. The last one ends at r.
//
//	frames            stored frames from s to e;
//	unique_frames     U;
//	duration          r − s, ms;
//	framerate         U / (r − s), frames/s;
//	longest_freeze    the longest frame time, ms;
//	median_frame_time the upper median of frame times, ms;
//	long_frames       frame times over 2.01 × the median; the 0.01 covers rounding of a period;
//	slowest_1pct_fps  n / Σ of the n = ⌈N/100⌉ longest of N frame times, the mean of the slowest 1 %;
//	p99_fps           1 / 99th percentile (nearest rank) of the frame times;
//	unchanged_mean, unchanged_p95, unchanged_worst
//	                  unchanged part of a second; see unchanged.go;
//	dropped           drawn frames that were never seen; see dropped.go.
//
// The two figures of the slowest 1 % need at least 100 frame times, and are left out with fewer. By
// hand: of 150 frame times, 148 are 10 ms, one is 40 and one 60. The slowest two take 100 ms
// together, so slowest_1pct_fps = 2/0.1 s = 20. The 149th (= ⌈148.5⌉) of them in order is 40 ms, so
// p99_fps = 25.
//
// Frame times beside lost frames are unknown, and every figure of them has bounds: see
// frametimes.go. Series "frame_time" has each frame time at its frame. Series "unchanged" has the
// share of a second at its last frame. Shares that equal the previous one are left out.
//
// Regions that change while the rest does not are named: restless.go.
func Measure(o Options) measure.Measure {
	begin := func(c *measure.Case) (measure.Part, error) { return newPart(c, o.Cadence) }
	return measure.Measure{Name: "fps", Version: 1, Begin: begin, Values: []string{
		"framerate", "frames", "unique_frames", "duration", "longest_freeze", "median_frame_time", "long_frames",
		"slowest_1pct_fps", "p99_fps",
		"unchanged_mean", "unchanged_p95", "unchanged_worst", "dropped", "dropped_frames", "drawn_frames",
	}}
}

// Options describe the content.
type Options struct {
	// Cadence is how many frames a second the content draws, where that is known; 0: it is not. A
	// code strip says it for itself.
	Cadence float64
}

// Detail is the detail of a result, as JSON.
type Detail struct {
	Histogram []frameTimeDetail `json:"frame_times"` // ascending
	Restless  []RestlessRegion  `json:"restless"`    // the busiest first
}

type part struct {
	*measure.Case
	cadence float64
	stored  int
	unique  []int // numbers of the unique frames behind s, ascending
	spare   int   // how many more could have been unique, in the gaps
	lost    []int // frames before which some are missing
	ids     *codestrip.Reader
	*restless
}

func newPart(c *measure.Case, cadence float64) (measure.Part, error) {
	if f := cadence; f != 0 && !(f > 0 && f < 1e6) {
		return nil, fmt.Errorf("a cadence of %v frames a second cannot be: name how many frames a second the content "+
			"draws", f)
	}
	return &part{Case: c, cadence: cadence, ids: codestrip.NewReader(c), restless: newRestless(c)}, nil
}

// NeedsPixels: the ids of frames are read from pixels.
func (p *part) NeedsPixels() bool { return p.ids != nil }

func (p *part) Fork() measure.Part {
	return &part{Case: p.Case, ids: p.ids.Fork(), restless: p.restless.fork()}
}

func (p *part) Add(f *measure.Frame) {
	p.stored++
	if f.Number == p.Window.Start {
		p.ids.Add(f)
		if p.Window.Green != measure.None {
			p.miss(f)
		}
		return
	}
	if f.Unique {
		p.unique = append(p.unique, f.Number)
		p.restless.add(f)
	}
	p.ids.Add(f)
	if f.Lost > 0 {
		p.miss(f)
		if !f.Unique {
			p.spare++
		}
	}
}

func (p *part) miss(f *measure.Frame) {
	if f.Lost > 0 {
		p.lost = append(p.lost, f.Number)
		p.spare += f.Lost
	}
}

func (p *part) Merge(next measure.Part) {
	n := next.(*part)
	p.stored += n.stored
	p.unique = append(p.unique, n.unique...)
	p.spare += n.spare
	p.lost = append(p.lost, n.lost...)
	p.ids.Merge(n.ids)
	p.restless.merge(n.restless)
}

func (p *part) Result() measure.Result {
	w := &p.Window
	u := 1 + len(p.unique)
	most := u + p.spare
	behind, _ := p.LostAtEnd()
	most += behind // content as well as red
	begin, since := p.Times.At(w.Start), p.Times.Since(w.Start)
	end, until := p.Times.End(w)
	took := measure.Span(begin, end, since, until)
	r := measure.Result{Values: []measure.Value{
		measure.Exactly("frames", "frames", float64(p.stored), measure.Neither, 0),
		measure.Between("unique_frames", "frames", float64(u), float64(u), float64(most), measure.Higher, 0.03),
		took.Value("duration", measure.Neither, 0),
	}}
	if took.Low > 0 {
		r.Add(measure.Between("framerate", "frames/s", measure.Rate(u, took.Mid), measure.Rate(u, took.High),
			measure.Rate(most, took.Low), measure.Higher, 0.03))
	} else {
		r.Warnf("the window is too short for a framerate: its duration may be nothing")
	}
	d := Detail{Histogram: p.frameTimes(&r)}
	p.unchanged(&r)
	p.dropped(&r, u, most, took)
	d.Restless = p.restless.report(&r, u)
	r.Detail = measure.Detail(d)
	return r
}
