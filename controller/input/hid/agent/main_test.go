package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/internal/wire"
)

// Refused arguments do not touch any device.
func TestRefuses(t *testing.T) {
	t.Setenv(wire.TokenVariable, "")
	os.Unsetenv(wire.TokenVariable)
	if err := run(t.Context(), ":0", "", ""); err == nil || !strings.Contains(err.Error(), "give a token") {
		t.Errorf("open to all without a token: %v", err)
	}
	if err := run(t.Context(), "127.0.0.1:0", filepath.Join(t.TempDir(), "none"), ""); err == nil ||
		!strings.Contains(err.Error(), "token file") {
		t.Errorf("no token file: %v", err)
	}
	for input, want := range map[string]string{"?size=0x0": "size", "?%": "escape", "/etc/passwd": "/dev"} {
		if err := run(t.Context(), "127.0.0.1:0", "", input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("input %s: %v", input, err)
		}
	}
}
