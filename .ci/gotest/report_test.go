package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReport reads what go test itself prints of packages that pass, fail, panic, exit and do not
// compile.
func TestReport(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		code       int
		with       []string
		without    []string
	}{
		{"passes", `func TestA(t *testing.T) { t.Log("quiet") }`, 0, []string{"ok  \tx", "1 tests passed", "x TestA"},
			[]string{"quiet", "FAIL"}},
		{
			"fails", `func TestA(t *testing.T) { t.Log("quiet") }
func TestB(t *testing.T) { fmt.Println("printed"); t.Run("sub", func(t *testing.T) { t.Error("wrong") }) }`,
			1, []string{"printed\n", "wrong", "--- FAIL: TestB", "FAIL\tx", "failed: x TestB/sub"}, []string{"quiet"},
		},
		{"panics", `func TestA(t *testing.T) { fmt.Println("before"); panic("boom") }`, 1,
			[]string{"before", "panic: boom", "report_test", "FAIL\tx"}, nil},
		{"exits", `func TestA(t *testing.T) { fmt.Println("before"); os.Exit(3) }`, 1, []string{"before", "FAIL\tx"},
			[]string{"=== RUN"}},
		{"does not compile", `func TestA(t *testing.T) { undefined() }`, 1,
			[]string{"undefined: undefined", "[build failed]"}, nil},
		{"skips", `func TestA(t *testing.T) { t.Skip("why") }`, 0,
			[]string{"1 were skipped", "skipped: x TestA"}, []string{"why"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			const head = "package x\nimport (\"fmt\"; \"os\"; \"testing\")\nvar _, _ = fmt.Print, os.Exit\n"
			body := head + "//line report_test.go:1\n" + tc.body + "\n"
			for name, text := range map[string]string{"go.mod": "module x\n", "x_test.go": body} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			to, err := os.Create(filepath.Join(t.TempDir(), "printed"))
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			code, err := run([]string{"-vet=off", "."}, to)
			if err != nil || code != tc.code {
				t.Errorf("exit code %d, %v; want %d", code, err, tc.code)
			}
			out, err := os.ReadFile(to.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, with := range tc.with {
				if !strings.Contains(string(out), with) {
					t.Errorf("%q is missing", with)
				}
			}
			for _, without := range tc.without {
				if strings.Contains(string(out), without) {
					t.Errorf("%q is printed", without)
				}
			}
			if last := map[bool]string{true: "\nPASS\n", false: "\nFAIL\n"}[tc.code == 0]; !strings.HasSuffix(
				string(out), last) {
				t.Errorf("the last line is not %q", last)
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

// TestSlowest: each list has the slowest of all, slowest first, without subtests.
func TestSlowest(t *testing.T) {
	var events, printed strings.Builder
	for i := range maxRows + 5 {
		for _, test := range []string{fmt.Sprint("Test", i), fmt.Sprintf("Test%d/sub", i), ""} {
			line, err := json.Marshal(event{Action: "pass", Package: fmt.Sprint("p", i), Test: test,
				Elapsed: float64(i)})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&events, "%s\n", line)
		}
	}
	r := newReport(&printed)
	if err := r.read(strings.NewReader(events.String())); err != nil {
		t.Fatal(err)
	}
	r.end(true)
	text := printed.String()
	if n := strings.Count(text, " s  "); n != 2*maxRows {
		t.Errorf("%d rows, want %d", n, 2*maxRows)
	}
	if !strings.Contains(text, "slowest tests:\n   24.00 s  p24 Test24\n   23.00 s  p23 Test23\n") ||
		strings.Contains(text, "/sub") {
		t.Error(text)
	}
}

// TestRace: the report of a race is printed, though a test that passed was running.
func TestRace(t *testing.T) {
	var printed strings.Builder
	r := newReport(&printed)
	for _, e := range []event{{Action: "output", Test: "TestA", Output: "hidden\n"},
		{Action: "output", Test: "TestA", Output: "WARNING: DATA RACE\n"},
		{Action: "output", Test: "TestA", Output: "  main.f()\n"},
		{Action: "output", Test: "TestA", Output: "==================\n"},
		{Action: "output", Test: "TestA", Output: "hidden too\n"},
		{Action: "pass", Test: "TestA"}, {Action: "fail", Test: "TestB"}, {Action: "fail"}} {
		e.Package = "x"
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		r.take(string(line))
	}
	if text := printed.String(); text != "WARNING: DATA RACE\n  main.f()\n==================\n" {
		t.Error(text)
	}
}

// TestWait: a package's time begins with its first test. Before that its program may have waited
// for the lock of tests in real time.
func TestWait(t *testing.T) {
	var printed strings.Builder
	r := newReport(&printed)
	at := time.Date(2026, 11, 29, 1, 0, 0, 0, time.UTC)
	for _, e := range []event{{Action: "start"}, {Action: "run", Test: "TestA", Time: at.Add(time.Minute)},
		{Action: "run", Test: "TestB", Time: at.Add(61 * time.Second)},
		{Action: "output", Output: "ok  \tx\t63.000s [a note]\n"},
		{Action: "pass", Time: at.Add(63 * time.Second), Elapsed: 63}} {
		e.Package = "x"
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		r.take(string(line))
	}
	r.end(true)
	if text := printed.String(); !strings.HasPrefix(text, "ok  \tx\t3.000s [a note]\n") ||
		!strings.Contains(text, "    3.00 s  x\n") {
		t.Error(text)
	}
}

// TestBeside: the results of both runs of go test are in one list, and a failure of either counts.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module x\n",
		"a/a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n",
		"b/b_test.go": `package b
import ("syscall"; "testing")
func TestB(t *testing.T) {
	if n, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); n != 20-10 || err != nil { t.Fatal(n, err) }
	t.Error("has its priority")
}
`,
	} {
		name = filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, args := range [][]string{{"./a", "--", "./b"}, {"./a", "./b"}} {
		var printed strings.Builder
		code, err := run(args, &printed)
		text := printed.String()
		beside := strings.Contains(text, "has its priority")
		if code != 1 || err != nil || beside != slices.Contains(args, "--") || !strings.Contains(text, "ok  \tx/a") ||
			!strings.Contains(text, "1 tests passed") || !strings.Contains(text, "failed: x/b TestB") {
			t.Errorf("%q: exit code %d, %v: %s", args, code, err, text)
		}
	}
}
