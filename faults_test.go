package eideticker_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateFaults = flag.Bool("update-faults", false, "write docs/reference/faults.md from the tests' comments")

const faultsPage = "docs/reference/faults.md"

// TestFaultsHaveTests checks that each documented fault and threat has tests, and that no test
// names an undocumented one. A comment "Fault: TITLE" on a test, or in a script of the command
// line, names it. The generated page lists the tests of each fault.
func TestFaultsHaveTests(t *testing.T) {
	tests := faultsOfTests(t)
	text := "# Faults and their tests\n\nWritten by `go test -run TestFaultsHaveTests -update-faults .` " +
		"from the comments `Fault:` on tests.\n"
	for _, page := range []struct {
		path  string
		least int
	}{{"docs/troubleshooting.md", 50}, {"docs/troubleshooting-runs.md", 50}, {"docs/troubleshooting-schedules.md", 10},
		{"docs/troubleshooting-fleet.md", 10}, {"docs/security.md", 18}} {
		titles := faultTitles(t, page.path)
		if len(titles) < page.least {
			t.Errorf("%s has %d entries, at least %d are expected", page.path, len(titles), page.least)
		}
		text += fmt.Sprintf("\n## [%s](../%[1]s)\n\n", filepath.Base(page.path))
		for _, title := range titles {
			if len(tests[title]) == 0 {
				t.Errorf("%s: no test has a comment \"Fault: %s\"", page.path, title)
			}
			slices.Sort(tests[title])
			text += "- " + title + ": `" + strings.Join(slices.Compact(tests[title]), "` `") + "`\n"
			delete(tests, title)
		}
	}
	for _, title := range slices.Sorted(maps.Keys(tests)) {
		t.Errorf("no page documents the fault %q of %v", title, tests[title])
	}
	if *updateFaults {
		if err := os.WriteFile(faultsPage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(faultsPage); err != nil || string(have) != text {
		t.Errorf("%s differs from the tests (%v): go test -run TestFaultsHaveTests -update-faults .", faultsPage, err)
	}
}

// faultTitles returns the bold titles of a page's entries, each in one line.
func faultTitles(t *testing.T, path string) (titles []string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range strings.Split(string(page), "\n- **")[1:] {
		title, _, _ := strings.Cut(entry, "**:")
		titles = append(titles, strings.Join(strings.Fields(title), " "))
	}
	return titles
}

var (
	faultComment = regexp.MustCompile(`(?m)^(?://|#) Fault: (.+)$`)
	testComment  = regexp.MustCompile(`(?m)((?:^//.*\n)+)^func ((?:Test|Fuzz)\w+)\(`)
)

// faultsOfTests returns the tests of each fault, as "package.TestName" or "script/name".
func faultsOfTests(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	add := func(comment, test string) {
		for _, found := range faultComment.FindAllStringSubmatch(comment, -1) {
			tests[found[1]] = append(tests[found[1]], test)
		}
	}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") && filepath.Ext(name) != ".txtar" {
			return err
		}
		b, err := os.ReadFile(path)
		if script, ok := strings.CutSuffix(name, ".txtar"); ok {
			add(string(b), "script/"+script)
			return err
		}
		for _, found := range testComment.FindAllStringSubmatch(string(b), -1) {
			add(found[1], filepath.Base(filepath.Dir(path))+"."+found[2])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
