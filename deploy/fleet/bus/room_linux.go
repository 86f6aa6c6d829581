package bus

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate takes disk space for a file.
func allocate(f *os.File, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return unix.Fallocate(int(f.Fd()), 0, 0, bytes)
}
