package recording

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// setDirect switches O_DIRECT on and returns why that failed, or nothing.
func setDirect(f *os.File) string {
	if err := changeDirect(f, unix.O_DIRECT); err != nil {
		return "the filesystem has no direct writes (" + err.Error() + ")"
	}
	return ""
}

func clearDirect(f *os.File) error { return changeDirect(f, 0) }

func changeDirect(f *os.File, want int) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags&^unix.O_DIRECT|want)
	return err
}

func refusesDirect(err error) bool { return errors.Is(err, unix.EINVAL) }

// readAhead is advice: what the system makes of it cannot fail a read.
func readAhead(f *os.File, offset, length int64) {
	_ = unix.Fadvise(int(f.Fd()), offset, length, unix.FADV_WILLNEED)
}

// lockFile keeps two programs from replacing one file at the same time.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another program packs it")
		}
		return nil, err
	}
	return func() {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // a process that is being started has a copy of the file
		f.Close()
	}, nil
}
