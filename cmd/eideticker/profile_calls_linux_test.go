package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFailedExport: a program has two threads, and ends within calls. The export fails, since the
// file of the second thread exists. No other is written, and the recording remains.
func TestFailedExport(t *testing.T) {
	needCalls(t)
	dir := t.TempDir()
	program, source, out := filepath.Join(dir, "p"), filepath.Join(dir, "p.c"), filepath.Join(dir, "out.callgrind")
	text := "#include <pthread.h>\n#include <stdlib.h>\nvoid *other(void *x) { return x; }\n" +
		"int main() { pthread_t t; pthread_create(&t, 0, other, 0); pthread_join(t, 0); exit(0); }\n"
	if err := errors.Join(os.WriteFile(source, []byte(text), 0o644), os.WriteFile(out+"-02", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", "-pg", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	record := func(args ...string) (int, string, string) {
		return command(t, append(append([]string{"profile", "--native", "functions"}, args...), "--", program)...)
	}
	code, _, errOut := record("-o", out)
	if code != exitFailure || !strings.Contains(errOut, "out.callgrind-02: file already exists") || exists(out+"-01") {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	_, folder, _ := strings.Cut(errOut, "the recording remains in ")
	if code, text, errOut := command(t, "profile", strings.TrimSpace(folder)); code != exitOK ||
		!strings.Contains(text, "other (p)") {
		t.Errorf("exit code %d: %s%s", code, text, errOut)
	}
	folded, traces := filepath.Join(dir, "out.folded"), filepath.Join(dir, "traces")
	for i, args := range [][]string{{"-o", out, "--force"}, {"-o", folded}, {"-o", folded, "--force"}} {
		if code, _, errOut := record(args...); code != exitOK || !strings.Contains(errOut, "calls did not return") {
			t.Errorf("%d: exit code %d: %s", i, code, errOut)
		}
	}
	if err := errors.Join(os.WriteFile(traces+"-01", nil, 0o644), os.WriteFile(folded+"-01", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for i, args := range [][]string{{"-o", traces}, {"-o", folded, "--force"}} { // they have no such parts
		if code, _, errOut := record(args...); code != exitOK {
			t.Errorf("%d: exit code %d: %s", i, code, errOut)
		}
	}
	if code, _, errOut := record("-o", traces); code != exitFailure || strings.Contains(errOut, "--force") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if code, _, errOut := record("-o", traces, "--force"); code != exitUsage {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

func needCalls(t *testing.T) {
	t.Helper()
	for _, name := range []string{"uftrace", "gcc"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

// TestProfileToOneFile records a program's calls and exports them at once. No folder remains.
func TestProfileToOneFile(t *testing.T) {
	needCalls(t)
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

// TestUnstartedProgram: nothing is left of the profile of a program that does not start.
func TestUnstartedProgram(t *testing.T) {
	needCalls(t)
	text, out := filepath.Join(t.TempDir(), "text"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(text, []byte("no program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := command(t, "profile", "-o", out, "--", text)
	if code != exitFailure || !strings.HasPrefix(errOut, "eideticker: profile: ") || exists(out) {
		t.Errorf("exit code %d, folder %t: %s", code, exists(out), errOut)
	}
}
