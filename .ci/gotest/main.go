// Gotest runs go test and prints what go test prints, and at the end the slowest packages and
// tests. A failing package keeps its whole output but that of tests that pass. The exit code is go
// test's.
//
// Usage: gotest [arguments of go test] [-- arguments of another go test]
//
// The other one runs beside the first, at a low priority: tests in real time lose frames beside
// others that only compute.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
)

// maxRows is the length of each list at the end.
const maxRows = 20

func main() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
	}
	os.Exit(code)
}

// run returns the worst exit code of go test.
func run(args []string, to io.Writer) (int, error) {
	r := newReport(to)
	r.short = slices.Contains(args, "-short")
	var codes [2]int
	var errs [2]error
	var both sync.WaitGroup
	if i := slices.Index(args, "--"); i >= 0 {
		low := append([]string{"-n", "10", "go", "test", "-json"}, args[i+1:]...)
		both.Go(func() { codes[1], errs[1] = r.runs(exec.Command("nice", low...)) })
		args = args[:i]
	}
	both.Go(func() { codes[0], errs[0] = r.runs(exec.Command("go", append([]string{"test", "-json"}, args...)...)) })
	both.Wait()
	code, err := max(codes[0], codes[1]), errors.Join(errs[:]...)
	if err == nil {
		r.end(code == 0)
	}
	return code, err
}

// runs takes the events of a go test until it ends. It returns its exit code.
func (r *report) runs(cmd *exec.Cmd) (int, error) {
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	readErr := r.read(events)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(1, exit.ExitCode()), nil // -1 is a signal
	case err != nil || readErr != nil:
		return 1, errors.Join(err, readErr)
	}
	return 0, nil
}
