package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProfileToOneFile records a program's calls and exports them at once. No folder remains.
func TestProfileToOneFile(t *testing.T) {
	for _, name := range []string{"uftrace", "gcc"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	program, out := filepath.Join(dir, "calls"), filepath.Join(dir, "out.callgrind")
	source := filepath.Join("..", "..", "controller", "profile", "testdata", "calls.c")
	if text, err := exec.Command("gcc", "-pg", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	record := func(out string) (int, string, string) {
		return command(t, "profile", "--native", "functions", "-o", out, "--", program, "9")
	}
	if code, _, errOut := record(filepath.Join(dir, "out.json")); code != exitUsage {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	folded := filepath.Join(dir, "out.folded")
	for _, path := range []string{out, folded} {
		if code, text, errOut := record(path); code != exitOK || !strings.Contains(text, path) {
			t.Fatalf("exit code %d: %s%s", code, text, errOut)
		}
	}
	if code, _, errOut := record(out); code == exitOK || !strings.Contains(errOut, "exists") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	text, err := os.ReadFile(out + "-01")
	if err != nil || !regexp.MustCompile(`(?m)^cfn=\(\d+\) leaf calls #\d+\ncalls=55 0$`).Match(text) {
		t.Errorf("%v; fib(9) has 55 calls of leaf: %s", err, text)
	}
	if text, err = os.ReadFile(folded); err != nil || !strings.Contains(string(text), ";main calls;fib calls") {
		t.Errorf("%v: %s", err, text)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".profile-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v; %v remain", err, left)
	}
}
