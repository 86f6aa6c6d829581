package response

import (
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Answer is a ping and its pong, as in Detail. Times are on the recording's clock.
type Answer struct {
	PingNS int64   `json:"ping_ns"`
	Frame  int     `json:"frame"` // None: missed
	Row    int     `json:"row"`
	MS     float64 `json:"latency_ms"`
	LowMS  float64 `json:"low_ms"`
	HighMS float64 `json:"high_ms"`
	// Unsure: lost frames may have answered what seems missed, or what seems answered may have
	// happened before the ping.
	Unsure bool `json:"unsure,omitempty"`
	// Unfinished: the window ends before the time for an answer is over, and none was seen for
	// certain.
	Unfinished bool `json:"unfinished,omitempty"`
}

// happening is a frame that may answer a ping. The expected change was seen in it, or may have been
// in the frames lost just before it. In these it may also have come and gone.
type happening struct {
	frame, top int
	seen, lost bool
}

// happenings merges the seen changes with the gaps.
func (p *part) happenings() (all []happening) {
	k := 0
	until := func(n int) {
		for ; k < len(p.at) && p.at[k] < n; k++ {
			all = append(all, happening{p.at[k], p.top[k], true, false})
		}
	}
	w := &p.Window
	for n := w.First() + 1; n <= max(w.End, w.Red); n++ {
		if p.Times.Lost(n) == 0 {
			continue
		}
		until(n)
		h := happening{n, p.region.Y, false, true}
		if k < len(p.at) && p.at[k] == n {
			h.top, h.seen = p.top[k], true
			k++
		}
		all = append(all, h)
	}
	until(max(w.End, w.Red) + 1)
	return all
}

// answer finds the answer of ping i. Frames lost just before a change may have answered it too. So
// the bounds begin with the first change that could be the answer. They end with the first that is
// certain to be it if no earlier one was.
func (p *part) answer(i int, all []happening) Answer {
	ping := p.pings[i]
	a := Answer{PingNS: int64(ping.At), Frame: measure.None}
	from, until := ping.At.Add(-ping.Uncertainty), ping.At.Add(p.limit())
	if i+1 < len(p.pings) {
		until = min(until, p.pings[i+1].At)
	} else {
		until = min(until, p.next)
	}
	sure, possible := false, false
	for _, h := range all {
		at, b, since := p.Times.At(h.frame).Add(-p.options.Delay), p.onScreen(p.Times.Bounds(h.frame)),
			p.onScreen(p.Times.Since(h.frame)).Earliest
		if b.Latest <= from {
			continue
		}
		if at > until && !(h.lost && since <= until) {
			break
		}
		top, bottom := h.top, h.top
		if h.lost { // it may have begun in any row
			top, bottom = p.region.Y, p.region.Y+p.region.Height-1
		}
		if !possible {
			_, before := p.shown(h.frame, top)
			if h.frame > p.Window.First() {
				_, last := p.shown(p.Times.Before(h.frame), top)
				before.Earliest = min(before.Earliest, last.Earliest)
			}
			a.LowMS, possible = measure.MS(before.Earliest.Sub(ping.At)-ping.Uncertainty), true
		}
		_, behind := p.shown(h.frame, bottom)
		a.HighMS = max(a.LowMS, measure.MS(behind.Latest.Sub(ping.At)+ping.Uncertainty))
		if h.seen && at <= until {
			if a.Frame == measure.None {
				row, _ := p.shown(h.frame, h.top)
				a.Frame, a.Row, a.MS = h.frame, h.top, measure.MS(row.Sub(ping.At))
			}
			if sure = !h.lost || since > from; sure {
				break
			}
		}
	}
	a.Unsure = possible && !sure
	if end, _ := p.Times.End(&p.Window); !sure && end.Add(-p.options.Delay) <= until {
		p.unfinished(&a, &ping, until, possible)
	}
	a.MS, a.LowMS, a.HighMS = max(0, a.MS), max(0, a.LowMS), max(0, a.HighMS) // nothing is answered before it is asked
	return a
}

// note says by what latencies are corrected.
func (p *part) note(r *measure.Result, unsure int) {
	o := p.options
	var said []string
	if o.Delay != 0 || o.DelayWithin != 0 {
		said = append(said, fmt.Sprintf("the card's delay of %.3f ± %.3f ms is taken off", measure.MS(o.Delay),
			measure.MS(o.DelayWithin)))
	}
	if o.ScanOut > 0 {
		said = append(said, fmt.Sprintf("corrected for the row of the answer, by a scan-out of %.3f ms",
			measure.MS(o.ScanOut)))
	}
	if unsure > 0 {
		said = append(said, measure.WorstCase)
	}
	for i := range r.Values {
		if strings.HasPrefix(r.Values[i].Name, "latency_") {
			r.Values[i].Note = strings.Join(said, "; ")
		}
	}
}

// unfinished widens an answer to possible answers after the window, in frames like its last.
func (p *part) unfinished(a *Answer, ping *timeline.EventHead, until timeline.Time, possible bool) {
	a.Unfinished = true
	e := p.Window.End
	if !possible {
		_, last := p.shown(e, p.region.Y)
		a.LowMS = measure.MS(last.Earliest.Sub(ping.At) - ping.Uncertainty)
	}
	_, last := p.shown(e, p.region.Y+p.region.Height-1)
	late := max(0, last.Latest.Sub(p.Times.At(e).Add(-p.options.Delay)))
	a.HighMS = max(a.LowMS, measure.MS(until.Sub(ping.At)+late+ping.Uncertainty))
}

// onScreen is the interval of a frame without the card's delay.
func (p *part) onScreen(in timeline.Interval) timeline.Interval {
	o := p.options
	return timeline.Interval{Earliest: in.Earliest.Add(-o.Delay - o.DelayWithin),
		Latest: in.Latest.Add(o.DelayWithin - o.Delay)}
}

// shown is when a row of frame n was on the screen. What a scan-out takes cannot be more than the
// interval in which all of the frame was sampled.
func (p *part) shown(n, row int) (timeline.Time, timeline.Interval) {
	b, at := p.Times.Bounds(n), p.Times.At(n).Add(-p.options.Delay)
	scan := min(p.options.ScanOut, b.Width())
	above := scan * time.Duration(row) / time.Duration(p.Layout.Format.Height)
	at = at.Add(above - scan/2)
	in := p.onScreen(timeline.Interval{Earliest: b.Earliest.Add(above), Latest: b.Latest.Add(above - scan)})
	return at, timeline.Interval{Earliest: min(in.Earliest, at), Latest: max(in.Latest, at)}
}
