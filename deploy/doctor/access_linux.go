package doctor

import "golang.org/x/sys/unix"

// access tells why this user may not read and write a file, or returns nil.
func access(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS)
}
