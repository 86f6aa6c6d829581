package main

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
)

// TestNumbersThatMeanNothing: what is below the digits that are shown is not told as if it were
// found.
func TestNumbersThatMeanNothing(t *testing.T) {
	for _, tc := range []struct {
		unit             string
		value, low, high float64
		text, bounds     string
	}{
		{"px", 1.306e-07, 1e-07, 2e-07, "0", "within rounding"},
		{"px", -1e-9, -1e-9, -1e-9, "0", "within rounding"},
		{"fraction", 4.8e-07, 4.8e-07, 4.8e-07, "4.8e-07", "within rounding"},
		{"ms", 4000, 3999.99999, 4000.00001, "4000", "within rounding"},
		{"ms", 4000, 3999, 4001, "4000", "3999 – 4001"},
		{"ms", 0.0521, 0.05, 0.06, "0.0521", "0.05 – 0.06"},
	} {
		v := analyze.Value{Unit: tc.unit, Value: tc.value, Low: tc.low, High: tc.high, State: analyze.Bounded}
		if text, bounds := valueFigure(v), shownBounds(v); text != tc.text || bounds != tc.bounds {
			t.Errorf("%+v: %q, %q, want %q, %q", v, text, bounds, tc.text, tc.bounds)
		}
	}
}

func TestFramesOfNothing(t *testing.T) {
	if _, _, err := (frameRange{from: 3, to: 5, given: true}).in(0); err == nil ||
		!strings.Contains(err.Error(), "has no frames") || !strings.Contains(err.Error(), "quality") {
		t.Errorf("%v", err)
	}
}
