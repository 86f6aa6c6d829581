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
	half := []float64{0, 40, 90, 100, 99, 0}
	far, late := []float64{0, 20, 320, 340}, []float64{0, 20, 40, 200, 320, 340, 360}
	for name, tc := range map[string]struct {
		places    []float64
		value     analyze.Value
		shown     []int // the picture of each frame
		undecided []int // frames
		agrees    bool
	}{
		"refused: steps are too long":   {[]float64{0, 21}, analyze.Value{Unit: refused}, []int{0, 1}, nil, false},
		"refused, though it is seen":    {[]float64{0, 20}, analyze.Value{Unit: refused}, []int{0, 1}, nil, false},
		"there and back":                {turned, analyze.Value{Low: 200, High: 200}, []int{0, 5}, nil, true},
		"further than any place":        {turned, analyze.Value{Low: 279, High: 281}, []int{0, 5}, nil, true},
		"further than it can have been": {turned, analyze.Value{Low: 281, High: 290}, []int{0, 5}, nil, false},
		"frames are lost":               {turned, analyze.Value{Low: 60, High: 4000}, []int{0, 5}, nil, true},
		"half of it":                    {half, analyze.Value{Low: 100, High: 100}, []int{0, 5}, nil, false},
		"it never moved":                {[]float64{0}, analyze.Value{}, []int{0, 0}, nil, false},
		"the last is drawn, not shown":  {straight, analyze.Value{Low: 80, High: 80}, []int{0, 2}, nil, true},
		"less than the last shown":      {straight, analyze.Value{Low: 79, High: 79}, []int{0, 2}, nil, false},
		"the first is not shown":        {straight, analyze.Value{Low: 50, High: 50}, []int{1, 3}, nil, true},
		"less than from the first":      {straight, analyze.Value{Low: 49, High: 49}, []int{1, 3}, nil, false},
		"unreadable ends": {straight, analyze.Value{Low: 80, High: 80}, []int{unreadable, unreadable}, nil,
			false},
		// Content may be a picture behind the strip, or ahead: it went from 0 to 340.
		"a jump that is in doubt": {far, analyze.Value{Low: 40, High: 50}, []int{0, 1, 2, 3}, []int{2}, true},
		"shorter than the doubt":  {far, analyze.Value{Low: 40, High: 49}, []int{0, 1, 2, 3}, []int{2}, false},
		"a jump without a doubt":  {far, analyze.Value{Low: 40, High: 90}, []int{0, 1, 2, 3}, nil, false},
		"a doubt without a jump":  {far, analyze.Value{Low: 40, High: 90}, []int{0, 0, 1, 2, 3}, []int{1}, false},
		// The jump can be in one of them only.
		"a jump in two frames":      {far, analyze.Value{Low: 40, High: 100}, []int{0, 1, 2, 3}, []int{2, 3}, true},
		"no jump in either of two":  {far, analyze.Value{Low: 0, High: 99}, []int{0, 1, 2, 3}, []int{2, 3}, false},
		"doubts before the first":   {far, analyze.Value{Low: 0, High: 39}, []int{2, 2, 3}, []int{1, 2}, true},
		"two doubts, and no motion": {far, analyze.Value{Low: 0, High: 19}, []int{2, 2, 3}, []int{1, 2}, false},
		// The page drew twice between two frames.
		"two steps in a frame": {late, analyze.Value{Low: 60, High: 90}, []int{0, 1, 2, 4, 5, 6}, []int{3}, true},
		"less than both steps": {late, analyze.Value{Low: 60, High: 89}, []int{0, 1, 2, 4, 5, 6}, []int{3}, false},
		"an unreadable frame": {late, analyze.Value{Low: 60, High: 70}, []int{0, 1, 2, unreadable, 5, 6}, []int{3},
			true},
		"less than it hides": {late, analyze.Value{Low: 60, High: 69}, []int{0, 1, 2, unreadable, 5, 6}, []int{3},
			false},
	} {
		p := &played{Input: Input{Outcome: &analyze.Outcome{}}}
		tc.value.Name = "distance"
		p.Outcome.Window.Region = frame.Region{Width: 30, Height: 40}
		p.Outcome.Results = []analyze.Result{{Measure: "scroll", Values: []analyze.Value{tc.value,
			{Name: "undecided_frames", Value: float64(len(tc.undecided)), Frames: tc.undecided}}}}
		for i, y := range tc.places {
			p.Report.Truth.Places = append(p.Report.Truth.Places, site.Place{Y: y, Scale: 1})
			p.Report.Drawn = append(p.Report.Drawn, site.Drawn{ID: uint32(i)})
		}
		for i, id := range tc.shown {
			v := view{frame: i}
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
