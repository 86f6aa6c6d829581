package eideticker_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFaultsHaveTests holds the README's tables of faults and threats against the tests that it names.
func TestFaultsHaveTests(t *testing.T) {
	doc, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var section string
	for _, heading := range []string{"## What happens when", "### Who could do harm"} {
		_, part, ok := strings.Cut(string(doc), heading)
		if !ok {
			t.Fatalf("README.md has no section %q", heading)
		}
		part, _, _ = strings.Cut(part, "\n## ")
		section += part
	}
	code := codeIn(t, ".")
	rows := 0
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| what happens") || strings.HasPrefix(line, "| threat") {
			continue
		}
		rows++
		names := words(cells[2])
		if len(names) == 0 {
			t.Errorf("no test is named for:%s", cells[0])
		}
		for _, name := range names {
			if !testExists(name, code) {
				t.Errorf("there is no test %s, named for:%s", name, cells[0])
			}
		}
	}
	if rows < 10 {
		t.Errorf("%d rows found in the table of faults", rows)
	}
}

// testExists finds "script/NAME" among the program's scripts and "PACKAGE.TestName" in a folder of that name.
func testExists(name string, code map[string]string) bool {
	if script, ok := strings.CutPrefix(name, "script/"); ok {
		_, err := os.Stat(filepath.Join("cmd/eideticker/testdata/script", script+".txtar"))
		return err == nil
	}
	pkg, test, _ := strings.Cut(name, ".")
	return regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(`).MatchString(code[pkg])
}

// codeIn returns the test code below a folder, by the name of the folder that it is in.
func codeIn(t *testing.T, root string) map[string]string {
	t.Helper()
	code := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		code[filepath.Base(filepath.Dir(path))] += string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return code
}
