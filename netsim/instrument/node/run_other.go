//go:build !unix

package node

import (
	"errors"
	"os"
	"os/exec"
)

var errSystem = errors.New("Node programs can be traced on Linux and macOS only")

func makePipe(string) error { return errSystem }

// Run is for Linux and macOS.
func (t *Tracer) Run(*exec.Cmd) error { return errSystem }

// ExitCode returns the exit code of a command.
func ExitCode(state *os.ProcessState) int { return state.ExitCode() }
