//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// device asks a node in the words of V4L2. Of the two APIs, single- and multi-planar, it speaks the
// one that the node has.
type device struct {
	node
	path              string
	driver, card, bus string
	caps              uint32
	multi             bool
	shut              bool // it is there, but was closed so that it writes no more into our memory
}

// maxEnum bounds every enumeration: no driver has more of anything.
const maxEnum = 256

// newDevice asks a node what it is, and refuses those that capture no video.
func newDevice(n node, path string) (*device, error) {
	d := &device{node: n, path: path}
	if err := d.identify(); err != nil {
		return nil, err
	}
	switch {
	case d.caps&(capVideoCapture|capVideoCaptureMplane) == 0:
		return nil, fmt.Errorf("%w: %s (%s) is %s, not a capture device; eideticker sources lists them", errNoDevice,
			path, d.card, kindOf(d.caps))
	case d.caps&capStreaming == 0:
		return nil, fmt.Errorf("%w: %s (%s) has no streaming buffers, only read(2), without times and losses",
			errNoDevice, path, d.card)
	}
	return d, nil
}

// identify fills in what the driver says of itself.
func (d *device) identify() error {
	var c capability
	if err := d.ioctl(vidiocQueryCap, unsafe.Pointer(&c)); err != nil {
		if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("%w: %s is not a V4L2 node; eideticker sources lists capture devices", errNoDevice,
				d.path)
		}
		return fmt.Errorf("query %s: %w", d.path, err)
	}
	d.driver, d.card, d.bus = text(c.driver[:]), text(c.card[:]), text(c.busInfo[:])
	d.caps = c.capabilities
	if c.capabilities&capDeviceCaps != 0 {
		d.caps = c.deviceCaps
	}
	d.multi = d.caps&capVideoCapture == 0
	return nil
}

// kindOf says what a node is that captures no video.
func kindOf(caps uint32) string {
	for _, k := range []struct {
		bits uint32
		name string
	}{
		{capVideoOutput | capVideoOutputMplane, "a video output node"},
		{capMetaCapture | capMetaOutput, "a metadata node"},
		{capVideoM2M | capVideoM2MMplane, "a memory-to-memory node (a codec or scaler)"},
		{capVBICapture | capVBIOutput | capSlicedVBICapture | capSlicedVBIOutput, "a VBI node"},
		{capRadio, "a radio"},
		{capSDRCapture, "a software radio"},
		{capTouch, "a touch sensor"},
	} {
		if caps&k.bits != 0 {
			return k.name
		}
	}
	return "a node of another kind"
}

func capabilityNames(caps uint32) []string {
	var names []string
	for _, k := range []struct {
		bit  uint32
		name string
	}{
		{capVideoCapture, "video capture"}, {capVideoCaptureMplane, "video capture (multi-planar)"},
		{capVideoOutput | capVideoOutputMplane, "video output"}, {capVideoM2M | capVideoM2MMplane, "memory to memory"},
		{capMetaCapture, "metadata capture"}, {capStreaming, "streaming"},
	} {
		if caps&k.bit != 0 {
			names = append(names, k.name)
		}
	}
	return names
}

func (d *device) bufType() uint32 {
	if d.multi {
		return typeCaptureMplane
	}
	return typeCapture
}

// format is what a driver is set to, in either API.
type format struct {
	width, height int
	fourcc        uint32
	field         uint32
	colour        colourNumbers
	planes        []planeSize // of memory; one in the single-planar API
}

type planeSize struct {
	bytes, stride int
}

// getFormat asks what the device is set to.
func (d *device) getFormat() (format, error) {
	if d.multi {
		f := formatMulti{typ: typeCaptureMplane}
		if err := d.ioctl(vidiocGFmt, unsafe.Pointer(&f)); err != nil {
			return format{}, fmt.Errorf("read the format of %s: %w", d.path, err)
		}
		return f.pix.normal()
	}
	f := formatSingle{typ: typeCapture}
	f.pix.priv = pixFormatPrivMagic
	if err := d.ioctl(vidiocGFmt, unsafe.Pointer(&f)); err != nil {
		return format{}, fmt.Errorf("read the format of %s: %w", d.path, err)
	}
	return f.pix.normal()
}

// setFormat sets the device to a size and pixel format and returns what it made of that.
func (d *device) setFormat(fourcc uint32, width, height int) (format, error) {
	var err error
	if d.multi {
		f := formatMulti{typ: typeCaptureMplane}
		f.pix = pixFormatMplane{width: uint32(width), height: uint32(height), pixelformat: fourcc, field: fieldNone}
		err = d.ioctl(vidiocSFmt, unsafe.Pointer(&f))
	} else {
		f := formatSingle{typ: typeCapture}
		f.pix = pixFormat{width: uint32(width), height: uint32(height), pixelformat: fourcc, field: fieldNone,
			priv: pixFormatPrivMagic}
		err = d.ioctl(vidiocSFmt, unsafe.Pointer(&f))
	}
	if err != nil {
		return format{}, d.explain(fmt.Sprintf("set %s to %dx%d %s", d.path, width, height, frame.PixelFormat(fourcc)),
			err)
	}
	// What the driver returned may differ from what it is set to; only G_FMT counts.
	return d.getFormat()
}

// explain adds to an error of a request what it means for the user.
func (d *device) explain(what string, err error) error {
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s: %w%s", what, ErrBusy, heldBy(d.path))
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (p *pixFormat) normal() (format, error) {
	f := format{
		width: int(p.width), height: int(p.height), fourcc: p.pixelformat, field: p.field,
		colour: colourNumbers{space: p.colorspace},
		planes: []planeSize{{bytes: int(p.sizeimage), stride: int(p.bytesperline)}},
	}
	if p.priv == pixFormatPrivMagic { // else the fields behind it mean nothing
		f.colour.encoding, f.colour.quantization, f.colour.transfer = p.ycbcrEnc, p.quantization, p.xferFunc
	}
	return f, f.bounded()
}

func (p *pixFormatMplane) normal() (format, error) {
	f := format{
		width: int(p.width), height: int(p.height), fourcc: p.pixelformat, field: p.field,
		colour: colourNumbers{p.colorspace, uint32(p.ycbcrEnc), uint32(p.quantization), uint32(p.xferFunc)},
	}
	if p.numPlanes < 1 || p.numPlanes > maxPlanes {
		return format{}, fmt.Errorf("the driver reports a format of %d planes", p.numPlanes)
	}
	for _, pl := range p.planeFmt[:p.numPlanes] {
		f.planes = append(f.planes, planeSize{bytes: int(pl.sizeimage), stride: int(pl.bytesperline)})
	}
	return f, f.bounded()
}

// bounded refuses what no driver means.
func (f format) bounded() error {
	if f.width < 1 || f.height < 1 || f.width > frame.MaxSide || f.height > frame.MaxSide {
		return fmt.Errorf("the driver reports pictures of %dx%d", f.width, f.height)
	}
	for _, p := range f.planes {
		if p.bytes < 1 || p.bytes > frame.MaxBytes || p.stride < 0 || p.stride > frame.MaxBytes {
			return fmt.Errorf("the driver reports a picture of %d bytes with a stride of %d", p.bytes, p.stride)
		}
	}
	return nil
}

// formatDesc is one pixel format that a device has.
type formatDesc struct {
	fourcc uint32
	flags  uint32
	about  string
}

// Flags of struct v4l2_fmtdesc: videodev2.h, V4L2_FMT_FLAG_*.
const (
	fmtFlagCompressed = 1
	fmtFlagEmulated   = 2
)

// enumFormats lists the pixel formats in the driver's order.
func (d *device) enumFormats() ([]formatDesc, error) {
	var all []formatDesc
	for i := range uint32(maxEnum) {
		f := fmtdesc{index: i, typ: d.bufType()}
		if err := d.ioctl(vidiocEnumFmt, unsafe.Pointer(&f)); errors.Is(err, unix.EINVAL) {
			break
		} else if err != nil {
			return all, fmt.Errorf("list the formats of %s: %w", d.path, err)
		}
		all = append(all, formatDesc{f.pixelformat, f.flags, text(f.description[:])})
	}
	return all, nil
}

// getPeriod returns the frame period of a device without DV timings, or 0/0 if the device does not
// report one.
func (d *device) getPeriod() capture.Rational {
	p := streamparm{typ: d.bufType()}
	if d.ioctl(vidiocGParm, unsafe.Pointer(&p)) != nil || p.capability&capTimePerFrame == 0 {
		return capture.Rational{}
	}
	return p.timeperframe.rational()
}

// setPeriod asks for a time from frame to frame and returns what the driver made of it.
func (d *device) setPeriod(want capture.Rational) (capture.Rational, error) {
	p := streamparm{typ: d.bufType(), timeperframe: fract{uint32(want.Num), uint32(want.Den)}}
	if err := d.ioctl(vidiocSParm, unsafe.Pointer(&p)); err != nil {
		return capture.Rational{}, d.explain("set the frame rate of "+d.path, err)
	}
	return p.timeperframe.rational(), nil
}

func (f fract) rational() capture.Rational {
	if f.numerator == 0 || f.denominator == 0 {
		return capture.Rational{}
	}
	return simplify(uint64(f.numerator), uint64(f.denominator))
}

// getControl returns a control's value, or false where there is none of that number.
func (d *device) getControl(id uint32) (int32, bool) {
	c := control{id: id}
	err := d.ioctl(vidiocGCtrl, unsafe.Pointer(&c))
	return c.value, err == nil
}

// subscribe asks for an event.
func (d *device) subscribe(typ, id uint32) error {
	s := eventSubscription{typ: typ, id: id}
	return d.ioctl(vidiocSubscribe, unsafe.Pointer(&s))
}
