package device

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLeftoverSharedMemory: files of a killed browser are removed. Older files, open files and
// files with other names stay.
//
// Fault: A hundred runs in a row (`make soak`)
func TestLeftoverSharedMemory(t *testing.T) {
	dir := t.TempDir()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	leave := func(name string) {
		if err := create(name).Close(); err != nil {
			t.Fatal(err)
		}
	}
	leave(".org.chromium.Chromium.before")
	s := newLeftovers(dir)
	leave(".org.chromium.Chromium.left")
	leave("org.mozilla.ipc.1.2")
	leave("something.else")
	held := create("org.chromium.Chromium.held")
	defer held.Close()
	s.remove()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".org.chromium.Chromium.before", "org.chromium.Chromium.held", "something.else"}; !slices.Equal(
		names, want) {
		t.Errorf("%q are there, want %q", names, want)
	}
	newLeftovers(filepath.Join(dir, "missing")).remove()
}
