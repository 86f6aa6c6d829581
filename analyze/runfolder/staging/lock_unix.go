//go:build unix

package staging

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errOwned = errors.New("another program has the folder")

// lockOwner takes the lock by which a folder's owner is known to live; it ends with the process. A
// file that has lost its name since it was opened is none.
func lockOwner(path string, create int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|create|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		f.Close() // holds no data
		return nil, errOwned
	case err != nil && create == 0:
		f.Close() // holds no data
		return nil, err
	} // a file system without locks: nobody will take the folder for an orphan
	if err := named(f, path); err != nil {
		f.Close() // holds no data
		return nil, errOwned
	}
	return f, nil
}

// unlock needs no lock: some file systems have none.
func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// Keep makes [Claim] fail for an open file until it is closed. Several programs can keep one. It
// does nothing on a file system without locks.
func Keep(f *os.File) {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != unix.EINTR {
			return
		}
	}
}

func named(f *os.File, path string) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err == nil && !os.SameFile(mine, there) {
		err = errOwned
	}
	return err
}
