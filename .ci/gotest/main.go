// Gotest runs go test and prints what go test prints, and at the end the slowest packages and
// tests. A failing package keeps its whole output but that of tests that pass. The exit code is go
// test's.
//
// Usage: gotest [arguments of go test] [-- arguments of another go test [-- arguments of a last one]]
//
// The second one runs beside the first, at a low priority: tests in real time lose frames beside
// others that only compute. The last one follows the second, at the usual priority.
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
	first, beside := cut(args)
	second, last := cut(beside)
	var codes [3]int
	var errs [3]error
	var all sync.WaitGroup
	all.Go(func() { codes[0], errs[0] = r.runs("go", first) })
	all.Go(func() {
		if len(second) > 0 {
			codes[1], errs[1] = r.runs("nice", second, "-n", "10", "go")
		}
		if len(last) > 0 {
			codes[2], errs[2] = r.runs("go", last)
		}
	})
	all.Wait()
	code, err := slices.Max(codes[:]), errors.Join(errs[:]...)
	if err == nil {
		r.end(code == 0)
	}
	return code, err
}

// cut returns the arguments before the first --, and those after it.
func cut(args []string) (before, after []string) {
	i := slices.Index(args, "--")
	if i < 0 {
		return args, nil
	}
	return args[:i], args[i+1:]
}

// runs takes the events of a go test until it ends. It returns its exit code.
func (r *report) runs(program string, args []string, before ...string) (int, error) {
	cmd := exec.Command(program, slices.Concat(before, []string{"test", "-json"}, args)...)
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
