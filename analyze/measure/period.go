package measure

import (
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// knownAtRed is a segment as it was when the red of a window between markers came. Its period is
// fitted to the frames until then. So results of a growing recording equal those of the finished
// one. Other windows are chosen after the recording, and use the better fit of all its frames.
func knownAtRed(rec Recording, s frame.Segment, w *Window) frame.Segment {
	if w.Kind != ByMarkers || w.Red == None {
		return s
	}
	var fit timeline.PeriodFit
	for n := s.First; n <= w.Red; n++ {
		if m, err := rec.Meta(n); err == nil {
			fit.Add(m.Sequence, m.Sampled.Mid())
		}
	}
	if p := fit.FemtoPeriod(); p > 0 {
		s.FemtoPeriod = p
	}
	return s
}
