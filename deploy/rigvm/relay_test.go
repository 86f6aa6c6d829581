//go:build linux && !rigvm

package rigvm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// eventsEnv names a file of events for TestRelayed.
const eventsEnv = "RIGVM_TEST_EVENTS"

// TestRelayed makes tests of events, from a stream in which all pass. Some of the tests in a file
// of events fail. So TestRelay also starts it as a process of its own, with that file.
func TestRelayed(t *testing.T) {
	in := events("run A\nrun A/b\npass A/b\npass A\npass")
	if path := os.Getenv(eventsEnv); path != "" {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in = f
	}
	decoder := json.NewDecoder(in)
	r := relay{
		next: func() (e event, err error) { return e, decoder.Decode(&e) },
		why:  func() error { return errors.New("the kernel panicked") },
	}
	r.tests(t, "")
	fmt.Fprint(t.Output(), table(r.rows))
	if len(r.rows) == 0 || !errors.Is(r.over, io.EOF) {
		t.Errorf("%d rows, ended with %v", len(r.rows), r.over)
	}
}

// events writes "ACTION TEST OUTPUT", one per line, as test2json does.
func events(lines string) io.Reader {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		e := event{Action: words[0], Elapsed: 1.5}
		if len(words) > 1 {
			e.Test = words[1]
		}
		if len(words) > 2 {
			e.Output = words[2] + "\n"
		}
		text, _ := json.Marshal(e)
		b.Write(text)
	}
	return strings.NewReader(b.String())
}

func TestRelay(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, events, want, ci string }{
		{"all pass", `
			run A
			output A === RUN   A
			output A     a_test.go:1: said
			run A/b
			pass A/b
			output A --- PASS: A
			pass A
			pass`,
			"TestRelayed; TestRelayed/A: a_test.go:1: said; TestRelayed/A/b; pass TestRelayed; pass TestRelayed/A; " +
				"pass TestRelayed/A/b; row A/b pass 1.50; row A pass 1.50", ""},
		{"one fails", `
			run A
			run A/b
			output A/b     a_test.go:1: wrong
			fail A/b
			run A/c
			pass A/c
			fail A
			run B
			pass B
			fail`,
			"TestRelayed; TestRelayed/A; TestRelayed/A/b: a_test.go:1: wrong; TestRelayed/A/c; TestRelayed/B; fail " +
				"TestRelayed; fail TestRelayed/A; fail TestRelayed/A/b; pass TestRelayed/A/c; pass TestRelayed/B; " +
				"row A/b fail 1.50; row A/c pass 1.50; row A fail 1.50; row B pass 1.50", ""},
		{"skipped", `
			run A
			output A     a_test.go:1: no such device
			skip A
			pass`,
			"TestRelayed; TestRelayed/A: a_test.go:1: no such device; pass TestRelayed; skip TestRelayed/A; " +
				"row A skip 1.50", ""},
		{"skipped under CI", `
			run A
			output A     a_test.go:1: no such device
			skip A
			pass`,
			"TestRelayed; TestRelayed/A: a_test.go:1: no such device; TestRelayed/A: " +
				"it was skipped in the VM, which holds all that the tests need: under CI=true that is a failure; " +
				"fail TestRelayed; fail TestRelayed/A; row A skip 1.50", "true"},
		{"in parallel", `
			run A
			run A/b
			pause A/b
			run A/c
			pause A/c
			cont A/b
			cont A/c
			output A/c     a_test.go:2: of c
			pass A/c
			output A/b     a_test.go:1: of b
			pass A/b
			pass A
			pass`,
			"TestRelayed; TestRelayed/A; TestRelayed/A/b: a_test.go:1: of b; TestRelayed/A/c: a_test.go:2: of c; " +
				"pass TestRelayed; pass TestRelayed/A; pass TestRelayed/A/b; pass TestRelayed/A/c; " +
				"row A/b pass 1.50; row A/c pass 1.50; row A pass 1.50", ""},
		{"the guest dies", `
			run A
			run A/b
			output A/b     a_test.go:1: before`,
			"TestRelayed; TestRelayed/A; TestRelayed/A/b: a_test.go:1: before; TestRelayed/A/b: " +
				"it was running when the tests in the VM ended: the kernel panicked; " +
				"fail TestRelayed; fail TestRelayed/A; fail TestRelayed/A/b; row A/b LOST 0.00; row A LOST 0.00", ""},
		{"the name has a slash", `
			run A
			run A/x/y
			fail A/x/y
			fail A
			fail`,
			"TestRelayed; TestRelayed/A; TestRelayed/A/x/y; fail TestRelayed; fail TestRelayed/A; " +
				"fail TestRelayed/A/x/y; row A/x/y fail 1.50; row A fail 1.50", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := io.ReadAll(events(strings.TrimSpace(tc.events)))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "events")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe, "-test.v", "-test.run=^TestRelayed$")
			cmd.Env = append(os.Environ(), eventsEnv+"="+path, "CI="+tc.ci)
			out, err := cmd.CombinedOutput()
			if passed := !strings.Contains(tc.want, "fail "); passed != (err == nil) {
				t.Errorf("%v: %s", err, out)
			}
			if got := digest(string(out)); got != tc.want {
				t.Errorf("got  %s\nwant %s\nfrom %s", got, tc.want, out)
			}
		})
	}
}

// digest summarizes the output of `go test -v` in lines: tests in the order in which they began,
// their logs and results, and the table.
func digest(out string) string {
	var began, ended, rows []string
	current := ""
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "===":
			current = words[2]
			if words[1] == "RUN" {
				began = append(began, current)
			}
		case words[0] == "---":
			ended = append(ended, strings.ToLower(strings.TrimSuffix(words[1], ":"))+" "+words[2])
		case words[0] == "PASS", words[0] == "FAIL":
		case len(words) == 4 && words[3] == "s":
			rows = append(rows, "row "+strings.Join(words[:3], " "))
		default:
			text := strings.Join(words, " ")
			if strings.HasPrefix(words[0], "relay") {
				text = strings.Join(words[1:], " ")
			}
			if last := len(began) - 1; last >= 0 && began[last] == current {
				began[last] += ": " + text
			} else {
				began = append(began, current+": "+text)
			}
		}
	}
	return strings.Join(slices.Concat(began, ended, rows), "; ")
}
