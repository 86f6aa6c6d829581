//go:build unix

package device

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDevicesFromAPipe: a pipe that nobody writes into is refused, and not waited for.
func TestDevicesFromAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "devices.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path, Known{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}
