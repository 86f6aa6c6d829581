package result

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
)

// TestSpansWithoutFrameTimes: the changed frames of a click are known from its progress. None is
// late by the median, but a frame before which the device was busy.
func TestSpansWithoutFrameTimes(t *testing.T) {
	w := Window{StartNS: 1e9, Times: FrameTimes{First: 10}}
	for k := range int64(31) {
		w.Times.Time = append(w.Times.Time, k*16e6)
	}
	w.Results = []analyze.Result{{Measure: "speedindex", Series: []analyze.Series{{Name: "pixel.progress", Unit: "%",
		Frames: []int{10, 11, 12, 13, 40}, Values: []float64{0, 1, 2, 3, 100}}}}}
	spans := FrameSpans([]Window{w}, 0)
	if len(spans) != 4 {
		t.Fatalf("%+v", spans)
	}
	last := spans[3]
	if last.Frame != 40 || last.Lasted() != 27*16*time.Millisecond || last.Long || !last.Busy(300*time.Millisecond) ||
		last.Busy(100*time.Millisecond) {
		t.Errorf("%+v", last)
	}
	if got := FrameAfter([]Window{w}, spans[2].ToNS); got != 40 {
		t.Errorf("the frame after an error is %d", got)
	}
}

// TestSpanOfALoad: the first change of a load is late if scripts ran for a quarter of its time.
// Where inputs have answers, the first change is one of them.
func TestSpanOfALoad(t *testing.T) {
	w := window(analyze.Result{Measure: "speedindex",
		Values: []analyze.Value{value("first_visual_change", 450, "ms", analyze.Lower, 14)}})
	w.T0.Source = "x11 navigation"
	spans := FrameSpans([]Window{*w}, 0)
	want := FrameSpan{Frame: 14, FromNS: 1_950_000_000, ToNS: 2_400_000_000, Response: true, Load: true}
	if len(spans) != 1 || spans[0] != want {
		t.Fatalf("%+v, want %+v", spans, want)
	}
	if s := &spans[0]; !s.Busy(113*time.Millisecond) || s.Busy(112*time.Millisecond) {
		t.Errorf("%v is busy or not", s.Lasted())
	}
	w.Results = append(w.Results, analyze.Result{Measure: "response", Series: []analyze.Series{{Name: "latency",
		Frames: []int{14}, Values: []float64{300}}}})
	if spans = FrameSpans([]Window{*w}, 0); len(spans) != 1 || spans[0].Load || !spans[0].Response {
		t.Errorf("with an answer %+v", spans)
	}
	w.Results, w.T0.Source = w.Results[:1], "controller input"
	if spans = FrameSpans([]Window{*w}, 0); len(spans) > 0 {
		t.Errorf("after an input %+v", spans)
	}
	w.T0 = nil
	if spans = FrameSpans([]Window{*w}, 0); len(spans) > 0 {
		t.Errorf("without a command %+v", spans)
	}
}
