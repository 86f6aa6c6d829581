package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
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
