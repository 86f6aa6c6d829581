//go:build linux && rigvm

package rigvm_test

import (
	"os"
	"testing"
)

// TestDrivers runs in the VM.
func TestDrivers(t *testing.T) {
	for _, tc := range []struct{ name, path string }{
		{"vivid", "/dev/video0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := os.Stat(tc.path); err != nil {
				t.Error(err)
			}
		})
	}
}
