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
