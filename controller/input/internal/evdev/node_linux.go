package evdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Requests of linux/input.h.
const (
	setClock = 0x400445a0 // EVIOCSCLOCKID
	grab     = 0x40044590 // EVIOCGRAB
)

// Node is a device that is read. It belongs to one goroutine.
type Node struct {
	file    *os.File
	fd      int // of file
	pending []Event
	buf     [64 * Size]byte
}

// Open opens a node below /dev/input, and has it tell times of the rig's clock.
func Open(path string) (*Node, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := unix.IoctlSetPointerInt(fd, setClock, unix.CLOCK_MONOTONIC); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%s: have it tell the time of the monotonic clock: %w", path, err)
	}
	return &Node{file: os.NewFile(uintptr(fd), path), fd: fd}, nil
}

// Grab keeps the device's events from everybody else, so that keys which are tried out do nothing.
func (n *Node) Grab() error { return unix.IoctlSetInt(n.fd, grab, 1) }

// slice bounds how long a wait goes on after its context has ended.
const slice = 20 * time.Millisecond

// Read returns the next report: all events up to SYN_REPORT, without it. A device that is gone is
// an error that wraps os.ErrClosed.
func (n *Node) Read(ctx context.Context) ([]Event, error) {
	var report []Event
	for {
		for len(n.pending) > 0 {
			e := n.pending[0]
			n.pending = n.pending[1:]
			switch {
			case e.Is(Syn, Dropped, e.Value):
				return nil, fmt.Errorf("%s: events were lost: nobody read them in time", n.file.Name())
			case e.Is(Syn, Report, e.Value):
				return report, nil
			}
			report = append(report, e)
		}
		if err := n.fill(ctx); err != nil {
			return nil, err
		}
	}
}

// fill reads what there is, and waits for it if there is nothing.
func (n *Node) fill(ctx context.Context) error {
	for {
		got, err := unix.Read(n.fd, n.buf[:])
		switch {
		case err == nil:
			for b := n.buf[:got]; len(b) >= Size; b = b[Size:] {
				n.pending = append(n.pending, parse(b))
			}
			return nil
		case errors.Is(err, unix.ENODEV):
			return fmt.Errorf("%s: the device is gone: %w", n.file.Name(), os.ErrClosed)
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("read %s: %w", n.file.Name(), err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for %s: %w", n.file.Name(), context.Cause(ctx))
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(n.fd), Events: unix.POLLIN}},
			int(slice.Milliseconds())); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for %s: %w", n.file.Name(), err)
		}
	}
}

// Close closes the node.
func (n *Node) Close() error { return n.file.Close() }

// Nodes returns the nodes below a folder of sysfs, such as that of an input device:
// "/dev/input/event3".
func Nodes(sys string) ([]string, error) {
	real, err := filepath.EvalSymlinks(sys)
	if err != nil {
		return nil, err
	}
	all, err := filepath.Glob("/sys/class/input/event*")
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, class := range all {
		device, err := filepath.EvalSymlinks(class)
		if err == nil && strings.HasPrefix(device, real+"/") {
			nodes = append(nodes, "/dev/input/"+filepath.Base(class))
		}
	}
	return nodes, nil
}
