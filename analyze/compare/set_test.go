package compare

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/wording"
)

func TestRunsAreInOrder(t *testing.T) {
	names := []string{"run-10", "b", "run-2", "run-02b", "run", "run-1"}
	slices.SortStableFunc(names, wording.Natural)
	if want := []string{"b", "run", "run-1", "run-2", "run-02b", "run-10"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
