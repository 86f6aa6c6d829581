package result

import (
	"slices"
	"strings"
	"testing"
)

// TestKindOfTest: without a declaration, the measured values select the primary ones.
func TestKindOfTest(t *testing.T) {
	for _, tc := range []struct {
		name    string
		markers bool
		has     []string
		want    string
	}{
		{"nothing", true, nil, ""},
		{"a response", true, []string{"response.latency_p50", "response.latency_p95", "fps.framerate"},
			"response.latency_p50 response.latency_p95"},
		{"a load", false, []string{"fps.framerate", "speedindex.first_visual_change", "speedindex.pixel.speed_index"},
			"speedindex.first_visual_change speedindex.pixel.speed_index"},
		{"a load with histograms", false, []string{"speedindex.pixel.speed_index", "speedindex.histogram.speed_index"},
			"speedindex.histogram.speed_index"},
		{"an animation", true, []string{"fps.framerate", "fps.dropped", "speedindex.pixel.speed_index"},
			"fps.framerate fps.dropped"},
		{"an animation with a code strip", true, []string{"fps.longest_freeze", "fps.dropped", "fps.dropped_frames"},
			"fps.longest_freeze fps.dropped_frames"},
		{"load figures alone", true, []string{"speedindex.pixel.complete_100"}, "speedindex.pixel.complete_100"},
		{"a scroll", true, []string{"scroll.framerate"}, "scroll.framerate"},
		{"no T0", true, []string{"speedindex.from_first_change.pixel.speed_index"},
			"speedindex.from_first_change.pixel.speed_index"},
	} {
		has := func(name string) bool { return slices.Contains(tc.has, name) }
		if got := strings.Join(UsualPrimaries(has, tc.markers), " "); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
