package spelling

import (
	"strings"
	"testing"
)

func TestWhatMayBeMeant(t *testing.T) {
	known := []string{"fps", "loadhist", "speedindex", "heatmap", "tearing", "checkerboard", "windowopen", "response",
		"scroll", "quality"}
	for name, want := range map[string]string{"fpps": "fps", "FPS": "", "heatmaps": "heatmap", "tear": "",
		"scrol": "scroll", "": "", "speedindx": "speedindex", "x": ""} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"fps", "fpps", 1}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("%q and %q are %d apart, want %d", tc.a, tc.b, got, tc.want)
		}
	}
	if got := Nearest(strings.Repeat("fps", 1<<20), known); got != "" {
		t.Errorf("a word of megabytes means %q", got)
	}
}
