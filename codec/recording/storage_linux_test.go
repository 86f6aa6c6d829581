package recording

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPackingEnds: a recording can be packed again when packing has ended. A process that is being
// started has a copy of the locked file.
func TestPackingEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	inherited := 0
	for _, e := range open {
		if at, err := os.Readlink("/proc/self/fd/" + e.Name()); err != nil || at != path {
			continue
		}
		number, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Dup(number) // as fork does
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		inherited++
	}
	unlock()
	if unlock, err = lockFile(path); err != nil || inherited == 0 {
		t.Fatal(inherited, err)
	}
	unlock()
}
