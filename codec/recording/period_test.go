package recording

import (
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestPeriodStandsOnAllFrames fits the period of two segments whose rate drifts, so that each frame
// left out shows.
func TestPeriodStandsOnAllFrames(t *testing.T) {
	f, err := frame.NewFormat(frame.GREY, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	const frames = 90 // checkpoints, and with them indexes, end after a second: in the middle of a segment
	d := &memDisk{}
	w := newWriter(d, testOptions())
	var fits [2]timeline.PeriodFit
	at := timeline.Time(0)
	for s := range fits {
		if err := w.Segment(f, 1, 60); err != nil {
			t.Fatal(err)
		}
		for i := range frames {
			m := frame.Meta{Sequence: uint64(s*frames + i), Sampled: timeline.At(at)}
			fits[s].Add(m.Sequence, at)
			at += timeline.Time(16_000_000 + i*i*100)
			if err := w.WriteFrame(make([]byte, 16), m, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range r.Segments() {
		if want := fits[i].FemtoPeriod(); s.FemtoPeriod != want {
			t.Errorf("segment %d has a period of %d fs, want %d", i, s.FemtoPeriod, want)
		}
	}
}
