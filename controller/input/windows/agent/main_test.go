package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/internal/wire"
)

// Refused arguments do not touch any device.
func TestRefuses(t *testing.T) {
	t.Setenv(wire.TokenVariable, "")
	os.Unsetenv(wire.TokenVariable)
	if err := run(t.Context(), ":0", ""); err == nil || !strings.Contains(err.Error(), "give a token") {
		t.Errorf("open to all without a token: %v", err)
	}
	if err := run(t.Context(), "127.0.0.1:0", filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "token file") {
		t.Errorf("no token file: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := run(t.Context(), "127.0.0.1:0", ""); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("on %s: %v", runtime.GOOS, err)
	}
}
