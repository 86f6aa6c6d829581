package tearing

import (
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestLargeFramesMakeSmallSets holds the images that are kept of large frames against the limit.
//
// Bug: measuring 60 frames of 8192x4608 took 7.4 GB.
func TestLargeFramesMakeSmallSets(t *testing.T) {
	for _, c := range []struct{ width, height, images int }{
		{64, 36, maxImages}, {1920, 1080, maxImages}, {3840, 2160, 16}, {8192, 4608, 3},
	} {
		f := analyzetest.Must(frame.NewFormat(frame.BGR4, c.width, c.height))(t)
		l := analyzetest.Must(frame.NewLayout(f))(t)
		at := &measure.Case{Layout: l}
		if n := maxSet(at); n != c.images {
			t.Errorf("%dx%d: %d images, want %d", c.width, c.height, n, c.images)
		}
	}
}
