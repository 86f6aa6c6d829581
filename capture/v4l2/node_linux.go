//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// node is an open device, as the state machine sees it: what the kernel does, and nothing more, so
// that tests can play the driver. Arguments of ioctl stay where they are until it returns: they are
// on the heap.
type node interface {
	ioctl(request uintptr, arg unsafe.Pointer) error
	mmap(fd, length int, offset int64) ([]byte, error) // fd < 0 is the device itself
	munmap(mem []byte) error
	syncDMA(fd int, flags uint64) error // DMA_BUF_IOCTL_SYNC
	closeFD(fd int) error
	// wait returns when the device has an event, when the bell rings, or after the time; if it is
	// streaming also when it has a frame or an error. Asked for frames while it is not, the kernel
	// answers with an error at once.
	wait(bell *bell, d time.Duration, streaming bool) (ready, error)
	close() error
}

// ready is what poll(2) says of a device.
type ready struct {
	frame, event, failed bool
}

// file is a device of this machine.
type file struct {
	fd   int
	poll [2]unix.PollFd
}

// openNode opens a device node and makes sure that it is one. Its errors name the path.
func openNode(path string) (*file, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, pathError(path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return nil, fmt.Errorf("%w: %s is not a device node; eideticker sources lists capture devices",
			errNoDevice, path)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			return nil, fmt.Errorf("open %s: %w%s", path, os.ErrPermission, groupAdvice(st.Gid))
		}
		return nil, pathError(path, err)
	}
	return &file{fd: fd}, nil
}

func pathError(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%w: %s (%w); eideticker sources lists capture devices", errNoDevice, path, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("open %s: %w%s", path, ErrBusy, heldBy(path))
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// groupAdvice names the group that may open a node.
func groupAdvice(gid uint32) string {
	name := strconv.Itoa(int(gid))
	if gid == 0 {
		return ": it belongs to root"
	}
	if g, err := user.LookupGroupId(name); err == nil {
		name = g.Name
	}
	return fmt.Sprintf(": it belongs to the group %s; join it with 'sudo usermod -aG %s $USER' and log in again", name,
		name)
}

func (f *file) ioctl(request uintptr, arg unsafe.Pointer) error {
	for {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(f.fd), request, uintptr(arg))
		switch e {
		case 0:
			return nil
		case unix.EINTR:
			continue
		}
		return e
	}
}

func (f *file) mmap(fd, length int, offset int64) ([]byte, error) {
	prot := unix.PROT_READ
	if fd < 0 {
		// Some drivers insist on writable mappings of their buffers, though we only read.
		fd, prot = f.fd, unix.PROT_READ|unix.PROT_WRITE
	}
	return unix.Mmap(fd, offset, length, prot, unix.MAP_SHARED)
}

func (f *file) munmap(mem []byte) error { return unix.Munmap(mem) }

func (f *file) closeFD(fd int) error { return unix.Close(fd) }

func (f *file) syncDMA(fd int, flags uint64) error {
	arg := dmabufSync{flags}
	for {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), dmabufIoctlSync, uintptr(unsafe.Pointer(&arg)))
		switch e {
		case 0:
			return nil
		case unix.EINTR, unix.EAGAIN:
			continue
		}
		return e
	}
}

func (f *file) wait(b *bell, d time.Duration, streaming bool) (ready, error) {
	f.poll[0] = unix.PollFd{Fd: int32(f.fd), Events: unix.POLLPRI}
	if streaming {
		f.poll[0].Events |= unix.POLLIN
	}
	f.poll[1] = unix.PollFd{Fd: int32(b.fd), Events: unix.POLLIN}
	n, err := unix.Poll(f.poll[:], int((d+time.Millisecond-1)/time.Millisecond))
	if err == unix.EINTR || n <= 0 && err == nil {
		return ready{}, nil
	}
	got := f.poll[0].Revents
	return ready{
		frame:  got&unix.POLLIN != 0,
		event:  got&unix.POLLPRI != 0,
		failed: got&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0,
	}, err
}

func (f *file) close() error {
	if f.fd < 0 {
		return nil
	}
	fd := f.fd
	f.fd = -1
	return unix.Close(fd)
}
