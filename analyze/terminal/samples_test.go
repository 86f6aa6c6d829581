package terminal

import (
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/compare"
)

// TestRank: named values are first, in their order. All others stay as they were measured.
func TestRank(t *testing.T) {
	var all []compare.Sample
	for _, name := range []string{"area", "first", "last", "share"} {
		all = append(all, compare.Sample{Key: compare.Key{Measure: "speedindex", Value: name}})
	}
	for asked, want := range map[string]string{"": "area first last share", "last": "last area first share",
		"speedindex.share last": "share last area first"} {
		of := strings.Fields(asked)
		var names []string
		for _, s := range slices.SortedStableFunc(slices.Values(all),
			func(a, b compare.Sample) int { return rank(of, a) - rank(of, b) }) {
			names = append(names, s.Key.Value)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("asked for %q: %s", asked, got)
		}
	}
}
