package measure_test

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestSince: the content of a frame after lost ones may have appeared with the first of them. That
// one's stamp would have been as wide as the others'. It cannot have appeared before the last seen
// frame.
func TestSince(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 8)
	for _, tc := range []struct {
		name          string
		early         time.Duration // stamps begin so long before the beat
		own           bool
		lost          int
		want, stamped time.Duration // earliest; how far frame 4 is off the beat
	}{
		{"nothing lost", 0, false, 0, 400 * time.Millisecond, 0},
		{"nothing lost, wide", 8 * time.Millisecond, false, 0, 392 * time.Millisecond, 0},
		{"two lost", 0, false, 2, 400 * time.Millisecond, 0},
		{"two lost, wide", 8 * time.Millisecond, false, 2, 392 * time.Millisecond, 0},
		{"wider than a period", 250 * time.Millisecond, false, 2, 150 * time.Millisecond, 0},
		{"times of its own, off the beat", 8 * time.Millisecond, true, 2, 292 * time.Millisecond,
			30 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			m.Period = 100 * time.Millisecond
			pix := make([]byte, m.Layout.Size)
			for i := range 8 {
				if i == 4 {
					m.Shoot(pix, tc.lost)
					m.Metas[i].Sampled = timeline.At(m.Metas[i].Sampled.Earliest.Add(tc.stamped))
				} else {
					m.Shoot(pix, 0)
				}
				s := &m.Metas[i].Sampled
				*s = timeline.Interval{Earliest: s.Earliest.Add(-tc.early), Latest: s.Latest.Add(tc.early)}
			}
			times := measure.NewTimes(m, m.Segments()[0], 0, 8, tc.own)
			if got := times.Since(4); time.Duration(got.Earliest) != tc.want || got.Latest != times.Bounds(4).Latest {
				t.Errorf("frame 4 shows what may be there since %v to %v, want %v", got.Earliest, got.Latest, tc.want)
			}
		})
	}
}
