package analyze

import (
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// knownAtRed is a segment as it was when the red of a window between markers came: its period is
// fitted to the frames until then, so that results are the same while the recording still grows and
// in all that it becomes. Other windows are chosen when the recording is there, and take the fit of
// all its frames, which is better.
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
