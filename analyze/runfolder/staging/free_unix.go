//go:build linux || darwin

package staging

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// FreeBytes returns what a user may still write to the file system of a folder.
func FreeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "ask for free space", Path: dir, Err: err}
	}
	size := int64(st.Bsize)
	if size <= 0 || st.Bavail > uint64(math.MaxInt64/size) {
		return math.MaxInt64, nil // more than anybody has
	}
	return int64(st.Bavail) * size, nil
}
