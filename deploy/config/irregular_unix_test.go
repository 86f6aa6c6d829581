//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestConfigurationFromAPipe: a pipe that nobody writes into is refused, and not waited for.
func TestConfigurationFromAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rig.toml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, func(string) string { return "" }); err == nil ||
		!strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}
