package measure_test

import (
	"math"
	"testing"

	"github.com/eideticker/eideticker/analyze/measure"
)

// TestCompleteHolds: whatever a measure says, its values end up finite and within their bounds.
func TestCompleteHolds(t *testing.T) {
	for _, tc := range []struct {
		name             string
		value, low, high float64
		wantLow          float64
		wantHigh         float64
		state            measure.State // none: left out
	}{
		{"exact", 3, 3, 3, 3, 3, measure.Exact},
		{"within", 3, 2, 4, 2, 4, measure.Bounded},
		{"below", -1, 0, 4, -1, 4, measure.Bounded},
		{"above", 5, 0, 4, 0, 5, measure.Bounded},
		{"bounds meet beside it", 5, 4, 4, 4, 5, measure.Bounded},
		{"bounds the wrong way round", 5, 6, 4, 5, 5, measure.Bounded},
		{"not a number", math.NaN(), 0, 1, 0, 0, ""},
		{"without end", 1, 0, math.Inf(1), 0, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := measure.Result{Values: []measure.Value{measure.Between("x", "ms", tc.value, tc.low, tc.high,
				measure.Lower, 0)}}.Complete()
			if tc.state == "" {
				if len(r.Values) != 0 || len(r.Warnings) != 1 {
					t.Errorf("got %+v", r)
				}
				return
			}
			if v := r.Values[0]; v.Low != tc.wantLow || v.High != tc.wantHigh || v.Value != tc.value ||
				v.State != tc.state {
				t.Errorf("got %+v", v)
			}
		})
	}
}
