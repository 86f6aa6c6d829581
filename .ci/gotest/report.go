package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json, see go doc test2json.
type event struct {
	Time                          time.Time
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// took is a row of a list at the end.
type took struct {
	seconds float64
	name    string
}

// report prints the results of packages as they end.
type report struct {
	mu              sync.Mutex
	to              io.Writer
	running         map[string]*results // by package
	packages, tests []took
	failed          []string
	passed          int
	skipped         []string // packages and tests
	short           bool     // many tests are skipped, and not named
}

// results are those of a package that runs: its output in order, with the test that each line
// belongs to.
type results struct {
	lines  []event
	passed map[string]bool
	race   bool      // the lines are of the race detector, and of no test
	began  time.Time // the first test did: its program may have waited for others until then
}

func newReport(to io.Writer) *report {
	return &report{to: to, running: map[string]*results{}}
}

// read takes events until the end. Other lines, which go prints before the first test, pass
// through.
func (r *report) read(from io.Reader) error {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadString('\n')
		r.take(line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	switch {
	case line == "":
		return
	case json.Unmarshal([]byte(line), &e) != nil || e.Action == "":
		fmt.Fprint(r.to, line)
		return
	}
	if e.Action == "build-output" {
		fmt.Fprint(r.to, e.Output)
	}
	if e.Package == "" {
		return
	}
	p := r.running[e.Package]
	if p == nil {
		p = &results{passed: map[string]bool{}}
		r.running[e.Package] = p
	}
	switch {
	case e.Action == "run":
		if p.began.IsZero() {
			p.began = e.Time
		}
	case e.Action == "output":
		if strings.HasPrefix(e.Output, "=== ") { // go test prints these with -v only
			return
		}
		if p.race = p.race || strings.HasPrefix(e.Output, "WARNING: DATA RACE"); p.race {
			e.Test = ""
			p.race = !strings.HasPrefix(e.Output, "=====")
		}
		p.lines = append(p.lines, e)
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test != "":
		r.testEnds(p, e)
	default:
		r.packageEnds(p, e)
	}
}

func (r *report) testEnds(p *results, e event) {
	name := e.Package + " " + e.Test
	switch e.Action {
	case "fail":
		r.failed = append(r.failed, name)
	case "skip":
		r.skipped = append(r.skipped, name)
		p.passed[e.Test] = true
	default:
		r.passed++
		p.passed[e.Test] = true
		p.lines = slices.DeleteFunc(p.lines, func(l event) bool { return l.Test == e.Test })
	}
	if !strings.Contains(e.Test, "/") { // a subtest's time is part of its test's
		r.tests = append(r.tests, took{e.Elapsed, name})
	}
}

// whole is a package's time in its last line.
var whole = regexp.MustCompile(`\t[0-9.]+s(\n| \[)`)

func (r *report) packageEnds(p *results, e event) {
	if !p.began.IsZero() {
		e.Elapsed = min(e.Elapsed, e.Time.Sub(p.began).Seconds())
	}
	for _, l := range p.lines {
		summary := l.Test == "" && (strings.HasPrefix(l.Output, "ok  \t") || strings.HasPrefix(l.Output, "?   \t") ||
			strings.HasPrefix(l.Output, "FAIL\t"))
		if summary {
			l.Output = whole.ReplaceAllString(l.Output, fmt.Sprintf("\t%.3fs$1", e.Elapsed))
		}
		if summary || e.Action == "fail" && !p.passed[l.Test] {
			fmt.Fprint(r.to, l.Output)
		}
	}
	delete(r.running, e.Package)
	r.packages = append(r.packages, took{e.Elapsed, e.Package})
	if e.Action == "fail" {
		r.failed = append(r.failed, e.Package)
	}
}

// end prints the lists, what failed once more, and the last line of go test.
func (r *report) end(ok bool) {
	for _, p := range r.running { // a package that never ended keeps all it printed
		for _, l := range p.lines {
			fmt.Fprint(r.to, l.Output)
		}
	}
	r.list("packages", r.packages)
	r.list("tests", r.tests)
	fmt.Fprintf(r.to, "\n%d tests passed, %d were skipped, %d packages\n", r.passed, len(r.skipped), len(r.packages))
	if !r.short {
		for _, name := range r.skipped {
			fmt.Fprintf(r.to, "skipped: %s\n", name)
		}
	}
	for _, name := range r.failed {
		fmt.Fprintln(r.to, "failed:", name)
	}
	if ok {
		fmt.Fprintln(r.to, "PASS")
	} else {
		fmt.Fprintln(r.to, "FAIL")
	}
}

func (r *report) list(of string, all []took) {
	slices.SortStableFunc(all, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintf(r.to, "\nslowest %s:\n", of)
	for _, t := range all[:min(len(all), maxRows)] {
		fmt.Fprintf(r.to, "%8.2f s  %s\n", t.seconds, t.name)
	}
}
