package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestPairShowsTheSameOnBothSides: a value that one run lacks is shown of neither, and two of one
// name bear their measure's.
func TestPairShowsTheSameOnBothSides(t *testing.T) {
	window := func(framerate float64, measures ...string) *result.Window {
		w := &result.Window{}
		for _, m := range measures {
			w.Results = append(w.Results, analyze.Result{Measure: m, Values: []analyze.Value{rate(framerate)}})
		}
		return w
	}
	names := func(values []analyze.Value) (list []string) {
		for _, v := range values {
			list = append(list, fmt.Sprintf("%s=%v", v.Name, v.Value))
		}
		return list
	}
	a, b := pairValues(window(50, "scroll", "fps"), window(60, "fps"))
	if !slices.Equal(names(a), []string{"fps.framerate=50"}) || !slices.Equal(names(b), []string{"fps.framerate=60"}) {
		t.Errorf("%v beside %v", names(a), names(b))
	}
	if a, _ = pairValues(window(50, "scroll", "fps"), window(60, "fps", "scroll")); !slices.Equal(names(a),
		[]string{"fps.framerate=50", "scroll.framerate=50"}) {
		t.Errorf("%v", names(a))
	}
}

// TestPairLinesUpAtT0: a side lines up at the frame that was shown at T0. Nothing is shown until
// its content.
func TestPairLinesUpAtT0(t *testing.T) {
	r := film(t, make([]int, 40), func(int, []byte, *frame.Layout) {})
	w := &result.Window{Green: 29, Start: 30, End: 38, Red: 39, T0: &result.T0{AtNS: 1e9 + 20*16_666_667 + 1_000_000}}
	for _, tc := range []struct {
		fromT0 bool
		start  int
		before uint64
		zero   int64
	}{{true, 20, pairMargin, w.T0.AtNS}, {false, 30, pairMargin, 1e9 + 30*16_666_667}} {
		s := analyzetest.Must(pairSide(t.Context(), r, w, tc.fromT0, "A", func(int) {}))(t)
		if s.Start != tc.start || s.Before != tc.before || int64(s.Overlay.Zero) != tc.zero {
			t.Errorf("from T0 %v: starts at %d, %d behind the first, at %d", tc.fromT0, s.Start, s.Before,
				s.Overlay.Zero)
		}
		if !s.Overlay.Nothing(29) || s.Overlay.Nothing(30) {
			t.Error("the content does not begin at frame 30")
		}
	}
}
