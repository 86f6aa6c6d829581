package analyze

import (
	"fmt"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// # fps: framerate
//
// U = 1 + number of unique fi with s < i ≤ e, and the framerate is U / (time from s to r). U is exact for the signal. With L
// frames lost between two stored ones, fa and fb, what they add to U lies between [fa ≠ fb] and L + 1. Bounds of time come from the
// sampling intervals at both ends, and from frames that are lost there.
//
// A frame time is the time from one unique frame to the next, the last one until r.
//
//	frames            stored frames from s to e
//	unique_frames     U
//	framerate         U / (r − s), frames/s
//	longest_freeze    the longest frame time, ms
//	slowest_1pct_fps  n / Σ of the ⌈n/100⌉ longest frame times: the mean framerate of the slowest 1 %
//	p99_fps           1 / 99th percentile (nearest rank) of the frame times
//	unchanged_mean, unchanged_worst   frames that are not unique, of those in a window of one second that slides by a frame
//	long_frames       frame times of more than twice the median
//
// The two figures of the slowest 1 % need at least 100 frame times, one of which they then are about; with fewer they are left out.
func fpsMeasure() measure {
	return measure{name: "fps", version: 1, begin: func(c *Case) (part, error) { return &fps{Case: c}, nil }}
}

type fps struct {
	*Case
	stored int
	unique []int // numbers of the unique frames behind s, ascending
	spare  int   // how many more could have been unique, in the gaps
	lost   []int // frames before which some are missing
}

func (p *fps) fork() part { return &fps{Case: p.Case} }

func (p *fps) add(f *Frame) {
	p.stored++
	if f.Number == p.Window.Start {
		return
	}
	if f.Unique {
		p.unique = append(p.unique, f.Number)
	}
	if f.Lost > 0 {
		p.lost = append(p.lost, f.Number)
		p.spare += f.Lost
		if !f.Unique {
			p.spare++
		}
	}
}

func (p *fps) merge(next part) {
	n := next.(*fps)
	p.stored += n.stored
	p.unique = append(p.unique, n.unique...)
	p.spare += n.spare
	p.lost = append(p.lost, n.lost...)
}

func (p *fps) result() Result {
	w := &p.Window
	u := 1 + len(p.unique)
	most := u + p.spare
	if w.Red != None {
		most += p.Times.Lost(w.Red) // content as well as red
	}
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
	p.frameTimes(&r, end)
	for _, n := range p.lost {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d lost just before frame %d: what they showed is not known", p.Times.Lost(n), n))
	}
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

// frameTimes adds what follows from the times between unique frames.
func (p *fps) frameTimes(r *Result, end timeline.Time) {
	shown := append([]int{p.Window.Start}, p.unique...)
	series := Series{Name: "frame_time", Unit: "ms", Holds: true, Frames: shown}
	times := make([]time.Duration, len(shown))
	longest := 0
	for i, n := range shown {
		next := end
		if i+1 < len(shown) {
			next = p.Times.At(shown[i+1])
		}
		times[i] = next.Sub(p.Times.At(n))
		series.Values = append(series.Values, ms(times[i]))
		if times[i] > times[longest] {
			longest = i
		}
	}
	r.Series = append(r.Series, series)
	freeze := exactly("longest_freeze", "ms", ms(times[longest]), Lower, 0.05)
	freeze.Frames = []int{shown[longest]}
	r.Values = append(r.Values, freeze)

	sorted := slices.Sorted(slices.Values(times))
	median := sorted[len(sorted)/2]
	long := exactly("long_frames", "frames", 0, Lower, 0.05)
	for i, d := range times {
		if d > 2*median+median/100 { // the rounding of a period is no difference
			long.Value++
			long.Frames = append(long.Frames, shown[i])
		}
	}
	long.Low, long.High = long.Value, long.Value
	r.Values = append(r.Values, exactly("median_frame_time", "ms", ms(median), Lower, 0.03), long)
	r.slowest(sorted)
}

// slowest adds the two figures of the slowest hundredth of ascending frame times.
func (r *Result) slowest(sorted []time.Duration) {
	n := len(sorted)
	if n < 100 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d frame times are too few for the slowest 1 %%: that needs 100", n))
		return
	}
	var sum time.Duration
	count := (n + 99) / 100
	for _, d := range sorted[n-count:] {
		sum += d
	}
	p99 := sorted[(99*n+99)/100-1]
	r.Values = append(r.Values,
		exactly("slowest_1pct_fps", "frames/s", rate(count, sum), Higher, 0.05),
		exactly("p99_fps", "frames/s", rate(1, p99), Higher, 0.05))
}
