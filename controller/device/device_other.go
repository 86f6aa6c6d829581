//go:build !linux

package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// DisplayOptions say what display to start; the zero value is 1280x720.
type DisplayOptions struct {
	Width, Height int // pixels
}

// Display is a virtual X display. Only Linux has them here.
type Display struct{}

// StartDisplay returns an error that wraps errors.ErrUnsupported.
func StartDisplay(context.Context, DisplayOptions) (*Display, error) {
	return nil, fmt.Errorf("start display: %w: virtual displays need Linux", errors.ErrUnsupported)
}

// Name returns "".
func (*Display) Name() string { return "" }

// Size returns 0, 0.
func (*Display) Size() (width, height int) { return 0, 0 }

// Done returns nil.
func (*Display) Done() <-chan struct{} { return nil }

// Err returns nil.
func (*Display) Err() error { return nil }

// Close does nothing.
func (*Display) Close() error { return nil }

// BrowserOptions say which browser to start, where, and with what.
type BrowserOptions struct {
	Name      string
	Program   string
	Display   *Display
	On        string
	URL       string
	Bars      bool
	Untrusted bool
	Egress    *EgressPolicy
	Proxy     string
	Remote    bool
	Inspect   bool
	Authority *Authority
	Instead   *Instead
	Timeout   time.Duration
	Start     func(*exec.Cmd) error
}

// Authority is who makes the certificates of a test network.
type Authority struct {
	File    string
	KeyHash string
	HTTP3   bool
}

// Browser is a browser on a virtual display. Only Linux has them here.
type Browser struct{}

// StartBrowser returns an error that wraps errors.ErrUnsupported.
func StartBrowser(context.Context, BrowserOptions) (*Browser, error) {
	return nil, fmt.Errorf("start browser: %w: this needs Linux", errors.ErrUnsupported)
}

// KindOf returns an error that wraps errors.ErrUnsupported.
func KindOf(string) (string, error) {
	return "", fmt.Errorf("start browser: %w: this needs Linux", errors.ErrUnsupported)
}

// Name returns "".
func (*Browser) Name() string { return "" }

// InstalledVersion is not available here.
func InstalledVersion(context.Context, string) string { return "" }

// Version returns "".
func (*Browser) Version() string { return "" }

// Process returns 0.
func (*Browser) Process() int { return 0 }

// SandboxWarning returns "".
func (*Browser) SandboxWarning() string { return "" }

// Started returns the zero interval.
func (*Browser) Started() timeline.Interval { return timeline.Interval{} }

// Endpoint returns an error that wraps errors.ErrUnsupported.
func (*Browser) Endpoint(context.Context) (string, error) { return "", errors.ErrUnsupported }

// Pipe returns nil.
func (*Browser) Pipe() io.ReadWriter { return nil }

// Done returns nil.
func (*Browser) Done() <-chan struct{} { return nil }

// Err returns nil.
func (*Browser) Err() error { return nil }

// Close does nothing.
func (*Browser) Close() error { return nil }

// SandboxWarning returns "".
func SandboxWarning() string { return "" }

// MissingError says that a program is not installed.
type MissingError struct {
	Program, Package string
}

func (e *MissingError) Error() string { return e.Program + " is not installed" }
