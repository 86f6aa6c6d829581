package runfolder

import (
	"slices"
	"testing"
	"time"

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

// TestFilmStep: a filmstrip in even steps has room for all of them.
func TestFilmStep(t *testing.T) {
	for _, tc := range []struct{ length, want time.Duration }{
		{0, 100 * time.Millisecond}, {3399 * time.Millisecond, 100 * time.Millisecond},
		{3400 * time.Millisecond, 500 * time.Millisecond}, {18 * time.Second, time.Second},
		{time.Minute, 5 * time.Second}, {time.Hour, 500 * time.Second},
	} {
		got := filmStep(tc.length)
		if got != tc.want {
			t.Errorf("%v: a step of %v, want %v", tc.length, got, tc.want)
		}
		if n := int(tc.length/got) + 1; n > maxEven {
			t.Errorf("%v: %d pictures", tc.length, n)
		}
	}
}

// TestChosenFilmStep: a chosen step stays, or grows until all pictures have room.
func TestChosenFilmStep(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		length, step, want time.Duration
		digits             int
	}{
		{0, time.Second, time.Second, 1}, {-time.Hour, time.Second, time.Second, 1},
		{14999 * ms, 100 * ms, 100 * ms, 1}, {15 * time.Second, 100 * ms, 200 * ms, 1},
		{time.Hour, 500 * ms, 24500 * ms, 1},
		{time.Second, 50 * ms, 50 * ms, 2}, {time.Second, 33 * ms, 33 * ms, 3}, {1 << 62, time.Minute, 0, 1},
	} {
		got := FilmStep(tc.length, tc.step, MaxFilmstrip)
		if tc.want != 0 && got != tc.want || got%tc.step != 0 || digits(got) != tc.digits {
			t.Errorf("%v: a step of %v with %d digits, want %v", tc.length, got, digits(got), tc.want)
		}
		if n := tc.length/got + 1; n > MaxFilmstrip {
			t.Errorf("%v: %d pictures", tc.length, n)
		}
	}
}
