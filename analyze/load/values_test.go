package load_test

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
)

// TestLoadValuesAreDeclared: a load measured in all ways has all declared values, from T0 or from
// the first change.
func TestLoadValuesAreDeclared(t *testing.T) {
	m, w := plainWindow(t, shown{0, 0, 0}, shown{500, 255, 255}, shown{1000, 60, 140}, shown{1500, 60, 20},
		shown{2500, 60, 20})
	o := analyze.Options{OwnClock: true, Load: load.Options{Variants: load.AllVariants()}}
	wantNames(t, filmtest.One(t, m, w, o, "speedindex"), load.FigureNames(""))
	wantNames(t, filmtest.One(t, m, w, o, "windowopen"), append(load.FigureNames(""), load.HistogramNames()...))
	w.T0 = nil
	wantNames(t, filmtest.One(t, m, w, o, "speedindex"), load.FigureNames("from_first_change."))
}

func wantNames(t *testing.T, r measure.Result, want []string) {
	t.Helper()
	var got []string
	for _, v := range r.Values {
		got = append(got, v.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s has %v, want %v, %v", r.Measure, got, want, r.Warnings)
	}
}
