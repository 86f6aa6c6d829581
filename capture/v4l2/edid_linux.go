//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errNoEDID says that an input has none that could be read or set.
var errNoEDID = errors.New("this input has no EDID")

// readEDID returns the EDID of the selected input; errNoEDID if it has none.
func (d *device) readEDID() ([]byte, error) {
	in, _ := d.inputNow()
	r := edidRequest{pad: in.index}
	// A request for no blocks asks how many there are.
	if err := d.ioctl(vidiocGEdid, unsafe.Pointer(&r)); err != nil {
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
			return nil, errNoEDID
		}
		return nil, fmt.Errorf("read the EDID of %s: %w", d.path, err)
	}
	if r.blocks == 0 {
		return nil, errNoEDID
	}
	b := make([]byte, min(r.blocks, maxEDIDBlocks)*edidBlock)
	r = edidRequest{pad: in.index, blocks: uint32(len(b) / edidBlock), edid: unsafe.Pointer(&b[0])}
	if err := d.ioctl(vidiocGEdid, unsafe.Pointer(&r)); err != nil {
		return nil, fmt.Errorf("read the EDID of %s: %w", d.path, err)
	}
	return b[:min(int(r.blocks)*edidBlock, len(b))], nil
}

// offer sets an EDID of the given modes, if it is not the one that is set: setting it makes a hot
// plug, which the device under test would see.
func (d *device) offer(modes []Mode) error {
	want, err := makeEDID(modes)
	if err != nil {
		return err
	}
	if have, err := d.readEDID(); err == nil && sameEDID(have, want) {
		return nil
	}
	in, _ := d.inputNow()
	r := edidRequest{pad: in.index, blocks: uint32(len(want) / edidBlock), edid: unsafe.Pointer(&want[0])}
	if err := d.ioctl(vidiocSEdid, unsafe.Pointer(&r)); err != nil {
		if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("set the EDID of %s: %w; omit edid=", d.path, errNoEDID)
		}
		return d.explain("set the EDID of "+d.path, err)
	}
	have, err := d.readEDID()
	if err == nil && !sameEDID(have, want) {
		err = errors.New("reads back differently")
	}
	if err != nil {
		return fmt.Errorf("set the EDID of %s: %w", d.path, err)
	}
	return nil
}
