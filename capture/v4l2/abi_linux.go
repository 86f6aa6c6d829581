//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"unsafe"

	"github.com/blackjack/webcam/ioctl"
)

// The kernel's interface, as far as it is used here. Everything in this file is taken from the
// headers that each piece names, all below include/uapi/linux; abi_linux_test.go holds sizes,
// offsets and numbers against the header files of the machine. Layouts are those of 64-bit systems.
// Bytes are in the order of the machine, which on those that this file is built for is
// little-endian.

// Buffer types and memories: videodev2.h, enum v4l2_buf_type, enum v4l2_memory.
const (
	typeCapture       = 1 // V4L2_BUF_TYPE_VIDEO_CAPTURE
	typeCaptureMplane = 9 // V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE

	memoryMMAP    = 1 // V4L2_MEMORY_MMAP
	memoryUserPtr = 2 // V4L2_MEMORY_USERPTR
)

// Capabilities of a node: videodev2.h, V4L2_CAP_*.
const (
	capVideoCapture       = 0x00000001
	capVideoOutput        = 0x00000002
	capVBICapture         = 0x00000010
	capVBIOutput          = 0x00000020
	capSlicedVBICapture   = 0x00000040
	capSlicedVBIOutput    = 0x00000080
	capVideoCaptureMplane = 0x00001000
	capVideoOutputMplane  = 0x00002000
	capVideoM2MMplane     = 0x00004000
	capVideoM2M           = 0x00008000
	capRadio              = 0x00040000
	capSDRCapture         = 0x00100000
	capMetaCapture        = 0x00800000
	capStreaming          = 0x04000000
	capMetaOutput         = 0x08000000
	capTouch              = 0x10000000
	capDeviceCaps         = 0x80000000
)

// Fields: videodev2.h, enum v4l2_field.
const (
	fieldAny  = 0
	fieldNone = 1
)

// Flags of a buffer: videodev2.h, V4L2_BUF_FLAG_*.
const (
	bufFlagError              = 0x00000040
	bufFlagTimestampMask      = 0x0000e000
	bufFlagTimestampMonotonic = 0x00002000
	bufFlagStampSourceMask    = 0x00070000
	bufFlagStampStart         = 0x00010000 // V4L2_BUF_FLAG_TSTAMP_SRC_SOE
)

// Inputs (videodev2.h): V4L2_IN_ST_*, V4L2_IN_CAP_* and V4L2_INPUT_TYPE_*.
const (
	inputNoPower    = 0x00000001
	inputNoSignal   = 0x00000002
	inputNoColour   = 0x00000004
	inputHFlip      = 0x00000010
	inputVFlip      = 0x00000020
	inputNoHLock    = 0x00000100
	inputColourKill = 0x00000200
	inputNoVLock    = 0x00000400
	inputNoStdLock  = 0x00000800
	inputNoSync     = 0x00010000
	inputNoEqu      = 0x00020000
	inputNoCarrier  = 0x00040000
	inputMacrovis   = 0x01000000
	inputNoAccess   = 0x02000000
	inputVTR        = 0x04000000

	inputCapTimings = 0x00000002

	inputTypeTuner  = 1
	inputTypeCamera = 2
	inputTypeTouch  = 3
)

// DV timings: videodev2.h, V4L2_DV_*.
const (
	timingsBT656 = 0 // V4L2_DV_BT_656_1120

	timingsCanReduceFPS       = 1 << 1
	timingsReducedFPS         = 1 << 2
	timingsDetectsReducedFPS  = 1 << 9
	timingsHasVIC             = 1 << 7
	timingsCanDetectReduced   = 1 << 9
	timingsCapInterlaced      = 1 << 0
	timingsCapProgressive     = 1 << 1
	timingsCapReducedBlanking = 1 << 2
	timingsCapCustom          = 1 << 3
)

// Events: videodev2.h, V4L2_EVENT_*.
const (
	eventEOS          = 2
	eventCtrl         = 3
	eventSourceChange = 5
)

// Controls: v4l2-controls.h (V4L2_CID_DV_CLASS_BASE is V4L2_CTRL_CLASS_DV | 0x900) and videodev2.h
// (V4L2_CTRL_FLAG_*, enum v4l2_ctrl_type).
const (
	cidPowerPresent = 0x00a00900 + 100 // V4L2_CID_DV_RX_POWER_PRESENT
	cidRGBRange     = 0x00a00900 + 101 // V4L2_CID_DV_RX_RGB_RANGE
	cidContentType  = 0x00a00900 + 102 // V4L2_CID_DV_RX_IT_CONTENT_TYPE

	ctrlFlagDisabled     = 0x0001
	ctrlFlagReadOnly     = 0x0004
	ctrlFlagNext         = 0x80000000
	ctrlFlagNextCompound = 0x40000000

	ctrlTypeInteger     = 1
	ctrlTypeBoolean     = 2
	ctrlTypeMenu        = 3
	ctrlTypeButton      = 4
	ctrlTypeInteger64   = 5
	ctrlTypeClass       = 6
	ctrlTypeString      = 7
	ctrlTypeBitmask     = 8
	ctrlTypeIntegerMenu = 9
)

// Sizes and intervals: videodev2.h, enum v4l2_frmsizetypes, enum v4l2_frmivaltypes; streamparm's
// V4L2_CAP_TIMEPERFRAME.
const (
	enumDiscrete    = 1
	capTimePerFrame = 0x1000
)

// struct v4l2_capability, videodev2.h.
type capability struct {
	driver       [16]byte
	card         [32]byte
	busInfo      [32]byte
	version      uint32
	capabilities uint32
	deviceCaps   uint32
	reserved     [3]uint32
}

// struct v4l2_fmtdesc, videodev2.h.
type fmtdesc struct {
	index       uint32
	typ         uint32
	flags       uint32
	description [32]byte
	pixelformat uint32
	mbusCode    uint32
	reserved    [3]uint32
}

// struct v4l2_fract, videodev2.h.
type fract struct {
	numerator, denominator uint32
}

// struct v4l2_frmsizeenum, videodev2.h. Its union has struct v4l2_frmsize_discrete (width and
// height). It also has struct v4l2_frmsize_stepwise (min, max and step of the width, then of the
// height).
type frmsizeenum struct {
	index       uint32
	pixelFormat uint32
	typ         uint32
	union       [6]uint32
	reserved    [2]uint32
}

// struct v4l2_frmivalenum, videodev2.h. The union is of struct v4l2_fract and struct
// v4l2_frmival_stepwise (min, max, step).
type frmivalenum struct {
	index       uint32
	pixelFormat uint32
	width       uint32
	height      uint32
	typ         uint32
	union       [3]fract
	reserved    [2]uint32
}

// struct v4l2_pix_format, videodev2.h.
type pixFormat struct {
	width        uint32
	height       uint32
	pixelformat  uint32
	field        uint32
	bytesperline uint32
	sizeimage    uint32
	colorspace   uint32
	priv         uint32
	flags        uint32
	ycbcrEnc     uint32
	quantization uint32
	xferFunc     uint32
}

// pixFormatPrivMagic says that the fields behind priv are meant: videodev2.h,
// V4L2_PIX_FMT_PRIV_MAGIC.
const pixFormatPrivMagic = 0xfeedcafe

// struct v4l2_plane_pix_format, videodev2.h.
type planePixFormat struct {
	sizeimage    uint32
	bytesperline uint32
	reserved     [6]uint16
}

// maxPlanes is VIDEO_MAX_PLANES of videodev2.h.
const maxPlanes = 8

// struct v4l2_pix_format_mplane, videodev2.h (packed, which changes nothing but the end).
type pixFormatMplane struct {
	width        uint32
	height       uint32
	pixelformat  uint32
	field        uint32
	colorspace   uint32
	planeFmt     [maxPlanes]planePixFormat
	numPlanes    uint8
	flags        uint8
	ycbcrEnc     uint8
	quantization uint8
	xferFunc     uint8
	reserved     [7]uint8
}

// struct v4l2_format, videodev2.h, once for each member of its union of 200 bytes that is used
// here.
type formatSingle struct {
	typ uint32
	_   uint32 // the union is aligned to 8 bytes
	pix pixFormat
	_   [200 - unsafe.Sizeof(pixFormat{})]byte
}

type formatMulti struct {
	typ uint32
	_   uint32
	pix pixFormatMplane
	_   [200 - unsafe.Sizeof(pixFormatMplane{})]byte
}

// struct v4l2_captureparm within struct v4l2_streamparm, videodev2.h.
type streamparm struct {
	typ          uint32
	capability   uint32
	capturemode  uint32
	timeperframe fract
	extendedmode uint32
	readbuffers  uint32
	reserved     [4]uint32
	_            [200 - 10*4]byte
}

// struct v4l2_requestbuffers, videodev2.h.
type requestbuffers struct {
	count        uint32
	typ          uint32
	memory       uint32
	capabilities uint32
	flags        uint8
	reserved     [3]uint8
}

// struct v4l2_timecode, videodev2.h.
type timecode struct {
	typ                             uint32
	flags                           uint32
	frames, seconds, minutes, hours uint8
	userbits                        [4]uint8
}

// struct v4l2_buffer, videodev2.h.
type buffer struct {
	index     uint32
	typ       uint32
	bytesused uint32
	flags     uint32
	field     uint32
	_         uint32
	sec, usec int64 // struct timeval
	timecode  timecode
	sequence  uint32
	memory    uint32
	// The union m: an offset for mmap, a user pointer, a pointer to planes or a file descriptor.
	m         uintptr
	length    uint32 // bytes, or how many planes there are
	reserved2 uint32
	requestFD int32
	_         uint32
}

// struct v4l2_plane, videodev2.h.
type plane struct {
	bytesused  uint32
	length     uint32
	m          uintptr // an offset for mmap, a user pointer, or a file descriptor
	dataOffset uint32
	_          [11]uint32
}

// struct v4l2_exportbuffer, videodev2.h.
type exportbuffer struct {
	typ      uint32
	index    uint32
	plane    uint32
	flags    uint32
	fd       int32
	reserved [11]uint32
}

// struct v4l2_input, videodev2.h.
type input struct {
	index        uint32
	name         [32]byte
	typ          uint32
	audioset     uint32
	tuner        uint32
	std          uint64
	status       uint32
	capabilities uint32
	reserved     [3]uint32
	_            uint32
}

// struct v4l2_control, videodev2.h.
type control struct {
	id    uint32
	value int32
}

// struct v4l2_queryctrl, videodev2.h.
type queryctrl struct {
	id           uint32
	typ          uint32
	name         [32]byte
	minimum      int32
	maximum      int32
	step         int32
	defaultValue int32
	flags        uint32
	reserved     [2]uint32
}

// struct v4l2_querymenu, videodev2.h (packed, which changes nothing here).
type querymenu struct {
	id       uint32
	index    uint32
	name     [32]byte // or an integer of 64 bits
	reserved uint32
}

// struct v4l2_bt_timings, videodev2.h, packed: the pixel clock, 64 bits, is not aligned where it is
// used.
type btTimings struct {
	width, height  uint32
	interlaced     uint32
	polarities     uint32
	pixelclock     [2]uint32 // low, high
	hfrontporch    uint32
	hsync          uint32
	hbackporch     uint32
	vfrontporch    uint32
	vsync          uint32
	vbackporch     uint32
	ilVfrontporch  uint32
	ilVsync        uint32
	ilVbackporch   uint32
	standards      uint32
	flags          uint32
	pictureAspect  fract
	cea861VIC      uint8
	hdmiVIC        uint8
	reserved       [46]uint8
	_reservedUnion uint32 // the union around it has 128 bytes
}

// struct v4l2_dv_timings, videodev2.h, packed.
type dvTimings struct {
	typ uint32
	bt  btTimings
}

// struct v4l2_enum_dv_timings, videodev2.h.
type enumDVTimings struct {
	index    uint32
	pad      uint32
	reserved [2]uint32
	timings  dvTimings
}

// struct v4l2_dv_timings_cap, videodev2.h. It has struct v4l2_bt_timings_cap, packed, in its union
// of 128 bytes.
type dvTimingsCap struct {
	typ                          uint32
	pad                          uint32
	reserved                     [2]uint32
	minWidth, maxWidth           uint32
	minHeight, maxHeight         uint32
	minPixelclock, maxPixelclock [2]uint32 // low, high
	standards                    uint32
	capabilities                 uint32
	reservedBT                   [16]uint32
	_                            [128 - 40 - 64]byte
}

// struct v4l2_edid, v4l2-common.h.
type edidRequest struct {
	pad        uint32
	startBlock uint32
	blocks     uint32
	reserved   [5]uint32
	edid       unsafe.Pointer
}

// struct v4l2_event_subscription, videodev2.h.
type eventSubscription struct {
	typ      uint32
	id       uint32
	flags    uint32
	reserved [5]uint32
}

// struct v4l2_event, videodev2.h. Of the union only struct v4l2_event_src_change is read, whose one
// field is first.
type event struct {
	typ       uint32
	_         uint32
	changes   uint32
	_         [64 - 4]byte
	pending   uint32
	sequence  uint32
	sec, nsec int64 // struct timespec
	id        uint32
	reserved  [8]uint32
	_         uint32
}

// struct dma_buf_sync, dma-buf.h.
type dmabufSync struct {
	flags uint64
}

// dma-buf.h, DMA_BUF_SYNC_*.
const (
	dmabufSyncRead  = 1 << 0
	dmabufSyncStart = 0 << 2
	dmabufSyncEnd   = 1 << 2
)

// Numbers of requests: videodev2.h, VIDIOC_*. They are functions of sizes, and so no constants of
// Go.
func vidioc(direction func(t, nr, size uintptr) uintptr, nr, size uintptr) uintptr {
	return direction('V', nr, size)
}

var (
	vidiocQueryCap       = vidioc(ioctl.IoR, 0, unsafe.Sizeof(capability{}))
	vidiocEnumFmt        = vidioc(ioctl.IoRW, 2, unsafe.Sizeof(fmtdesc{}))
	vidiocGFmt           = vidioc(ioctl.IoRW, 4, unsafe.Sizeof(formatSingle{}))
	vidiocSFmt           = vidioc(ioctl.IoRW, 5, unsafe.Sizeof(formatSingle{}))
	vidiocReqbufs        = vidioc(ioctl.IoRW, 8, unsafe.Sizeof(requestbuffers{}))
	vidiocQuerybuf       = vidioc(ioctl.IoRW, 9, unsafe.Sizeof(buffer{}))
	vidiocQbuf           = vidioc(ioctl.IoRW, 15, unsafe.Sizeof(buffer{}))
	vidiocExpbuf         = vidioc(ioctl.IoRW, 16, unsafe.Sizeof(exportbuffer{}))
	vidiocDqbuf          = vidioc(ioctl.IoRW, 17, unsafe.Sizeof(buffer{}))
	vidiocStreamOn       = vidioc(ioctl.IoW, 18, 4)
	vidiocStreamOff      = vidioc(ioctl.IoW, 19, 4)
	vidiocGParm          = vidioc(ioctl.IoRW, 21, unsafe.Sizeof(streamparm{}))
	vidiocSParm          = vidioc(ioctl.IoRW, 22, unsafe.Sizeof(streamparm{}))
	vidiocEnumInput      = vidioc(ioctl.IoRW, 26, unsafe.Sizeof(input{}))
	vidiocGCtrl          = vidioc(ioctl.IoRW, 27, unsafe.Sizeof(control{}))
	vidiocSCtrl          = vidioc(ioctl.IoRW, 28, unsafe.Sizeof(control{}))
	vidiocQueryctrl      = vidioc(ioctl.IoRW, 36, unsafe.Sizeof(queryctrl{}))
	vidiocQuerymenu      = vidioc(ioctl.IoRW, 37, unsafe.Sizeof(querymenu{}))
	vidiocGInput         = vidioc(ioctl.IoR, 38, 4)
	vidiocSInput         = vidioc(ioctl.IoRW, 39, 4)
	vidiocGEdid          = vidioc(ioctl.IoRW, 40, unsafe.Sizeof(edidRequest{}))
	vidiocSEdid          = vidioc(ioctl.IoRW, 41, unsafe.Sizeof(edidRequest{}))
	vidiocEnumFramesizes = vidioc(ioctl.IoRW, 74, unsafe.Sizeof(frmsizeenum{}))
	vidiocEnumIntervals  = vidioc(ioctl.IoRW, 75, unsafe.Sizeof(frmivalenum{}))
	vidiocSDVTimings     = vidioc(ioctl.IoRW, 87, unsafe.Sizeof(dvTimings{}))
	vidiocDQEvent        = vidioc(ioctl.IoR, 89, unsafe.Sizeof(event{}))
	vidiocSubscribe      = vidioc(ioctl.IoW, 90, unsafe.Sizeof(eventSubscription{}))
	vidiocEnumDVTimings  = vidioc(ioctl.IoRW, 98, unsafe.Sizeof(enumDVTimings{}))
	vidiocQueryDVTimings = vidioc(ioctl.IoR, 99, unsafe.Sizeof(dvTimings{}))
	vidiocDVTimingsCap   = vidioc(ioctl.IoRW, 100, unsafe.Sizeof(dvTimingsCap{}))

	// dma-buf.h, DMA_BUF_IOCTL_SYNC.
	dmabufIoctlSync = ioctl.IoW('b', 0, unsafe.Sizeof(dmabufSync{}))
)
