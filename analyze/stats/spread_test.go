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
