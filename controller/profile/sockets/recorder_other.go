//go:build !linux || (!amd64 && !arm64)

package sockets

import (
	"io"
	"os/exec"
)

// Recorder records socket calls.
type Recorder struct{}

// Check returns the reason for which socket calls cannot be recorded.
func Check() error {
	return &MissingError{"socket calls are recorded on Linux with amd64 or arm64 only", "use another machine", true}
}

// Open returns the error of [Check].
func Open(io.Writer, Options) (*Recorder, error) { return nil, Check() }

// Prepare does not change the command.
func (*Recorder) Prepare(*exec.Cmd) {}

// Stop does nothing.
func (*Recorder) Stop() (Info, error) { return Info{}, nil }

// Close does nothing.
func (*Recorder) Close() error { return nil }
