package stats

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	s := NewSpread([]float64{4, 1, 3, 2, 5})
	if want := (Spread{3, 2, 4, 1, 5, 1.5811388300841898 / 3}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	if s := NewSpread([]float64{7}); s.Median != 7 || s.Lower != 7 || s.Upper != 7 || !math.IsNaN(s.Variation) {
		t.Errorf("%+v", s)
	}
	if s := NewSpread([]float64{-1, 1}); !math.IsNaN(s.Variation) || s.Lower != -0.5 || s.Upper != 0.5 {
		t.Errorf("%+v", s)
	}
}

// TestUnexpected: Student's t of 9 degrees of freedom at 0.95 is 2.262.
func TestUnexpected(t *testing.T) {
	before := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} // mean 5.5, deviation 3.0277
	bound := 2.2622 * 3.02765 * math.Sqrt(1.1)
	for _, d := range []float64{-1, 1} {
		if Unexpected(before, 5.5+d*(bound-0.01), 0.05) || !Unexpected(before, 5.5+d*(bound+0.01), 0.05) {
			t.Errorf("the bound in direction %v is not %v", d, bound)
		}
	}
}
