package node_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/node"
)

// TestTracerFile: tracer.js is one small file of ECMAScript 2015.
func TestTracerFile(t *testing.T) {
	if len(node.TracerJS) >= 15_000 {
		t.Errorf("%d bytes", len(node.TracerJS))
	}
	if _, err := ecma.Parse(node.TracerJS, ecma.Script); err != nil {
		t.Error(err)
	}
	forNode(t, func(t *testing.T, program string) {
		acorn, err := filepath.Abs("../../ecma/testdata/node_modules/acorn")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-e", "const text = require('fs').readFileSync(0, 'utf8');"+
			"require(process.argv[1]).parse(text, {ecmaVersion: 2015})", acorn)
		cmd.Stdin = strings.NewReader(node.TracerJS)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// wrapped runs the program of testdata/wrap. It returns the standard output and the trace.
func wrapped(t *testing.T, program string, args ...string) (out, trace string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = "testdata/wrap"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String(), stderr.String()
}

var totalLine = regexp.MustCompile(`(?m)^TRACER TOTAL (\S+)ms (\S+)ms (\S+)ms (\d+) (\S+?)( \((\d+) open\))?$`)

// TestTracerWraps: a program with wrapped modules behaves as the plain one. Calls are nested, and
// their numbers are those that the program counts.
func TestTracerWraps(t *testing.T) {
	file, err := filepath.Abs("tracer.js")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata/wrap")
	if err != nil {
		t.Fatal(err)
	}
	forNode(t, func(t *testing.T, program string) {
		plain, _ := wrapped(t, program, "main.js")
		for name, args := range map[string][]string{
			"required": {"main.js", file}, "preloaded": {"-r", file, "main.js", file},
			"imported":              {"--import", file, "main.js", file},
			"stopped in a callback": {"main.js", file, "stop"},
		} {
			t.Run(name, func(t *testing.T) {
				out, text := wrapped(t, program, args...)
				stops, plain := args[len(args)-1] == "stop", plain
				if stops {
					plain, _ = wrapped(t, program, "main.js", "", "stop")
				}
				if out != plain {
					t.Errorf("output %s\nplain: %s", out, plain)
				}
				var counted map[string]int
				at := strings.LastIndex(strings.TrimSpace(out), "\n")
				if err := json.Unmarshal([]byte(out[at+1:]), &counted); err != nil {
					t.Fatal(err)
				}
				delete(counted, "too deep")
				counted["Cache"] += 0
				totals := map[string]int{}
				open := 0
				for _, m := range totalLine.FindAllStringSubmatch(text, -1) {
					var times [3]float64
					for i := range times {
						if times[i], err = strconv.ParseFloat(m[i+1], 64); err != nil {
							t.Fatal(err)
						}
					}
					if times[0] > times[1] || times[1] > times[2] {
						t.Errorf("min, mean and max: %s", m[0])
					}
					name := strings.TrimPrefix(m[5], filepath.Join(dir, "lib.js")+".")
					totals[name], _ = strconv.Atoi(m[4])
					n, _ := strconv.Atoi(m[7])
					open += n
				}
				for name, n := range counted {
					if totals[name] != n && !(stops && name == "each") {
						t.Errorf("%s: %d calls, counted %d", name, totals[name], n)
					}
				}
				want := 0
				if stops {
					want = 1
				}
				if open != want || strings.Count(text, "TRACER TOTAL OVERHEAD") != 1 ||
					strings.Count(text, "TRACER OVERHEAD") != 1 {
					t.Errorf("%d calls are open: %s", open, text)
				}
				checkNesting(t, text, open)
				if n := strings.Count(text, "CBI"); n != 8 && n != 9 { // a callback of a callback counts once
					t.Errorf("%d callbacks: %s", n, text)
				}
				lib := regexp.QuoteMeta(filepath.Join(dir, "lib.js"))
				for _, w := range []string{`LOG \d+\.\d\dms a label`, `FNR \S+ \d+  %s.throws throw`,
					`CBI \S+ [1-9]\d+  %s.Cache.prototype.find`, `CBI \S+ \d+   ?%s.each`, `CBI \S+ \d+  %s.listen`,
					`CBI \S+ \d+  %s.later`, `FNI \S+ \d+ {7}%s.deep`,
					`TOTAL ([4-9]|\d\d+)\.\S+ \S+ \S+ 1 %s.Cache.prototype.find`} {
					if strings.Contains(w, "%s") {
						w = fmt.Sprintf(w, lib)
					}
					if !regexp.MustCompile(`(?m)^TRACER ` + w + `$`).MatchString(text) {
						t.Errorf("no match of %s in %s", w, text)
					}
				}
			})
		}
	})
}

// checkNesting checks that calls are nested and that all but some have an end.
func checkNesting(t *testing.T, text string, open int) {
	t.Helper()
	var stack []string
	for line := range strings.Lines(text) {
		m := record.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m == nil || m[1][0] == 'C':
		case m[1] == "FNI":
			stack = append(stack, m[3])
		case len(stack) == 0 || stack[len(stack)-1] != m[3]:
			t.Fatalf("%swithin %q", line, stack)
		default:
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) != open {
		t.Errorf("calls without an end: %q", stack)
	}
}

// TestTracerDepth: recursion that fills the stack ends each call, or counts it as open.
func TestTracerDepth(t *testing.T) {
	file, err := filepath.Abs("tracer.js")
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(t.TempDir(), "app.js")
	if err := os.WriteFile(app, []byte(`
const tracer = require(process.argv[2]), lib = {f: n => n ? lib.f(n - 1) : 0, g() {}};
tracer.trace(lib, 'lib');
tracer.start();
try { lib.f(1e5); } catch (e) { console.log(e instanceof RangeError); }
lib.g();
`), 0o600); err != nil {
		t.Fatal(err)
	}
	forNode(t, func(t *testing.T, program string) {
		for _, size := range []string{"", "--stack-size=4000"} {
			args := []string{app, file}
			if size != "" {
				args = append([]string{size}, args...)
			}
			out, text := wrapped(t, program, args...)
			calls, open := 0, 0
			for _, m := range totalLine.FindAllStringSubmatch(text, -1) {
				if m[5] == "lib.f" {
					calls, _ = strconv.Atoi(m[4])
					open, _ = strconv.Atoi(m[7])
				}
			}
			begun, ended := strings.Count(text, "TRACER FNI"), strings.Count(text, "TRACER FNR")
			if out != "true\n" || calls < 500 || begun-ended > open || !strings.Contains(text, " 1 lib.g\n") {
				t.Errorf("%s: %d calls, %d open, %d begun and %d ended: %s", out, calls, open, begun, ended,
					text[max(0, len(text)-2000):])
			}
		}
	})
}
