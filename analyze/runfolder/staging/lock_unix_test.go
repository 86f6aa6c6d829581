//go:build unix

package staging

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLockIsClosed: a lock ends when it is closed. A process that is being started has a copy of
// its file.
func TestLockIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(l.(lock).Fd())) // as fork does
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if l, err = Lock(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
