//go:build unix

package replay

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenAndPipes: to open a pipe would be to wait for who writes it.
func TestOpenAndPipes(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "site.zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "site.zip"), DefaultLimits()); err == nil ||
		!strings.Contains(err.Error(), "it is not a file") {
		t.Error(err)
	}
	if _, err := OpenIn(os.DirFS(dir), "site.zip", DefaultLimits()); err == nil ||
		!strings.Contains(err.Error(), "it is not a file") {
		t.Error(err)
	}
}
