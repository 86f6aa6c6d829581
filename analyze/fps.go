package analyze

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// # fps: framerate
//
// U = 1 + number of unique fi with s < i ≤ e. The framerate is U / (time from s to r). U is exact
// for the signal.
//
// With L frames lost between two stored ones fa and fb, they add between [fa ≠ fb] and L + 1 to U.
// Frames lost between g and s, and between e and r, add up to L: they may be content or not. The
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
//	                  unchanged part of a second; see fps_unchanged.go;
//	dropped           drawn frames that were never seen; see fps_dropped.go.
//
// The two figures of the slowest 1 % need at least 100 frame times, and are left out with fewer. By
// hand: of 150 frame times, 148 are 10 ms, one is 40 and one 60. The slowest two take 100 ms
// together, so slowest_1pct_fps = 2/0.1 s = 20. The 149th (= ⌈148.5⌉) of them in order is 40 ms, so
// p99_fps = 25.
//
// Frame times beside lost frames are unknown, and every figure of them has bounds: see
// fps_frametimes.go. Series "frame_time" has each frame time at its frame. Series "unchanged" has
// the share of each second at its last frame, if it differs from that of the second before. Detail
// is fpsDetail.
//
// restless.go names regions that change while the rest does not.
func fpsMeasure() measure {
	return measure{name: "fps", version: 1, begin: beginFPS, values: []string{
		"framerate", "frames", "unique_frames", "duration", "longest_freeze", "median_frame_time", "long_frames",
		"slowest_1pct_fps", "p99_fps",
		"unchanged_mean", "unchanged_p95", "unchanged_worst", "dropped", "dropped_frames", "drawn_frames",
	}}
}

// FPSOptions describe the content.
type FPSOptions struct {
	// Cadence is how many frames a second the content draws, where that is known; 0: it is not. A
	// code strip says it for itself.
	Cadence float64
}

// fpsDetail is the Detail of the measure.
type fpsDetail struct {
	Histogram []frameTimeDetail `json:"frame_times"` // ascending
	Restless  []restlessDetail  `json:"restless"`    // the busiest first
}

type fps struct {
	*Case
	stored int
	unique []int // numbers of the unique frames behind s, ascending
	spare  int   // how many more could have been unique, in the gaps
	lost   []int // frames before which some are missing
	ids    *idReader
	*restless
}

func beginFPS(c *Case) (part, error) {
	if f := c.Options.FPS.Cadence; f != 0 && !(f > 0 && f < 1e6) {
		return nil, fmt.Errorf("a cadence of %v frames a second cannot be: name how many frames a second the content draws", f)
	}
	return &fps{Case: c, ids: newIDReader(c), restless: newRestless(c)}, nil
}

// needsPixels: the ids of frames are read from pixels.
func (p *fps) needsPixels() bool { return p.ids != nil }

func (p *fps) fork() part {
	return &fps{Case: p.Case, ids: p.ids.fork(), restless: p.restless.fork()}
}

func (p *fps) add(f *Frame) {
	p.stored++
	if f.Number == p.Window.Start {
		p.ids.add(f)
		if p.Window.Green != None {
			p.miss(f)
		}
		return
	}
	if f.Unique {
		p.unique = append(p.unique, f.Number)
		p.restless.add(f)
	}
	p.ids.add(f)
	if f.Lost > 0 {
		p.miss(f)
		if !f.Unique {
			p.spare++
		}
	}
}

func (p *fps) miss(f *Frame) {
	if f.Lost > 0 {
		p.lost = append(p.lost, f.Number)
		p.spare += f.Lost
	}
}

func (p *fps) merge(next part) {
	n := next.(*fps)
	p.stored += n.stored
	p.unique = append(p.unique, n.unique...)
	p.spare += n.spare
	p.lost = append(p.lost, n.lost...)
	p.ids.merge(n.ids)
	p.restless.merge(n.restless)
}

func (p *fps) result() Result {
	w := &p.Window
	u := 1 + len(p.unique)
	most := u + p.spare
	behind, _ := p.lostBehind()
	most += behind // content as well as red
	begin, since := p.Times.At(w.Start), p.Times.Since(w.Start)
	end, until := p.Times.end(w)
	took := span(begin, end, since, until)
	r := Result{Values: []Value{
		exactly("frames", "frames", float64(p.stored), Neither, 0),
		between("unique_frames", "frames", float64(u), float64(u), float64(most), Higher, 0.03),
		took.value("duration"),
	}}
	if took.low > 0 {
		r.Values = append(r.Values, between("framerate", "frames/s",
			rate(u, took.mid), rate(u, took.high), rate(most, took.low), Higher, 0.03))
	} else {
		r.Warnings = append(r.Warnings, "the window is too short for a framerate: its duration may be nothing")
	}
	d := fpsDetail{Histogram: p.frameTimes(&r)}
	p.unchanged(&r)
	p.dropped(&r, u, most, took)
	d.Restless = p.restless.report(&r, u)
	r.Detail = detail(d)
	return r
}

// lasting is a duration and its bounds.
type lasting struct{ mid, low, high time.Duration }

func span(begin, end timeline.Time, since, until timeline.Interval) lasting {
	return lasting{end.Sub(begin), max(0, until.Earliest.Sub(since.Latest)), until.Latest.Sub(since.Earliest)}
}

func (d lasting) value(name string) Value {
	return between(name, "ms", ms(d.mid), ms(d.low), ms(d.high), Neither, 0)
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
