//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gone reports a device that answers no more, and closes it then; also one that was closed to be
// opened again.
func (s *source) gone() bool {
	var c capability
	if !s.dev.shut && s.dev.ioctl(vidiocQueryCap, unsafe.Pointer(&c)) == nil {
		return false
	}
	_ = s.dev.close() // the device is gone, so an error of close does not matter
	return true
}

// returned waits for the device to be there again, and opens it.
func (s *source) returned(ctx context.Context) error {
	s.away = absence{}
	if s.dev == nil || !s.dev.shut {
		s.told.gone(s.path)
	}
	if s.dev != nil {
		_ = s.dev.close()
		s.dev = nil
	}
	watch := watchDev()
	defer watch.close()
	for ctx.Err() == nil {
		path, err := s.seek(s.same, s.path)
		if path != "" {
			before := s.same
			if err = s.openDevice(path); err == nil {
				s.path, s.same = path, s.same.after(before)
				s.told.back(path)
				return nil
			}
		}
		s.tellWhyAway(err)
		watch.sleep(s.bell)
	}
	return ctx.Err()
}

// devWatch notices changes in /dev by inotify. Where that cannot be had it only waits.
type devWatch struct {
	fd   int
	poll [2]unix.PollFd
	junk [4096]byte
}

// lookAgain is how long a device may be back before it is noticed, where nothing tells.
const lookAgain = 500 * time.Millisecond

func watchDev() *devWatch {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return &devWatch{fd: -1}
	}
	// A node is made first and given to its group then.
	_, _ = unix.InotifyAddWatch(fd, "/dev", unix.IN_CREATE|unix.IN_ATTRIB|unix.IN_MOVED_TO)
	return &devWatch{fd: fd}
}

func (w *devWatch) sleep(b *bell) {
	w.poll[0] = unix.PollFd{Fd: int32(b.fd), Events: unix.POLLIN}
	w.poll[1] = unix.PollFd{Fd: int32(w.fd), Events: unix.POLLIN} // poll(2) passes over a negative one
	_, _ = unix.Poll(w.poll[:], int(lookAgain/time.Millisecond))
	for w.fd >= 0 {
		if _, err := unix.Read(w.fd, w.junk[:]); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (w *devWatch) close() {
	if w.fd >= 0 {
		_ = unix.Close(w.fd)
		w.fd = -1
	}
}
