package session

import (
	"os"
	"testing"
)

// TestFreeFolder: runs of the same second get different folders.
func TestFreeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"a-1", "a-1-2", "a-1-3"} {
		if got := FreeFolder("a-1"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := os.Mkdir(want, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
