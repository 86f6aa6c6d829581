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

// TestSubmittedBrowsers: a hub refuses a browser that no fitting device has. A device without a
// list may have any. Builds of browsers are not in a list. Those of sites need an installed
// browser.
//
// Fault: A job of a fleet names a browser that no fitting device has
func TestSubmittedBrowsers(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.o.Site = func(feed string) bool { return feed == "shop" }
	w.restart()
	submit := func(p api.StartParams, want string) {
		t.Helper()
		p.Test = "load"
		if _, err := w.hub.Submit(w.Context(), "ann", api.JobParams{StartParams: p}); !strings.Contains(fmt.Sprint(err),
			want) {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
	w.rigs["a"].browsers = "chromium,firefox,firefox-140"
	w.rigs["a"].poll()
	w.rigs["b"].poll()
	submit(api.StartParams{Browsers: []string{"netscape"}}, "<nil>") // b has no list
	w.rigs["b"].browsers = "opera"
	w.rigs["b"].poll()
	submit(api.StartParams{Browsers: []string{"firefox", "netscape"}},
		"no fitting device has a browser netscape; there are chromium, firefox")
	submit(api.StartParams{Variants: []api.Variant{{Browser: "firefoxx"}}}, "a browser firefoxx; there are firefox, ")
	submit(api.StartParams{Browsers: []string{"firefox"}, Devices: []string{"b/phone"}}, "there are opera")
	submit(api.StartParams{Browsers: []string{"firefox", "typed", "chromium@main:v1"}}, "<nil>")
	submit(api.StartParams{Browsers: []string{"firefox", "opera"}}, "has all of the browsers firefox, opera")
	submit(api.StartParams{Browsers: []string{"opera@shop"}}, "<nil>")
	submit(api.StartParams{Browsers: []string{"netscape@shop:v1"}}, "has a browser netscape; there are chromium")
	_, _, err := w.hub.Queue().Fitting("schedule s", nil, api.StartParams{Test: "load",
		Variants: []api.Variant{{Browser: "mosaic"}}})
	if !strings.Contains(fmt.Sprint(err), "has a browser mosaic") {
		t.Error(err)
	}
}

// TestSubmittedBuilds: builds are for devices that run those of the feed. A device whose rig tells
// no feeds may run any.
//
// Fault: A job of a fleet has a build of a feed that no fitting device runs
func TestSubmittedBuilds(t *testing.T) {
	w := newWorld(t, "a", "b")
	p := api.StartParams{Test: "load", Browsers: []string{"chromium@shop:v1"}}
	fitting := func(want string) {
		t.Helper()
		there, away, err := w.hub.Queue().Fitting("schedule s", nil, p)
		if got := fmt.Sprint(there, away, err); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	fitting("[a/phone b/phone] [] <nil>")
	w.rigs["a"].feeds = []string{}
	w.rigs["b"].feeds = []string{"main", "shop"}
	w.rigs["a"].poll()
	w.rigs["b"].poll()
	fitting("[b/phone] [] <nil>")
	w.rigs["b"].feeds = []string{"main"}
	w.rigs["b"].poll()
	fitting("no fitting device runs builds of feed shop")
	w.rigs["a"].feeds = []string{"shop"}
	w.rigs["a"].poll()
	fitting("[a/phone] [] <nil>")
}

// TestTests: patterns of a hub's schedules are about the tests of its rigs.
func TestTests(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.rigs["a"].tests = []string{"scroll", "load"}
	w.rigs["b"].tests = []string{"zoom", "load"}
	w.rigs["a"].poll()
	w.rigs["b"].poll()
	if got := fmt.Sprint(w.hub.Tests()); got != "[load scroll zoom]" {
		t.Error(got)
	}
}

// TestSubmittedCommits: a job with builds of commits goes to a rig that is their builder.
//
// Fault: No rig of a fleet makes the builds of a feed of commits
func TestSubmittedCommits(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.hub.o.Built = func(feed string) bool { return feed == "app" || feed == "shop" }
	for _, one := range []struct{ builder, browser, want string }{
		{"", "firefox@app", "no device has a label builder"},
		{"shop,tool", "firefox@app", "no device has builder=app; there are"},
		{"shop,app", "firefox@app:b1", "[b/phone]"}, {"shop,app", "firefox@other", "[a/phone b/phone]"},
	} {
		w.rigs["b"].builder = one.builder
		w.rigs["b"].poll()
		there, _, err := w.hub.Queue().Fitting("ann", nil, api.StartParams{Test: "load",
			Variants: []api.Variant{{Browser: one.browser}}})
		if got := fmt.Sprint(there, err); !strings.Contains(got, one.want) {
			t.Errorf("%+v: %s", one, got)
		}
	}
}

// TestSubmittedProfiles: a profile in a test's file makes plain runs too. They count in the
// estimate. A set with more variants than rigs take is refused.
func TestSubmittedProfiles(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.rigs["a"].tests, w.rigs["a"].profiled = []string{"load", "scroll", "split"}, []string{"scroll", "split"}
	w.rigs["b"].tests, w.rigs["b"].profiled = []string{"scroll", "split"}, []string{"scroll"}
	w.rigs["a"].poll()
	w.rigs["b"].poll()
	many := func(n int, test string) (all []api.Variant) {
		for range n {
			all = append(all, api.Variant{Test: test})
		}
		return all
	}
	two, nine := []string{"chromium", "firefox"}, many(9, "scroll")
	for i, tc := range []struct {
		api.StartParams
		want string
	}{
		{api.StartParams{Test: "load", Repeat: 3}, "3 runs"},
		{api.StartParams{Test: "load", Repeat: 3, Profile: "samples"}, "6 runs"},
		{api.StartParams{Test: "scroll", Repeat: 3}, "6 runs"},
		{api.StartParams{Test: "split", Repeat: 3}, "3 runs"}, // b has another file of this name
		{api.StartParams{Test: "scroll"}, "1 runs"},
		{api.StartParams{Test: "scroll", Repeat: 3, ProfiledOnly: true}, "3 runs"},
		{api.StartParams{Test: "scroll", Repeat: 3, UntilFail: true}, "3 runs"},
		{api.StartParams{Test: "scroll", Repeat: 3, Origin: []byte(`{}`)}, "3 runs"},
		{api.StartParams{Repeat: 3, Browsers: two, Variants: []api.Variant{{Test: "load"}, {Test: "scroll",
			Browser: "chromium"}}}, "12 runs"},
		{api.StartParams{Repeat: 3, Test: "scroll", Variants: []api.Variant{{Network: "3g"}, {URL: "http://x.example"},
			{Test: "load"}}}, "12 runs"},
		{api.StartParams{Variants: many(8, "scroll")}, "16 runs"},
		{api.StartParams{Variants: nine}, "18 variants with those of plain runs: at most 16"},
		{api.StartParams{Variants: nine, ProfiledOnly: true}, "9 runs"},
		{api.StartParams{Variants: nine, Repeat: 1}, "9 runs"},
		{api.StartParams{Variants: many(9, "load"), Browsers: two}, "18 variants: at most 16"},
		{api.StartParams{Variants: many(2, "load"), Devices: []string{"a/phone"}}, "2 runs"},
	} {
		id := fmt.Sprint("s-", i)
		_, err := w.hub.Submit(w.Context(), "ann", api.JobParams{Job: id, StartParams: tc.StartParams})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%d runs", w.hub.jobs[id].Runs)
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("%+v: %s, want %s", tc.StartParams, got, tc.want)
		}
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
	l.all["lab-07/s-1.1"] = &kept{}
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
