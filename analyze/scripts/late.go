package scripts

import (
	"cmp"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Limits of late frames. A frame is late if the frame before it stayed for more than longFactor
// times the window's median. It is late too if that lasted at least longPause, and scripts ran for
// half of it. An answer to an input is late by the same rules for its latency.
const (
	longFactor    = 2.01 // as for the value long_frames: the 0.01 covers rounding of a period
	longPause     = 50 * time.Millisecond
	maxCandidates = 3 * result.MaxLate
	maxShares     = 5 // functions of a late frame
)

// Series with the frames that are compared.
const (
	pauseMeasure, pauseSeries   = "fps", "frame_time"
	answerMeasure, answerSeries = "response", "latency"
)

// lateFrame is a late frame before its functions have places in the results.
type lateFrame struct {
	result.LateFrame
	long   bool // by the window's median
	shares []trace.Share
}

func (l *lateFrame) lasted() time.Duration { return time.Duration(l.ToNS - l.FromNS) }

// late returns the late frames with the functions that ran meanwhile, the worst first.
func (r *Run) late(windows []result.Window) (all []lateFrame) {
	for i := range windows {
		all = append(all, candidates(windows, i)...)
	}
	slices.SortStableFunc(all, func(a, b lateFrame) int { return cmp.Compare(b.lasted(), a.lasted()) })
	kept := all[:0]
	for _, l := range all[:min(len(all), maxCandidates)] {
		shares := r.during(&l)
		ran := time.Duration(0)
		for _, share := range shares {
			ran += time.Duration(share.Self.Value)
		}
		if l.shares = shares[:min(len(shares), maxShares)]; l.long || 2*ran >= l.lasted() {
			kept = append(kept, l)
		}
	}
	return kept[:min(len(kept), result.MaxLate)]
}

// during returns the functions that ran before a late frame, in the realm that was busiest. It
// takes the time in which none ran from there. A worker does not hold up frames. So it counts only
// if windows and frames ran for less than a quarter.
func (r *Run) during(l *lateFrame) (busiest []trace.Share) {
	whole := l.lasted().Nanoseconds()
	l.UnexplainedNS = span(trace.Span{Value: whole, Low: whole, High: whole})
	most := int64(0)
	for _, m := range r.Trace.During(timeline.Time(l.FromNS), timeline.Time(l.ToNS)) {
		if r.Trace.Realms[m.Realm].Kind == record.Worker && most >= whole/4 {
			break // workers are behind windows and frames
		}
		ran := int64(0)
		for _, share := range m.Functions {
			ran += share.Self.Value
		}
		if ran > most {
			most, busiest, l.UnexplainedNS = ran, m.Functions, span(m.Unexplained)
		}
	}
	return slices.DeleteFunc(slices.Clone(busiest), func(s trace.Share) bool { return s.Self.Value <= 0 })
}

// candidates returns the pauses between the frames of a window, and its answers to inputs.
func candidates(windows []result.Window, i int) (all []lateFrame) {
	w := &windows[i]
	add := func(s *measure.Series, response bool, span func(k int) (frame int, from, to int64)) {
		if s == nil || len(s.Frames) != len(s.Values) || len(s.Values) == 0 {
			return
		}
		sorted := slices.Sorted(slices.Values(s.Values))
		limit := time.Duration(longFactor * sorted[len(sorted)/2] * float64(time.Millisecond))
		for k := range s.Frames {
			frame, from, to := span(k)
			l := lateFrame{LateFrame: result.LateFrame{Window: i, Frame: frame, FromNS: from, ToNS: to,
				Response: response}}
			if l.long = l.lasted() > limit; from >= 0 && to > from && (l.long || l.lasted() >= longPause) {
				all = append(all, l)
			}
		}
	}
	pauses, answers := series(w, pauseMeasure, pauseSeries), series(w, answerMeasure, answerSeries)
	add(pauses, false, func(k int) (int, int64, int64) {
		if k+1 == len(pauses.Frames) { // until the end of the window
			return 0, -1, -1
		}
		return pauses.Frames[k+1], at(w, pauses.Frames[k]), at(w, pauses.Frames[k+1])
	})
	add(answers, true, func(k int) (int, int64, int64) {
		to := at(w, answers.Frames[k])
		return answers.Frames[k], to - int64(answers.Values[k]*float64(time.Millisecond)), to
	})
	return all
}

// series returns a series of a measure of a window; nil: it has none.
func series(w *result.Window, of, name string) *measure.Series {
	for i := range w.Results {
		if w.Results[i].Measure != of {
			continue
		}
		for k := range w.Results[i].Series {
			if s := &w.Results[i].Series[k]; s.Name == name {
				return s
			}
		}
	}
	return nil
}

// at returns the time of a frame of a window; -1: it is not in the window.
func at(w *result.Window, frame int) int64 {
	i := frame - w.Times.First
	if i < 0 || i >= len(w.Times.Time) {
		return -1
	}
	return w.StartNS + w.Times.Time[i]
}

// frameAfter returns the first changed frame after a time within a window; -1: none. Frames between
// windows are not compared.
func frameAfter(windows []result.Window, ns int64) int {
	for i := range windows {
		start := windows[i].StartNS
		if t0 := windows[i].T0; t0 != nil {
			start = min(start, t0.AtNS)
		}
		if ns < start {
			continue
		}
		if s := series(&windows[i], pauseMeasure, pauseSeries); s != nil {
			for _, frame := range s.Frames {
				if at(&windows[i], frame) > ns {
					return frame
				}
			}
		}
	}
	return -1
}
