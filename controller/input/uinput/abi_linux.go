package uinput

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's interface, as far as it is used here: linux/uinput.h. abi_linux_test.go holds sizes
// and numbers against the header files of the machine.
const (
	uiDevCreate  = 0x5501     // UI_DEV_CREATE
	uiDevDestroy = 0x5502     // UI_DEV_DESTROY
	uiDevSetup   = 0x405c5503 // UI_DEV_SETUP
	uiAbsSetup   = 0x401c5504 // UI_ABS_SETUP
	uiSetEvBit   = 0x40045564 // UI_SET_EVBIT
	uiSetKeyBit  = 0x40045565 // UI_SET_KEYBIT
	uiSetRelBit  = 0x40045566 // UI_SET_RELBIT
	uiSetPropBit = 0x4004556e // UI_SET_PROPBIT
	uiGetSysname = 0x8040552c // UI_GET_SYSNAME(64)
)

// busVirtual is BUS_VIRTUAL of linux/input.h.
const busVirtual = 0x06

// inputID is struct input_id of linux/input.h.
type inputID struct{ bus, vendor, product, version uint16 }

// setup is struct uinput_setup.
type setup struct {
	id      inputID
	name    [80]byte // UINPUT_MAX_NAME_SIZE, with a zero behind it
	effects uint32
}

// absSetup is struct uinput_abs_setup, with its struct input_absinfo of linux/input.h.
type absSetup struct {
	code                                            uint16
	_                                               uint16
	value, minimum, maximum, fuzz, flat, resolution int32
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); e != 0 {
		return e
	}
	return nil
}

// sysname returns the name of a device's folder in sysfs.
func sysname(fd int) (string, error) {
	var b [64]byte
	if err := ioctl(fd, uiGetSysname, unsafe.Pointer(&b)); err != nil {
		return "", fmt.Errorf("ask for the device's name: %w", err)
	}
	return unix.ByteSliceToString(b[:]), nil
}
