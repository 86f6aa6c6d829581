package result

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
)

// Limits of late frames. A frame is late if the frame before it stayed for more than longFactor
// times the window's median. It is late too if that lasted at least LongPause, and the device was
// busy for half of it. An answer to an input is late by the same rules for its latency.
const (
	longFactor = 2.01 // as for the value long_frames: the 0.01 covers rounding of a period
	LongPause  = 50 * time.Millisecond
)

// progress is the series of speedindex that has each changed frame.
const progress = "pixel.progress"

// FrameSpan is the time from one changed frame to the next. Others are those from an input to its
// answer, and from the begin of a load to its first change.
type FrameSpan struct {
	Window   int // index in the windows
	Frame    int // that ends it
	FromNS   int64
	ToNS     int64
	Response bool // from an input, or from the begin of a load
	Load     bool // from the begin of a load
	Long     bool // late by the window's median
}

// Lasted returns the length.
func (s *FrameSpan) Lasted() time.Duration { return time.Duration(s.ToNS - s.FromNS) }

// Busy reports whether the frame is late, if the device was busy for a time within the span. A load
// waits for requests, too, so a quarter of its time is enough.
func (s *FrameSpan) Busy(ran time.Duration) bool {
	if s.Load {
		return s.Lasted() >= LongPause && 4*ran >= s.Lasted()
	}
	return s.Long || s.Lasted() >= LongPause && 2*ran >= s.Lasted()
}

// FrameSpans returns the spans of a window's frames, and then those of its answers to inputs. Each
// part is in the order of the frames. Without answers, the first change of a load follows. Without
// the measure fps, none is late by the median.
func FrameSpans(windows []Window, i int) (all []FrameSpan) {
	w := &windows[i]
	add := func(s analyze.Series, response bool, span func(s *analyze.Series, k int) (frame int, from, to int64)) {
		limit := time.Duration(math.MaxInt64)
		if sorted := slices.Sorted(slices.Values(s.Values)); s.Name != progress && len(sorted) > 0 {
			limit = time.Duration(longFactor * sorted[len(sorted)/2] * float64(time.Millisecond))
		}
		for k := range s.Frames {
			frame, from, to := span(&s, k)
			one := FrameSpan{Window: i, Frame: frame, FromNS: from, ToNS: to, Response: response}
			if one.Long = one.Lasted() > limit; from >= 0 && to > from {
				all = append(all, one)
			}
		}
	}
	add(w.changes(), false, func(s *analyze.Series, k int) (int, int64, int64) {
		if k+1 == len(s.Frames) { // until the end of the window
			return 0, -1, -1
		}
		return s.Frames[k+1], w.at(s.Frames[k]), w.at(s.Frames[k+1])
	})
	answers, _ := w.series("response", "latency")
	add(answers, true, func(s *analyze.Series, k int) (int, int64, int64) {
		to := w.at(s.Frames[k])
		return s.Frames[k], to - int64(s.Values[k]*float64(time.Millisecond)), to
	})
	if first, ok := w.value("speedindex.first_visual_change"); ok && w.loads() && len(first.Frames) > 0 &&
		len(answers.Frames) == 0 {
		one := FrameSpan{Window: i, Frame: first.Frames[0], FromNS: w.T0.AtNS, ToNS: w.at(first.Frames[0]),
			Response: true, Load: true}
		if one.ToNS > one.FromNS {
			all = append(all, one)
		}
	}
	return all
}

// loads reports whether the window's times count from a navigation or the start of a program.
func (w *Window) loads() bool {
	return w.T0 != nil && (strings.HasSuffix(w.T0.Source, " navigation") || strings.HasSuffix(w.T0.Source, " launch"))
}

// changes returns the series of the changed frames: that of the frame times, or without that
// measure the progress, which has no usual time.
func (w *Window) changes() analyze.Series {
	s, ok := w.series("fps", "frame_time")
	if !ok {
		s, _ = w.series("speedindex", progress)
	}
	return s
}

// at returns the time of a frame; -1: it is not in the window.
func (w *Window) at(frame int) int64 {
	i := frame - w.Times.First
	if i < 0 || i >= len(w.Times.Time) {
		return -1
	}
	return w.StartNS + w.Times.Time[i]
}

// Bounds returns the bounds of the time of a frame; -1: it is not in the window.
func (w *Window) Bounds(frame int) (earliest, latest int64) {
	i := frame - w.Times.First
	if i < 0 || i >= min(len(w.Times.Earliest), len(w.Times.Latest)) {
		return -1, -1
	}
	return w.StartNS + w.Times.Earliest[i], w.StartNS + w.Times.Latest[i]
}

// FrameAfter returns the first changed frame after a time within a window; -1: none. Frames between
// windows are not compared.
func FrameAfter(windows []Window, ns int64) int {
	for i := range windows {
		start := windows[i].StartNS
		if t0 := windows[i].T0; t0 != nil {
			start = min(start, t0.AtNS)
		}
		if ns < start {
			continue
		}
		for _, frame := range windows[i].changes().Frames {
			if windows[i].at(frame) > ns {
				return frame
			}
		}
	}
	return -1
}
