package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// namedDevice is a device that is only spoken of.
type namedDevice struct{ session.Device }

func (namedDevice) Name() string { return "local" }

// TestFirstThingsFirst: what the test looks at stands at the top, what the user asks for above it,
// and all else as it was measured.
func TestFirstThingsFirst(t *testing.T) {
	r := &testRun{options: session.SetOptions{Test: &suite.Test{Primary: []string{"speedindex.last"}}}}
	var all []compare.Sample
	for _, name := range []string{"area", "first", "last", "share"} {
		all = append(all, compare.Sample{Key: compare.Key{Measure: "speedindex", Value: name}})
	}
	for asked, want := range map[string]string{"": "last area first share",
		"speedindex.share": "share last area first"} {
		r.cmd.Primary = strings.Fields(asked)
		var names []string
		for _, s := range slices.SortedStableFunc(slices.Values(all),
			func(a, b compare.Sample) int { return rank(r.primary(), a) - rank(r.primary(), b) }) {
			names = append(names, s.Key.Value)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("asked for %q: %s", asked, got)
		}
	}
	r.options.Test = nil // it is on another rig
	if got := rank(r.primary(), all[0]); got != len(r.cmd.Primary) {
		t.Errorf("rank %d of a test of which nothing is known", got)
	}
}
