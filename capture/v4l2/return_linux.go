//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// identity is what a device is known by when it comes back, perhaps under another number.
type identity struct {
	link              string // below /dev/v4l, "" if there was none
	path              string
	driver, card, bus string
}

func identify(d *device) identity {
	return identity{link: stableLink(d.path), path: d.path, driver: d.driver, card: d.card, bus: d.bus}
}

// gone reports a device that answers no more, and closes it then.
func (s *source) gone() bool {
	var c capability
	err := s.dev.ioctl(vidiocQueryCap, unsafe.Pointer(&c))
	if err == nil {
		return false
	}
	_ = s.dev.close() // what is gone cannot fail to close in a way that matters
	return true
}

// returned waits for the device to be there again, and opens it.
func (s *source) returned(ctx context.Context) error {
	s.told.gone(s.path)
	if s.dev != nil {
		_ = s.dev.close()
		s.dev = nil
	}
	watch := watchDev()
	defer watch.close()
	for ctx.Err() == nil {
		if path := s.seek(s.same, s.path); path != "" {
			same := s.same
			if s.openDevice(path) == nil {
				s.path, s.same.link = path, same.link
				s.told.back(path)
				return nil
			}
		}
		watch.sleep(s.bell)
	}
	return ctx.Err()
}

// findAgain returns the node of a device that was known as id, or "": where its link points, else one that says the same
// of itself.
func findAgain(id identity, path string) string {
	if id.link != "" {
		if target, err := filepath.EvalSymlinks(id.link); err == nil {
			return target
		}
	}
	for _, p := range append([]string{path}, videoNodes()...) {
		n, err := openNode(p)
		if err != nil {
			continue
		}
		d, err := newDevice(n, p)
		_ = n.close()
		if err == nil && d.driver == id.driver && d.card == id.card && d.bus == id.bus {
			return p
		}
	}
	return ""
}

// videoNodes lists /dev/video*, by number.
func videoNodes() []string {
	all, _ := filepath.Glob("/dev/video*") // its only error is of the pattern
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return all
}

// stableLink returns a name of a node that does not depend on the order in which devices were found, or "".
func stableLink(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	for _, folder := range []string{"/dev/v4l/by-id", "/dev/v4l/by-path"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			link := filepath.Join(folder, e.Name())
			if to, err := filepath.EvalSymlinks(link); err == nil && to == target {
				return link
			}
		}
	}
	return ""
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
