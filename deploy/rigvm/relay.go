//go:build linux

package rigvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// event is what `go tool test2json` makes of a test's output.
type event struct {
	Action, Test, Output string
	Elapsed              float64 // seconds
}

// row is how one test ended.
type row struct {
	name, result string
	took         time.Duration
}

// relay makes tests that run elsewhere subtests here. Tests that run in parallel there are shown
// one after the other: events of others are kept until their turn.
type relay struct {
	next    func() (event, error) // the next event, io.EOF after the last
	waiting []event               // of other tests than the one that is followed
	over    error                 // why the events ended
	why     func() error          // why a test did not end, after the last event
	told    bool                  // that has been said
	rows    []row
}

// outcome is how a program in the guest ended.
type outcome struct {
	Result
	err error
}

// follow runs a test binary in the guest and relays what it says.
func (r *relay) follow(ctx context.Context, t *testing.T, vm *VM, c Command) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t")
	cmd.WaitDelay = 5 * time.Second
	said := &console{}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.Stdout = stdin
	var o outcome
	ended := make(chan struct{})
	go func() { // ends with the program, the guest or ctx
		defer close(ended)
		o.Result, o.err = vm.Run(ctx, c)
		_ = stdin.Close()
	}()
	events := json.NewDecoder(stdout)
	r.next = func() (e event, err error) { return e, events.Decode(&e) }
	r.why = func() error { <-ended; return o.why() }
	r.tests(t, "")
	_, _ = io.Copy(io.Discard, stdout) // what could not be read as an event
	<-ended
	if err := cmd.Wait(); err != nil && o.err == nil {
		t.Errorf("read the output of the tests in the VM: %v: %s", err, said.text())
	}
	if !errors.Is(r.over, io.EOF) && o.err == nil {
		t.Errorf("read the output of the tests in the VM: %v", r.over)
	}
	_, _ = t.Output().Write(o.Stderr)
	switch {
	case o.err != nil:
		t.Errorf("tests in the VM: %v", o.err)
	case o.ExitCode != 0 && !t.Failed():
		t.Errorf("the tests in the VM ended with exit code %d though none failed", o.ExitCode)
	case len(r.rows) == 0:
		t.Error("no test ran in the VM: is there one behind the build tag rigvm, and does the pattern fit it?")
	}
}

// why says why a test binary ended before its tests did.
func (o outcome) why() error {
	if o.err != nil {
		return o.err
	}
	return fmt.Errorf("the test binary ended with exit code %d", o.ExitCode)
}

// take returns the next event, also of those that were kept.
func (r *relay) take() (event, bool) {
	if len(r.waiting) > 0 {
		e := r.waiting[0]
		r.waiting = r.waiting[1:]
		return e, true
	}
	if r.over != nil {
		return event{}, false
	}
	e, err := r.next()
	if err != nil {
		r.over = err
		return event{}, false
	}
	return e, true
}

// tests relays the subtests of parent until it ends; those of "", which is the binary, until the
// stream does.
func (r *relay) tests(t *testing.T, parent string) {
	t.Helper()
	var others []event // of tests that are neither parent nor below
	defer func() { r.waiting = append(others, r.waiting...) }()
	prefix := parent + "/"
	if parent == "" {
		prefix = ""
	}
	for {
		e, ok := r.take()
		switch {
		case !ok:
			if parent != "" {
				r.lost(t, parent)
			}
			return
		case e.Test == parent:
			if r.own(t, e) && parent != "" {
				return
			}
		case e.Action == "run" && strings.HasPrefix(e.Test, prefix):
			// A grandchild's events come after its parent's, and are taken by the call below.
			t.Run(strings.TrimPrefix(e.Test, prefix), func(t *testing.T) { r.tests(t, e.Test) })
		default:
			others = append(others, e)
		}
	}
}

// lost fails a test that had not ended when the stream did.
func (r *relay) lost(t *testing.T, name string) {
	t.Helper()
	r.rows = append(r.rows, row{name, "LOST", 0})
	if !r.told {
		r.told = true
		t.Errorf("it was running when the tests in the VM ended: %v", r.why())
	}
	t.Fail()
}

// own applies an event of the test t itself, and says whether it was its last.
func (r *relay) own(t *testing.T, e event) bool {
	t.Helper()
	switch e.Action {
	case "output":
		if !framing(e.Output) {
			fmt.Fprint(t.Output(), strings.TrimPrefix(e.Output, "    "))
		}
		return false
	case "pass", "fail", "skip":
	default: // run and pause, cont and start
		return false
	}
	if e.Test != "" {
		r.rows = append(r.rows, row{e.Test, e.Action, time.Duration(e.Elapsed * float64(time.Second))})
	}
	switch {
	case e.Action == "fail" && e.Test != "":
		t.Fail()
	case e.Action == "skip" && e.Test != "" && os.Getenv("CI") == "true":
		t.Error("it was skipped in the VM, which holds all that the tests need: under CI=true that is a failure")
	case e.Action == "skip" && e.Test != "":
		t.SkipNow()
	}
	return true
}

// framing says whether a line is one that the test here writes too.
func framing(line string) bool {
	line = strings.TrimLeft(line, " \x16")
	for _, prefix := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- PASS: ", "--- FAIL: ",
		"--- SKIP: ", "PASS\n", "FAIL\n"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
