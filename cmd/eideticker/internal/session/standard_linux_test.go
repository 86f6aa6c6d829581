package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
)

// needsBrowsers skips a test where no display can be started or one of the browsers is not installed, as it must be under CI.
func needsBrowsers(t *testing.T, names ...string) {
	t.Helper()
	display, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 320, Height: 240})
	if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := display.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, name := range names {
		b, err := device.StartBrowser(t.Context(), device.BrowserOptions{Display: display, Name: name, URL: "about:blank"})
		if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStandardSuiteIsMeasuredAsDrawn runs every standard test once on each browser: what is measured is what the pages drew. This machine plays, records and may do more besides, so
// that frames are lost; a run does not count for this test's sake if that is most of them, and what is lost must make no number wrong.
func TestStandardSuiteIsMeasuredAsDrawn(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start")
	}
	browsers := []string{"chromium", "firefox"}
	needsBrowsers(t, browsers...)
	local := theLocalDevice(t)
	var variants []Variant
	for _, name := range browsers {
		variants = append(variants, Variant{Device: local, Browser: name})
	}
	var table strings.Builder
	rows := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "TEST\tBROWSER\tAGREED\tNOT CHECKED\tFAILED\tLOST")
	for _, test := range standardTests(t) {
		t.Run(test.Name, func(t *testing.T) {
			set, err := RunSet(t.Context(), SetOptions{
				Test: test, Variants: variants, Repeat: 1, Retries: len(variants), Dir: filepath.Join(t.TempDir(), "set"),
				Program: "test", Seed: 1, MaxLost: 0.5, NoPictures: true, Told: untold{},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range browsers {
				counted := set.Of(i)
				if len(counted) != 1 {
					t.Errorf("%s: %d runs count of %s", name, len(counted), reasons(set, i))
					continue
				}
				r := counted[0].Record
				fmt.Fprintf(rows, "%s\t%s\t%d\t%d\t%d\t%d of %d\n", test.Name, name,
					r.Checks-len(r.ChecksFailed), len(r.ChecksNotMade), len(r.ChecksFailed), r.WindowLost, r.WindowLost+r.WindowFrames)
				if r.Checks == 0 || len(r.ChecksFailed) > 0 {
					t.Errorf("%s: %d checks were made: %s", name, r.Checks, checksOf(t, filepath.Join(set.Dir, counted[0].Dir)))
				}
			}
		})
	}
	if err := rows.Flush(); err != nil {
		t.Error(err)
	}
	t.Logf("\n%s", &table)
}

// theLocalDevice is this machine, whatever devices its user has described.
func theLocalDevice(t *testing.T) Device {
	t.Helper()
	file := filepath.Join(t.TempDir(), "devices.yaml")
	if err := os.WriteFile(file, []byte("local: {source: x11, input: x11, browsers: [chromium, firefox]}\n"), 0o600); err != nil {
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

// checksOf tells of each check of a run that did not agree.
func checksOf(t *testing.T, dir string) (text string) {
	t.Helper()
	results, err := report.Read(filepath.Join(dir, report.FileName))
	if err != nil {
		return err.Error()
	}
	for _, w := range results.Windows {
		for _, c := range w.Checks {
			if !c.Agrees {
				text += fmt.Sprintf("\n%s: measured %v, drawn %v %s, in frames %v %s", c.What, c.Measured, c.Drawn, c.Unit, c.Frames, c.Note)
			}
		}
	}
	return text
}
