package analyze

import (
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestLargeFramesShareMemory holds what an analysis keeps of large frames against the limit.
//
// Bug: measuring 60 frames of 8192x4608 took 7.4 GB.
func TestLargeFramesShareMemory(t *testing.T) {
	for _, c := range []struct{ width, height, workers int }{
		{64, 36, 12}, {1920, 1080, 12}, {3840, 2160, 4}, {8192, 4608, 1},
	} {
		f := analyzetest.Must(frame.NewFormat(frame.BGR4, c.width, c.height))(t)
		l := analyzetest.Must(frame.NewLayout(f))(t)
		at := &measure.Case{Layout: l}
		if w := (&run{Case: at, options: &Options{Workers: 12}}).workers(); w != c.workers {
			t.Errorf("%dx%d: %d goroutines, want %d", c.width, c.height, w, c.workers)
		}
	}
}
