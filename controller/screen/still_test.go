package screen

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestLateFrameIsNotLonger: a last frame that a busy machine samples late does not lengthen a
// stillness. The measures count periods, and would not find it in the recording.
func TestLateFrameIsNotLonger(t *testing.T) {
	const period = time.Second / 60
	for _, tc := range []struct {
		name string
		seen uint64        // frames since the change
		late time.Duration // by which the last was sampled
		want bool          // still for a second
	}{
		{"on time", 62, 0, true},
		{"late", 57, 200 * time.Millisecond, false},
		{"late and long enough", 63, 200 * time.Millisecond, true},
		{"on time, two frames fewer", 60, 0, false},
	} {
		st := condition{stretch: stretch{first: 10, seen: tc.seen}}
		at := timeline.Time(0).Add(time.Duration(tc.seen)*period + tc.late)
		sampled := timeline.Interval{Earliest: at, Latest: at}
		step := &frame.Step{Meta: frame.Meta{Sequence: 10 + tc.seen, Sampled: sampled}}
		if got := st.still(step, period); (got >= time.Second-time.Microsecond) != tc.want {
			t.Errorf("%s: still for %v", tc.name, got)
		}
	}
}
