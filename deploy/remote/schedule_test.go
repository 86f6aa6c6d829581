package remote

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestCauseTexts: changes with one cause are one line.
func TestCauseTexts(t *testing.T) {
	got := CauseTexts([]api.SeriesShift{{ID: 3, Cause: "a ran"}, {ID: 1, Cause: "a ran"}, {ID: 2, Explaining: true},
		{ID: 4}})
	want := []string{"changes 1, 3: a ran", "change 2: runs with measuring code search the cause"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
