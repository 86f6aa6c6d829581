package runfolder

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
)

// TestFilmstripShowsWhatChanged: a filmstrip has the frames that some measure found new, whichever
// measures were requested. The first frame is always included.
func TestFilmstripShowsWhatChanged(t *testing.T) {
	result := func(measure string, frames ...int) analyze.Result {
		return analyze.Result{Measure: measure, Series: []analyze.Series{{Frames: frames}}}
	}
	for name, tc := range map[string]struct {
		results []analyze.Result
		want    []int
	}{
		"framerate": {[]analyze.Result{result("loadhist", 100, 120), result("fps", 100, 110, 120)},
			[]int{100, 110, 120}},
		"load": {[]analyze.Result{result("loadhist", 100, 120), result("speedindex", 100, 115)},
			[]int{100, 115}},
		"what was before":      {[]analyze.Result{result("speedindex", 99, 100, 120)}, []int{100, 120}},
		"the first is no news": {[]analyze.Result{result("loadhist", 105, 120)}, []int{100, 105, 120}},
		"none has changes": {[]analyze.Result{result("fps"), {Measure: "speedindex"}, {Measure: "heatmap"}},
			[]int{100, 130}},
	} {
		t.Run(name, func(t *testing.T) {
			p := windowPictures{outcome: &analyze.Outcome{Window: analyze.Window{Start: 100, End: 130},
				Results: tc.results}}
			if got := p.changed(); !slices.Equal(got, tc.want) {
				t.Errorf("frames %v, want %v", got, tc.want)
			}
		})
	}
}
