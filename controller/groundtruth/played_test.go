package groundtruth

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
)

func TestDifference(t *testing.T) {
	for _, tc := range []struct{ a, b, want []int }{
		{nil, nil, nil},
		{[]int{1, 2, 3}, []int{1, 2, 3}, nil},
		{[]int{1, 3}, []int{2, 3, 4}, []int{1, 2, 4}},
		{nil, []int{7}, []int{7}},
	} {
		if got := difference(tc.a, tc.b); !slices.Equal(got, tc.want) {
			t.Errorf("%v and %v differ in %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestHeldAt(t *testing.T) {
	s := &analyze.Series{Holds: true, Frames: []int{5, 9}, Values: []float64{1, 2}}
	for _, tc := range []struct {
		frame int
		holds bool
		want  float64
		ok    bool
	}{
		{4, true, 0, false}, {5, true, 1, true}, {8, true, 1, true}, {9, true, 2, true}, {99, true, 2, true},
		{8, false, 0, false}, {9, false, 2, true},
	} {
		s.Holds = tc.holds
		if got, ok := heldAt(s, tc.frame); got != tc.want || ok != tc.ok {
			t.Errorf("frame %d, holds %t: %v, %t", tc.frame, tc.holds, got, ok)
		}
	}
}

// views makes a truth of frames that show these pictures, whole (one id) or torn.
func views(rows ...[]int) *played {
	t := &played{}
	for n, ids := range rows {
		v := view{frame: 100 + n}
		for k := range v.ids {
			v.ids[k] = ids[min(k, len(ids)-1)]
		}
		t.views = append(t.views, v)
	}
	return t
}

func TestChangesOfTheStrip(t *testing.T) {
	d := views([]int{0}, []int{0}, []int{1, 0}, []int{1, 0}, []int{1}, []int{3})
	if got, unsure := d.changes(); !slices.Equal(got, []int{100, 102, 104, 105}) || len(unsure) > 0 {
		t.Errorf("changes in %v, perhaps in %v", got, unsure)
	}
	if d.torn(&d.views[1]) || !d.torn(&d.views[2]) {
		t.Error("torn and whole frames are taken for each other")
	}
	d.views[3].ids[4] = unreadable
	if _, ok := d.views[3].whole(); ok || d.torn(&d.views[3]) {
		t.Error("a frame with a copy that cannot be read is taken for whole or torn")
	}
	if got, unsure := d.changes(); !slices.Equal(got, []int{100, 102, 104, 105}) || !slices.Equal(unsure, []int{103}) {
		t.Errorf("changes in %v, perhaps in %v", got, unsure)
	}
}
