package doctor

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// freeBytes returns what a user may still write to the filesystem of a folder.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "ask for free space", Path: dir, Err: err}
	}
	if st.Bsize <= 0 || st.Bavail > uint64(math.MaxInt64/st.Bsize) {
		return math.MaxInt64, nil // more than anybody has
	}
	return int64(st.Bavail) * st.Bsize, nil
}
