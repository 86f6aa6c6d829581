package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/suite"
)

// TestStandardSuiteIsMeasuredAsDrawn runs the standard tests on a browser: each number must be as
// the page drew it. Each measure and each kind of input has a test, and each runs on one browser.
// Chromium starts in half the time. Tests are shorter. With EIDETICKER_SOAK every test runs whole,
// and on both. This machine plays and records, so frames are lost: they must make no number wrong.
func TestStandardSuiteIsMeasuredAsDrawn(t *testing.T) {
	t.Parallel()
	browsers := []string{"chromium", "firefox"}
	needBrowsers(t, browsers...)
	on := map[string]string{"checkerboard-pan": "chromium", "hover": "chromium", "tearing-combined": "chromium",
		"pingpong": "chromium", "window-open": "chromium", "zoom": "chromium", "scroll": "firefox",
		"stutter": "firefox", "typing": "firefox"}
	whole := os.Getenv("EIDETICKER_SOAK") != ""
	local := theLocalDevice(t)
	var table strings.Builder
	rows := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "TEST\tBROWSER\tAGREED\tNOT CHECKED\tFAILED\tLOST")
	tests := standardTests(t)
	if !whole {
		tests = slices.DeleteFunc(tests, func(t *suite.Test) bool { return on[t.Name] == "" })
		if len(tests) != len(on) {
			t.Fatalf("%d tests of %v", len(tests), on)
		}
		for _, test := range tests {
			shorten(test)
		}
	}
	var writing sync.Mutex
	t.Run("on", func(t *testing.T) {
		for _, browser := range browsers {
			for _, test := range tests {
				if !whole && on[test.Name] != browser {
					continue
				}
				t.Run(browser+"/"+test.Name, func(t *testing.T) {
					t.Parallel()
					r := measuredAsDrawn(t, local, test, browser)
					writing.Lock()
					defer writing.Unlock()
					fmt.Fprintf(rows, "%s\t%s\t%d\t%d\t%d\t%d of %d\n", test.Name, browser,
						r.Checks-len(r.ChecksFailed), len(r.ChecksNotMade), len(r.ChecksFailed), r.WindowLost,
						r.WindowLost+r.WindowFrames)
				})
			}
		}
	})
	if err := rows.Flush(); err != nil {
		t.Error(err)
	}
	t.Logf("\n%s", &table)
}

// measuredAsDrawn makes a run of a test. Each of its numbers must be as the page drew it.
func measuredAsDrawn(t *testing.T, local Device, test *suite.Test, browser string) *Record {
	t.Helper()
	takeTurn(t)
	set, err := RunSet(t.Context(), SetOptions{
		Test: test, Variants: []Variant{{Device: local, Browser: browser}}, Repeat: 1, Retries: 3,
		Dir:     filepath.Join(t.TempDir(), "set"),
		Program: "test", Seed: 1, MaxLost: 0.5, NoPictures: true, NoVideo: true, Progress: untold{},
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := set.Of(0)
	if len(counted) != 1 {
		t.Fatalf("%d runs count of %s", len(counted), reasons(set, 0))
	}
	r := counted[0].Record
	if slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "sandbox") }) {
		t.Errorf("notes are %q; the page is the run's own", r.Notes)
	}
	if r.Checks == 0 || len(r.ChecksFailed) > 0 {
		t.Errorf("%d checks were made: %s", r.Checks, checksOf(t, filepath.Join(set.Dir, counted[0].Dir)))
	}
	return r
}

// shorten leaves of a test what its checks need: fewer answers, and fewer pixels. The strip fits
// into 800x450; the cells of checkerboards and the landscape that is enlarged are made for the
// usual size.
func shorten(test *suite.Test) {
	if test.Window == (suite.Size{}) && test.Name != "zoom" && !strings.HasPrefix(test.Name, "checkerboard") {
		test.Window = suite.Size{Width: 800, Height: 450}
	}
	for i := range test.Steps {
		switch a := test.Steps[i].Action.(type) {
		case suite.Ping:
			a.Times = min(a.Times, 8)
			test.Steps[i].Action = a
		case suite.Wheel:
			a.Times = min(a.Times, 20)
			test.Steps[i].Action = a
		case suite.Loop:
			a.Times = min(a.Times, 4)
			test.Steps[i].Action = a
		}
	}
}

// theLocalDevice is this machine, whatever devices its user has described.
func theLocalDevice(t *testing.T) Device {
	t.Helper()
	file := filepath.Join(t.TempDir(), "devices.yaml")
	if err := os.WriteFile(file, []byte("local: {source: x11, input: x11, browsers: [chromium, firefox]}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	devices, err := FindDevices(file)
	if err != nil {
		t.Fatal(err)
	}
	local, err := devices.Find("local")
	if err != nil {
		t.Fatal(err)
	}
	return local
}

func standardTests(t *testing.T) []*suite.Test {
	t.Helper()
	tests, err := suite.Tests(Known(), suite.Standard())
	if err != nil {
		t.Fatal(err)
	}
	there, err := fs.Glob(suite.Standard().FS, "*.yaml")
	if err != nil || len(tests) != len(there) || len(tests) == 0 {
		t.Fatalf("%d tests are read from %d files, %v", len(tests), len(there), err)
	}
	return tests
}

// reasons tells how the runs of a variant ended.
func reasons(set *Set, variant int) string {
	var all []string
	for _, m := range set.Made {
		if m.Variant == variant {
			all = append(all, fmt.Sprintf("%s (%s)", m.Record.State, m.Record.Reason))
		}
	}
	return strings.Join(all, ", ")
}

// checksOf reports each failed check of a run.
func checksOf(t *testing.T, dir string) (text string) {
	t.Helper()
	results, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		return err.Error()
	}
	for _, w := range results.Windows {
		for _, c := range w.Checks {
			if !c.Agrees {
				text += fmt.Sprintf("\n%s: measured %v, drawn %v %s, in frames %v %s", c.What, c.Measured, c.Drawn,
					c.Unit, c.Frames, c.Note)
			}
		}
	}
	return text
}
