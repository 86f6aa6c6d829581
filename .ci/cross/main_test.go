package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: a function that one platform lacks is found there alone, in code and in tests. Tests
// do not run on Windows.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module x\n",
		"x.go":           "package x\n\nimport \"os\"\n\nfunc X() (int, *os.File) { return part(), nil }\n",
		"x_linux.go":     "package x\n\nfunc part() int { return 1 }\n",
		"x_darwin.go":    "package x\n\nfunc part() int { return help() }\n",
		"help_test.go":   "package x\n\nvar _ = forTests\n",
		"linux_test.go":  "//go:build !darwin\n\npackage x\n\nconst forTests = 1\n",
		"help_darwin.go": "package x\n\nfunc help() int { return 1 }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string][]string{
		"linux/arm64": nil, "darwin/arm64": {"undefined: forTests"}, "windows/amd64": {"undefined: part"},
	} {
		errs, err := check(dir, target)
		if err != nil {
			t.Fatal(err)
		}
		if len(errs) != len(want) {
			t.Errorf("%s: %q, want %q", target, errs, want)
		}
		for _, text := range want {
			if !strings.Contains(strings.Join(errs, "\n"), text) {
				t.Errorf("%s: %q, want %q", target, errs, text)
			}
		}
	}
	for _, wrong := range []string{"linux", "plan10/amd64"} {
		if errs, err := check(dir, wrong); err == nil && len(errs) == 0 {
			t.Errorf("target %q passes", wrong)
		}
	}
}
