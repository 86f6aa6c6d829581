package uinput

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
)

// device is one that was made.
type device struct {
	name string
	fd   int
	path string // of its node, below /dev/input
	buf  []byte
}

// make makes a device and waits until programs can open it.
func (k kind) make(ctx context.Context) (*device, error) {
	fd, err := unix.Open(node, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, advise(err)
	}
	d := &device{name: k.name, fd: fd}
	if err := d.create(ctx, k); err != nil {
		return nil, errors.Join(fmt.Errorf("make %s: %w", k.name, err), d.close())
	}
	return d, nil
}

// advise returns advice for a missing uinput.
func advise(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: load the module with modprobe uinput", err)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: give yourself the right to write it, by a rule of udev or a group", err)
	}
	return fmt.Errorf("open %s: %w", node, err)
}

func (d *device) create(ctx context.Context, k kind) error {
	if err := d.describe(k); err != nil {
		return fmt.Errorf("say what it can do: %w", err)
	}
	if err := unix.IoctlSetInt(d.fd, uiDevCreate, 0); err != nil {
		return err
	}
	sys, err := sysname(d.fd)
	if err != nil {
		return err
	}
	// The kernel has made the node's folder when it returns, if it has nodes at all.
	nodes, err := filepath.Glob("/sys/class/input/" + sys + "/event*")
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return fmt.Errorf("%s has no node: load the module with modprobe evdev", sys)
	}
	d.path = filepath.Join("/dev/input", filepath.Base(nodes[0]))
	return ready(ctx, nodes[0], d.path)
}

// describe says what the device has.
func (d *device) describe(k kind) error {
	set := func(request uint, values ...uint16) error {
		for _, v := range values {
			if err := unix.IoctlSetInt(d.fd, request, int(v)); err != nil {
				return fmt.Errorf("number %#x: %w", v, err)
			}
		}
		return nil
	}
	types := map[uint16]bool{evdev.Key: len(k.keys) > 0, evdev.Rel: len(k.rels) > 0, evdev.Abs: len(k.abs) > 0}
	for t, has := range types {
		if has {
			if err := set(uiSetEvBit, t); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(set(uiSetKeyBit, k.keys...), set(uiSetRelBit, k.rels...)); err != nil {
		return err
	}
	for _, p := range k.props {
		if err := set(uiSetPropBit, uint16(p)); err != nil {
			return err
		}
	}
	for _, a := range k.abs {
		s := absSetup{code: a.code, maximum: int32(a.maximum)}
		if err := ioctl(d.fd, uiAbsSetup, unsafe.Pointer(&s)); err != nil {
			return fmt.Errorf("axis %#x: %w", a.code, err)
		}
	}
	s := setup{id: inputID{bus: busVirtual, vendor: 0x1d6b, product: k.product, version: 1}}
	copy(s.name[:len(s.name)-1], k.name)
	return ioctl(d.fd, uiDevSetup, unsafe.Pointer(&s))
}

// write has events happen at once, behind which the device says that they did.
func (d *device) write(events []evdev.Event) error {
	d.buf = d.buf[:0]
	for _, e := range events {
		d.buf = evdev.Append(d.buf, e)
	}
	d.buf = evdev.Append(d.buf, evdev.Event{Type: evdev.Syn, Code: evdev.Report})
	for {
		n, err := unix.Write(d.fd, d.buf)
		switch {
		case errors.Is(err, unix.EINTR) && n <= 0:
		case errors.Is(err, unix.ENODEV):
			return fmt.Errorf("%s: %w: %w", d.name, input.ErrGone, err)
		case err != nil:
			return fmt.Errorf("write events to %s: %w", d.name, err)
		case n != len(d.buf):
			return fmt.Errorf("write events to %s: it took %d bytes of %d", d.name, n, len(d.buf))
		default:
			return nil
		}
	}
}

// close removes the device.
func (d *device) close() error {
	if d.fd < 0 {
		return nil
	}
	err := os.NewSyscallError("close", unix.Close(d.fd))
	d.fd = -1
	return err
}

// all are the devices of a driver that were made.
func closeAll(all []*device) error {
	var errs []error
	for _, d := range slices.Backward(all) {
		if d != nil {
			errs = append(errs, d.close())
		}
	}
	return errors.Join(errs...)
}
