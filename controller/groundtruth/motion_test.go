package groundtruth

import (
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestDistance: 100 px there and back, seen a little further on at the turn, or less.
func TestDistance(t *testing.T) {
	for name, tc := range map[string]struct {
		places []float64
		value  analyze.Value
		agrees bool
	}{
		"there and back":                {[]float64{0, 40, 90, 100, 60, 0}, analyze.Value{Low: 200, High: 200}, true},
		"further than any place":        {[]float64{0, 40, 90, 100, 60, 0}, analyze.Value{Low: 279, High: 281}, true},
		"further than it can have been": {[]float64{0, 40, 90, 100, 60, 0}, analyze.Value{Low: 281, High: 290}, false},
		"frames are lost":               {[]float64{0, 40, 90, 100, 60, 0}, analyze.Value{Low: 60, High: 4000}, true},
		"half of it":                    {[]float64{0, 40, 90, 100, 99, 0}, analyze.Value{Low: 100, High: 100}, false},
		"it never moved":                {[]float64{0}, analyze.Value{}, false},
	} {
		p := &played{Input: Input{Outcome: &analyze.Outcome{}}}
		tc.value.Name = "distance"
		p.Outcome.Results = []analyze.Result{{Measure: "scroll", Values: []analyze.Value{tc.value}}}
		for _, y := range tc.places {
			p.Report.Truth.Places = append(p.Report.Truth.Places, site.Place{Y: y, Scale: 1})
		}
		if c := p.checkDistance(); c.Agrees != tc.agrees || c.Unchecked {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
