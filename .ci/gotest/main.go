// Gotest runs go test and prints what go test prints, and at the end the slowest packages and
// tests. A failing package keeps its whole output but that of tests that pass. The exit code is go
// test's.
//
// Usage: gotest [arguments of go test]
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
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

// run returns the exit code of go test.
func run(args []string, to io.Writer) (int, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	r := newReport(to)
	r.short = slices.Contains(args, "-short")
	readErr := r.read(events)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.end(false)
		return max(1, exit.ExitCode()), nil // -1 is a signal
	case err != nil || readErr != nil:
		return 1, errors.Join(err, readErr)
	}
	r.end(true)
	return 0, nil
}
