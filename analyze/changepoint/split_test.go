package changepoint_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/changepoint"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func indexes(changes []changepoint.Change) []int {
	all := []int{}
	for _, c := range changes {
		all = append(all, c.Index)
	}
	return all
}

// TestSplitEqualsOtava compares points with those of Otava. testdata/reference.py makes them.
func TestSplitEqualsOtava(t *testing.T) {
	var lists []struct {
		Name   string
		Window int
		P      float64
		Points []int
		Series []float64
	}
	if err := json.Unmarshal(analyzetest.Must(os.ReadFile("testdata/otava.json"))(t), &lists); err != nil {
		t.Fatal(err)
	}
	equal, points := 0, 0
	var series []float64
	for _, l := range lists {
		if l.Series != nil {
			series = l.Series
		}
		got := indexes(analyzetest.Must(changepoint.Split(series, changepoint.SplitOptions{Window: l.Window, P: l.P}))(t))
		if points += len(l.Points); slices.Equal(got, l.Points) {
			equal++
			continue
		}
		t.Errorf("%s, window %d: points %v, Otava has %v", l.Name, l.Window, got, l.Points)
	}
	if t.Logf("%d of %d lists equal, %d points", equal, len(lists), points); points < 100 {
		t.Errorf("the lists have %d points only", points)
	}
}
