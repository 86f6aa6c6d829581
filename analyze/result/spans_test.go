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
