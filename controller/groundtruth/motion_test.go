package groundtruth

import (
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestDistance: 100 px there and back, seen a little further on at the turn, or less. The frame is
// 30 px wide and 40 px high: a jump of 300 px is seen as 50 px at most.
func TestDistance(t *testing.T) {
	turned, straight := []float64{0, 40, 90, 100, 60, 0}, []float64{0, 50, 80, 100}
	const refused = "refused"
	far, half := []float64{0, 20, 320, 340}, []float64{0, 40, 90, 100, 99, 0}
	for name, tc := range map[string]struct {
		places      []float64
		value       analyze.Value
		first, last int // pictures in the first frame and the last
		undecided   float64
		agrees      bool
	}{
		"refused: steps are too long":   {[]float64{0, 21}, analyze.Value{Unit: refused}, 0, 1, 0, false},
		"refused, though it is seen":    {[]float64{0, 20}, analyze.Value{Unit: refused}, 0, 1, 0, false},
		"there and back":                {turned, analyze.Value{Low: 200, High: 200}, 0, 5, 0, true},
		"further than any place":        {turned, analyze.Value{Low: 279, High: 281}, 0, 5, 0, true},
		"further than it can have been": {turned, analyze.Value{Low: 281, High: 290}, 0, 5, 0, false},
		"frames are lost":               {turned, analyze.Value{Low: 60, High: 4000}, 0, 5, 0, true},
		"half of it":                    {half, analyze.Value{Low: 100, High: 100}, 0, 5, 0, false},
		"it never moved":                {[]float64{0}, analyze.Value{}, 0, 0, 0, false},
		"the last is drawn, not shown":  {straight, analyze.Value{Low: 80, High: 80}, 0, 2, 0, true},
		"less than the last shown":      {straight, analyze.Value{Low: 79, High: 79}, 0, 2, 0, false},
		"the first is not shown":        {straight, analyze.Value{Low: 50, High: 50}, 1, 3, 0, true},
		"less than from the first":      {straight, analyze.Value{Low: 49, High: 49}, 1, 3, 0, false},
		"unreadable ends":               {straight, analyze.Value{Low: 80, High: 80}, unreadable, unreadable, 0, false},
		"a jump that is in doubt":       {far, analyze.Value{Low: 40, High: 90}, 0, 3, 1, true},
		"shorter than the doubt":        {far, analyze.Value{Low: 40, High: 89}, 0, 3, 1, false},
		"a jump without a doubt":        {far, analyze.Value{Low: 40, High: 90}, 0, 3, 0, false},
	} {
		p := &played{Input: Input{Outcome: &analyze.Outcome{}}}
		tc.value.Name = "distance"
		p.Outcome.Window.Region = frame.Region{Width: 30, Height: 40}
		p.Outcome.Results = []analyze.Result{{Measure: "scroll", Values: []analyze.Value{tc.value,
			{Name: "undecided_frames", Value: tc.undecided}}}}
		for i, y := range tc.places {
			p.Report.Truth.Places = append(p.Report.Truth.Places, site.Place{Y: y, Scale: 1})
			p.Report.Drawn = append(p.Report.Drawn, site.Drawn{ID: uint32(i)})
		}
		for _, id := range []int{tc.first, tc.last} {
			v := view{}
			for k := range strip.Copies {
				v.ids[k] = id
			}
			p.views = append(p.views, v)
		}
		if tc.value.Unit == refused {
			p.Outcome.Results[0].State = analyze.Refused
		}
		if c := p.checkDistance(); c.Agrees != tc.agrees || c.Unchecked != (name == "refused: steps are too long") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
