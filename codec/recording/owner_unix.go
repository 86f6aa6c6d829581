//go:build unix

package recording

import (
	"fmt"
	"os"
	"syscall"
)

// keepOwner gives a new file the mode, owner and group of another. Root may pack the file of a
// service, which must be able to read it afterwards.
func keepOwner(f *os.File, of os.FileInfo) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	is, known := st.Sys().(*syscall.Stat_t)
	want, also := of.Sys().(*syscall.Stat_t)
	if !known || !also {
		return fmt.Errorf("the system does not tell who owns %s", f.Name())
	}
	if is.Uid != want.Uid || is.Gid != want.Gid {
		if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(of.Mode().Perm())
}
