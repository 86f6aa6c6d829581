package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestSubmittedTests: a hub refuses tests and addresses that no fitting rig takes. It names the
// nearest test.
func TestSubmittedTests(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.rigs["a"].tests = []string{"framerate", "scroll"}
	w.rigs["a"].poll()
	for want, p := range map[string]api.JobParams{
		"<nil>": {StartParams: api.StartParams{Test: "framrate"}}, // b may have any
	} {
		if _, err := w.hub.Submit(w.Context(), "ann", p); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	w.rigs["b"].tests = []string{"load"}
	w.rigs["b"].poll()
	for want, p := range map[string]api.StartParams{
		"there are framerate, load, scroll": {Test: "framrate"},
		"has all of the tests":              {Variants: []api.Variant{{Test: "load"}, {Test: "scroll"}}},
		"begins with http":                  {URL: "file:///etc/passwd"},
		"has a test x":                      {Test: "x", Devices: []string{"a/phone"}},
	} {
		j, err := w.hub.Submit(w.Context(), "ann", api.JobParams{StartParams: p})
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%+v: %+v, %v; want %s", p, j, err, want)
		}
	}
	there, away, err := w.hub.Queue().Fitting("ann", []string{"rig=a,b"}, api.StartParams{Test: "load"})
	if fmt.Sprint(there, away, err) != "[b/phone] [] <nil>" {
		t.Errorf("%v %v %v", there, away, err)
	}
}
