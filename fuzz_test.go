package eideticker_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryFuzzTargetRuns: make fuzz looks for targets wherever tests are, so none is left out.
func TestEveryFuzzTargetRuns(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	called := regexp.MustCompile(`(?m)^fuzz:\n\t@\.ci/fuzz \S+ (.+)$`).FindSubmatch(makefile)
	if called == nil {
		t.Fatal("the Makefile's target fuzz does not call .ci/fuzz")
	}
	cmd := exec.Command(".ci/fuzz", append([]string{"list"}, strings.Fields(string(called[1]))...)...)
	cmd.Stderr = os.Stderr
	listed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	runs := strings.Fields(string(listed))
	for _, dir := range foldersWith(t, regexp.MustCompile(`(?m)^func Fuzz`)) {
		if !slices.Contains(runs, module+"/"+dir) {
			t.Errorf("make fuzz leaves out %s", dir)
		}
	}
}

// foldersWith returns the folders of tests in which something stands.
func foldersWith(t *testing.T, what *regexp.Regexp) (all []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", "testdata", ".git", "out"}, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if dir := filepath.ToSlash(filepath.Dir(path)); what.Match(text) && !slices.Contains(all, dir) {
			all = append(all, dir)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d folders found: %v", len(all), err)
	}
	return all
}
