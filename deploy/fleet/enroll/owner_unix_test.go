//go:build unix

package enroll

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOwner: the service can read keys that root has made.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 1234, 1235); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(filepath.Join(dir, "secrets", "fleet")); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		seen++
		if o, is := st.Sys().(*syscall.Stat_t); !is || o.Uid != 1234 || o.Gid != 1235 {
			t.Errorf("%s is of %+v", path, o)
		}
		return nil
	})
	if err != nil || seen != 6 {
		t.Errorf("%d files and folders, %v", seen, err)
	}
}
