package hid

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// patience is how long a host that is there may take to ask for a report.
const patience = 2 * time.Second

// endpoint is a node /dev/hidgN, to which reports are written.
type endpoint struct {
	path  string
	fd    int
	port  *port // may be nil
	clock timeline.Clock
	// dirty: the host may hold something that the driver does not know of, so the next report must
	// lift everything.
	dirty bool
}

func openEndpoint(path string, p *port, clock timeline.Clock) (*endpoint, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &endpoint{path: path, fd: fd, port: p, clock: clock, dirty: true}, nil
}

// isAbsent reports what a write to nobody returns: the host has not configured the function, or it
// has ended.
func isAbsent(err error) bool {
	for _, no := range []error{unix.ESHUTDOWN, unix.ENODEV, unix.ENXIO, unix.ECONNRESET, unix.ECONNABORTED, unix.EPIPE,
		unix.EIO, unix.EBADF} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// send writes a report, and waits until the host has fetched it.
func (e *endpoint) send(ctx context.Context, report []byte) (timeline.Interval, error) {
	deadline := time.Now().Add(patience)
	for {
		before := e.clock.Now()
		taken, err := e.write(report)
		if err != nil {
			return timeline.Interval{}, err
		}
		if taken {
			after, err := e.await(ctx)
			return timeline.Interval{Earliest: before, Latest: after}, err
		}
		// The report before is still there. It is not waited for alone: of a host that goes away
		// meanwhile the next write tells.
		if _, err := e.look(ctx, deadline); err != nil {
			return timeline.Interval{}, err
		}
	}
}

// write gives a report to the kernel if the one before is gone.
func (e *endpoint) write(report []byte) (taken bool, err error) {
	n, err := unix.Write(e.fd, report)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false, nil
	case err != nil && isAbsent(err):
		return false, fmt.Errorf("%w: write to %s: %w", input.ErrGone, e.path, err)
	case err != nil:
		return false, fmt.Errorf("write to %s: %w", e.path, err)
	case n != len(report):
		return false, fmt.Errorf("write to %s: it takes %d of %d bytes: it is another function", e.path, n, len(report))
	}
	return true, nil
}

// await waits until the host has fetched the report that was written last. It returns when that was
// known.
func (e *endpoint) await(ctx context.Context) (timeline.Time, error) {
	deadline := time.Now().Add(patience)
	for {
		fetched, err := e.look(ctx, deadline)
		if err != nil || fetched != 0 {
			return fetched, err
		}
	}
}

// look waits a moment for the host to fetch a report. It returns the time at which it was known to
// have, or 0.
func (e *endpoint) look(ctx context.Context, deadline time.Time) (timeline.Time, error) {
	fds := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLOUT}}
	if e.port != nil {
		fds = append(fds, unix.PollFd{Fd: int32(e.port.fd), Events: unix.POLLPRI})
	}
	if err := poll(fds, slice); err != nil {
		return 0, err
	}
	now := e.clock.Now()
	// The kernel says of a report that a cable took away that it is gone too. So the port is looked
	// at before it is believed.
	switch there, state, err := e.port.look(); {
	case err != nil:
		return 0, err
	case there == absent:
		return 0, e.port.gone(state)
	case there == returned:
		return 0, fmt.Errorf("%w: it was unplugged or asleep, and is back", input.ErrGone)
	}
	switch {
	case fds[0].Revents&unix.POLLOUT != 0:
		return now, nil
	case fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0:
		return 0, fmt.Errorf("%w: %s has ended", input.ErrGone, e.path)
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("wait for the host to ask %s: %w", e.path, context.Cause(ctx))
	}
	if time.Now().Before(deadline) {
		return 0, nil
	}
	return 0, e.unasked()
}

// unasked says why the host does not ask. Not all ports know that the host is gone; the function
// does, and says so to who writes: here an empty report, which it does not take while another one
// waits.
func (e *endpoint) unasked() error {
	if _, err := e.write(nil); errors.Is(err, input.ErrGone) {
		return err
	}
	return fmt.Errorf("the host has not asked %s for its report within %v: nothing there reads the device", e.path,
		patience)
}

// answer sets the kernel's answer to a host that requests a report by its number. It has the
// maximum number of fingers. Without an answer, kernels from 6.12 on keep the host waiting for
// seconds. Earlier ones answer all with zeros. Hosts with Linux then use the largest count in the
// descriptor, which is the same.
func (e *endpoint) answer(id uint8, report []byte) error {
	// struct usb_hidg_report of linux/usb/g_hid.h.
	const request = 0x40486742 // GADGET_HID_WRITE_GET_REPORT
	s := struct {
		id, ask uint8 // ask 0: this is the answer to all
		length  uint16
		data    [64]byte
		_       [4]byte
	}{id: id, length: uint16(len(report))}
	copy(s.data[:], report)
	_, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(e.fd), request, uintptr(unsafe.Pointer(&s)))
	if no != 0 && no != unix.ENOTTY && no != unix.EINVAL {
		return fmt.Errorf("leave an answer at %s: %w", e.path, no)
	}
	return nil
}

func (e *endpoint) close() error {
	if e == nil || e.fd < 0 {
		return nil
	}
	err := os.NewSyscallError("close", unix.Close(e.fd))
	e.fd = -1
	return err
}
