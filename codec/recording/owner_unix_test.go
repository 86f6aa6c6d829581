//go:build unix

package recording

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPackKeepsTheOwner packs a file of another user and group as root. Others pack their own.
func TestPackKeepsTheOwner(t *testing.T) {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 1234, 1235
	}
	_, whole := packableTale(t)
	path := filepath.Join(t.TempDir(), "a.eid")
	if err := os.WriteFile(path, whole.b, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
	if rep, err := Pack(context.Background(), path, false, nil); err != nil || !rep.Packed {
		t.Fatalf("%+v, %v", rep, err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if is := st.Sys().(*syscall.Stat_t); int(is.Uid) != uid || int(is.Gid) != gid || st.Mode().Perm() != 0o640 {
		t.Errorf("owner %d:%d, mode %v", is.Uid, is.Gid, st.Mode())
	}
}
