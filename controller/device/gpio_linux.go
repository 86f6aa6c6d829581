package device

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The second version of the interface of GPIO character devices, of include/uapi/linux/gpio.h.
// x/sys has none of it.
const (
	gpioMaxName  = 32
	gpioLinesMax = 64
	gpioAttrsMax = 10

	gpioFlagOutput   = 1 << 3 // GPIO_V2_LINE_FLAG_OUTPUT
	gpioAttrValues   = 2      // GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES
	gpioMagic        = 0xB4
	gpioGetLineIoctl = 0x07 // GPIO_V2_GET_LINE_IOCTL
)

type (
	gpioAttribute struct {
		id      uint32
		padding uint32
		values  uint64 // the union: flags, values or a debounce period
	}
	gpioConfigAttribute struct {
		attr gpioAttribute
		mask uint64
	}
	gpioConfig struct {
		flags    uint64
		numAttrs uint32
		padding  [5]uint32
		attrs    [gpioAttrsMax]gpioConfigAttribute
	}
	gpioRequest struct {
		offsets         [gpioLinesMax]uint32
		consumer        [gpioMaxName]byte
		config          gpioConfig
		numLines        uint32
		eventBufferSize uint32
		padding         [5]uint32
		fd              int32
	}
)

// getLine is _IOWR(0xB4, 0x07, struct gpio_v2_line_request).
const getLine = 3<<30 | unsafe.Sizeof(gpioRequest{})<<16 | gpioMagic<<8 | gpioGetLineIoctl

// outputRequest requests a line as an output. Its level is set at the same time, so it never has
// another one.
func outputRequest(line int, high bool) *gpioRequest {
	r := &gpioRequest{numLines: 1}
	r.offsets[0] = uint32(line)
	copy(r.consumer[:gpioMaxName-1], "eideticker")
	r.config.flags = gpioFlagOutput
	r.config.numAttrs = 1
	r.config.attrs[0].mask = 1
	r.config.attrs[0].attr.id = gpioAttrValues
	if high {
		r.config.attrs[0].attr.values = 1
	}
	return r
}

// holdLine makes a line an output of a level. It stays so until the file is closed.
func holdLine(chip string, line int, high bool) (*os.File, error) {
	fd, err := unix.Open(chip, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) // the line has a file of its own
	r := outputRequest(line, high)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getLine, uintptr(unsafe.Pointer(r))); errno != 0 {
		return nil, gpioError(errno)
	}
	unix.CloseOnExec(int(r.fd))
	return os.NewFile(uintptr(r.fd), fmt.Sprintf("%s line %d", chip, line)), nil
}

// gpioError says what the kernel means.
func gpioError(errno unix.Errno) error {
	switch errno {
	case unix.EINVAL:
		return fmt.Errorf("%w: unknown line of the chip, or a kernel older than 5.10", errno)
	case unix.EBUSY:
		return fmt.Errorf("%w: the line is in use by another program or driver", errno)
	case unix.ENOTTY:
		return fmt.Errorf("%w: not a GPIO chip", errno)
	}
	return errno
}
