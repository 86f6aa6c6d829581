//go:build unix

package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/deploy/fleet/bus"
)

// TestOwner: the service can read a fleet that root has adopted.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	w, dir := copiedWorld(t, "a"), t.TempDir()
	if w.hub.copy(t.Context()); w.hub.copies.err != nil {
		t.Fatal(w.hub.copies.err)
	}
	if err := os.Chown(dir, 1234, 1235); err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(t.Context(), dir, w.o.Copy, func(_, store string) (bus.Hub, error) {
		return bus.NewMemory().Hub(), errors.Join(os.MkdirAll(store, 0o700),
			os.WriteFile(filepath.Join(store, "block"), nil, 0o600))
	}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		seen[path[len(dir):]] = true
		if o, is := st.Sys().(*syscall.Stat_t); !is || o.Uid != 1234 || o.Gid != 1235 {
			t.Errorf("%s is of %+v", path, o)
		}
		return nil
	})
	if err != nil || !seen["/secrets/fleet/operator.seed"] || !seen["/fleet/jetstream/block"] {
		t.Errorf("%v, %v", seen, err)
	}
}
