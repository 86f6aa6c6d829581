package hid

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/controller/input"
)

// udcClass is where ports are that can be a device: Documentation/ABI/stable/sysfs-class-udc.
const udcClass = "/sys/class/udc"

// slice bounds how long a wait goes on after its context has ended.
const slice = 20 * time.Millisecond

// port is a USB device controller, of which is known whether a host is there.
type port struct {
	name  string
	state *os.File // attribute of sysfs; its poll(2) says that it has changed
	fd    int      // of state
	away  bool     // when it was last looked at
}

// openPort begins to watch a port.
func openPort(name string) (*port, error) {
	f, err := os.Open(filepath.Join(udcClass, name, "state"))
	if err != nil {
		return nil, fmt.Errorf("watch port %s: %w", name, err)
	}
	p := &port{name: name, state: f, fd: int(f.Fd())}
	if _, err := p.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// configured is the state in which a host takes reports: usb_device_state of linux/usb/ch9.h, by
// its names of drivers/usb/common/common.c.
const configured = "configured"

// read returns the state, and takes note of all changes up to it.
func (p *port) read() (string, error) {
	var b [64]byte
	n, err := unix.Pread(p.fd, b[:], 0)
	if err != nil {
		return "", fmt.Errorf("read the state of port %s: %w", p.name, err)
	}
	return strings.TrimSpace(string(b[:n])), nil
}

// await waits until a host has configured the gadget, and ready says that its functions are: not
// all ports forget the host that they had before.
func (p *port) await(ctx context.Context, patience time.Duration, ready func() error) error {
	deadline := time.Now().Add(patience)
	for {
		state, err := p.read()
		if err != nil {
			return err
		}
		if state == configured {
			if err := ready(); err == nil {
				return p.drain()
			} else if !errors.Is(err, input.ErrGone) {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for a host at port %s: %w", p.name, context.Cause(ctx))
		}
		if !time.Now().Before(deadline) {
			if state == configured {
				state += ", by a host that is gone"
			}
			return fmt.Errorf("%w: no host configured the gadget at port %s within %v (it is %s); check the cable",
				input.ErrGone, p.name, patience, state)
		}
		if _, err := p.changed(min(slice, time.Until(deadline))); err != nil {
			return err
		}
	}
}

// wait is how long the host may not have a report yet after the kernel reported it as fetched.
// Known ports report it after the host's acknowledgement. Others, like the VM's, may have buffered
// it. The host takes it with its next poll.
func (p *port) wait() time.Duration {
	// bInterval of f_hid.c: 4 at high speed, which is 8 microframes, and 10 frames at full speed.
	// Kernels that support another value get a shorter one.
	const high, full = time.Millisecond, 10 * time.Millisecond
	if p == nil {
		return full
	}
	driver, err := os.Readlink(filepath.Join(udcClass, p.name, "device/driver"))
	if err == nil && slices.Contains([]string{"dwc2", "dwc3", "ci_hdrc"}, filepath.Base(driver)) {
		return 0
	}
	switch speed, err := readLine(filepath.Join(udcClass, p.name, "current_speed")); {
	case err == nil && (strings.HasPrefix(speed, "high") || strings.HasPrefix(speed, "super")):
		return high
	}
	return full
}

// changed waits for a notice that the state has changed.
func (p *port) changed(wait time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLPRI}}
	if err := poll(fds, wait); err != nil {
		return false, err
	}
	return fds[0].Revents != 0, nil
}

// settled is how long the kernel may take to report a change that can already be read.
const settled = 100 * time.Millisecond

// drain reads the pending notices, so that the next one is new.
func (p *port) drain() error {
	for {
		told, err := p.changed(settled)
		if err != nil || !told {
			return err
		}
		if _, err := p.read(); err != nil {
			return err
		}
	}
}

// poll waits for events, for as many milliseconds as there are begun.
func poll(fds []unix.PollFd, wait time.Duration) error {
	_, err := unix.Poll(fds, int((max(wait, 0) + time.Millisecond - 1).Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("poll", err)
	}
	return nil
}

// presence is what a look at the port says.
type presence uint8

const (
	here     presence = iota // and has been since the last look
	returned                 // it may have been gone
	absent
)

// look says whether the host is there.
func (p *port) look() (presence, string, error) {
	if p == nil {
		return here, "", nil // its state is unknown: the next write will show it
	}
	told, err := p.changed(0)
	if err != nil {
		return absent, "", err
	}
	state, err := p.read()
	switch {
	case err != nil:
		return absent, "", fmt.Errorf("%w: %w", input.ErrGone, err)
	case state != configured:
		p.away = true
		return absent, state, nil
	case told || p.away:
		p.away = false
		return returned, state, nil
	}
	return here, state, nil
}

// gone is the error of a host that is not there.
func (p *port) gone(state string) error {
	return fmt.Errorf("%w: port %s is %q", input.ErrGone, p.name, state)
}

func (p *port) close() error {
	if p == nil {
		return nil
	}
	return p.state.Close()
}
