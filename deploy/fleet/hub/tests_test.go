package hub

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestFolder: sets of light folders are named RIG/ID, and their variants RIG/ID~VARIANT. No name
// leads out of them.
func TestFolder(t *testing.T) {
	t.Parallel()
	l, err := openLight(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(l.dir, "lab-07", "s-1.1")
	if err := os.MkdirAll(filepath.Join(dir, "before", "01"), 0o750); err != nil {
		t.Fatal(err)
	}
	l.all["lab-07/s-1.1"] = &lightFolder{}
	h := &Hub{light: l}
	for set, want := range map[string]string{"lab-07/s-1.1": dir, "lab-07/s-1.1~before": filepath.Join(dir, "before"),
		"lab-07/s-1.1~before~01": filepath.Join(dir, "before", "01"), "lab-07/s-1.1~after": "", "lab-08/s-1.1": "",
		"lab-07/s-1.1~..": "", "lab-07/../s-1.1": "", "../lab-07/s-1.1": "", "lab-07/s-1.1~..~..": "", "s-1.1": "",
		"lab-07/s-1.1~before/..": "", "/": "", "lab-07/s-1.1~.staging": ""} {
		if got, err := h.Folder(set); got != want || (err == nil) != (want != "") {
			t.Errorf("%s is in %q, %v", set, got, err)
		}
	}
}
