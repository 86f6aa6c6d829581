//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// abiStruct is a structure of ours and of the kernel's.
type abiStruct struct {
	c      string
	ours   any
	size   uintptr
	fields map[string]string // of ours: name of the kernel's
}

// abiStructs has sizes and fields as the kernel's headers give them on 64-bit systems;
// TestABIAgainstHeaders holds them against the headers of the machine.
func abiStructs() []abiStruct {
	return []abiStruct{
		{"struct v4l2_capability", capability{}, 104, map[string]string{"driver": "driver", "card": "card",
			"busInfo": "bus_info", "capabilities": "capabilities", "deviceCaps": "device_caps"}},
		{"struct v4l2_fmtdesc", fmtdesc{}, 64, map[string]string{"index": "index", "typ": "type", "flags": "flags",
			"description": "description", "pixelformat": "pixelformat"}},
		{"struct v4l2_frmsizeenum", frmsizeenum{}, 44,
			map[string]string{"index": "index", "pixelFormat": "pixel_format", "typ": "type", "union": "discrete"}},
		{"struct v4l2_frmivalenum", frmivalenum{}, 52,
			map[string]string{"pixelFormat": "pixel_format", "width": "width", "height": "height", "typ": "type",
				"union": "discrete"}},
		{"struct v4l2_pix_format", pixFormat{}, 48, map[string]string{"width": "width", "pixelformat": "pixelformat",
			"field": "field", "bytesperline": "bytesperline", "sizeimage": "sizeimage", "colorspace": "colorspace",
			"priv": "priv", "ycbcrEnc": "ycbcr_enc", "quantization": "quantization", "xferFunc": "xfer_func"}},
		{"struct v4l2_plane_pix_format", planePixFormat{}, 20,
			map[string]string{"sizeimage": "sizeimage", "bytesperline": "bytesperline"}},
		{"struct v4l2_pix_format_mplane", pixFormatMplane{}, 192,
			map[string]string{"width": "width", "pixelformat": "pixelformat", "field": "field",
				"colorspace": "colorspace", "planeFmt": "plane_fmt", "numPlanes": "num_planes", "ycbcrEnc": "ycbcr_enc",
				"quantization": "quantization", "xferFunc": "xfer_func"}},
		{"struct v4l2_format", formatSingle{}, 208, map[string]string{"typ": "type", "pix": "fmt.pix"}},
		{"struct v4l2_format", formatMulti{}, 208, map[string]string{"typ": "type", "pix": "fmt.pix_mp"}},
		{"struct v4l2_streamparm", streamparm{}, 204,
			map[string]string{"typ": "type", "capability": "parm.capture.capability",
				"timeperframe": "parm.capture.timeperframe"}},
		{"struct v4l2_requestbuffers", requestbuffers{}, 20, map[string]string{"count": "count", "typ": "type",
			"memory": "memory", "capabilities": "capabilities"}},
		{"struct v4l2_buffer", buffer{}, 88, map[string]string{"index": "index", "typ": "type",
			"bytesused": "bytesused", "flags": "flags", "field": "field", "sec": "timestamp.tv_sec",
			"usec": "timestamp.tv_usec", "timecode": "timecode", "sequence": "sequence", "memory": "memory", "m": "m",
			"length": "length"}},
		{"struct v4l2_plane", plane{}, 64, map[string]string{"bytesused": "bytesused", "length": "length", "m": "m",
			"dataOffset": "data_offset"}},
		{"struct v4l2_exportbuffer", exportbuffer{}, 64, map[string]string{"typ": "type", "index": "index",
			"plane": "plane", "flags": "flags", "fd": "fd"}},
		{"struct v4l2_input", input{}, 80, map[string]string{"index": "index", "name": "name", "typ": "type",
			"status": "status", "capabilities": "capabilities"}},
		{"struct v4l2_control", control{}, 8, map[string]string{"id": "id", "value": "value"}},
		{"struct v4l2_queryctrl", queryctrl{}, 68, map[string]string{"id": "id", "typ": "type", "name": "name",
			"minimum": "minimum", "maximum": "maximum", "flags": "flags"}},
		{"struct v4l2_querymenu", querymenu{}, 44, map[string]string{"id": "id", "index": "index", "name": "name"}},
		{"struct v4l2_dv_timings", dvTimings{}, 132, map[string]string{"typ": "type", "bt": "bt"}},
		{"struct v4l2_bt_timings", btTimings{}, 0, map[string]string{"width": "width", "height": "height",
			"interlaced": "interlaced", "pixelclock": "pixelclock", "hfrontporch": "hfrontporch",
			"vbackporch": "vbackporch", "ilVbackporch": "il_vbackporch", "standards": "standards", "flags": "flags",
			"cea861VIC": "cea861_vic"}},
		{"struct v4l2_enum_dv_timings", enumDVTimings{}, 148,
			map[string]string{"index": "index", "pad": "pad", "timings": "timings"}},
		{"struct v4l2_dv_timings_cap", dvTimingsCap{}, 144, map[string]string{"typ": "type", "minWidth": "bt.min_width",
			"maxHeight": "bt.max_height", "minPixelclock": "bt.min_pixelclock", "maxPixelclock": "bt.max_pixelclock",
			"standards": "bt.standards", "capabilities": "bt.capabilities"}},
		{"struct v4l2_edid", edidRequest{}, 40, map[string]string{"pad": "pad", "startBlock": "start_block",
			"blocks": "blocks", "edid": "edid"}},
		{"struct v4l2_event_subscription", eventSubscription{}, 32,
			map[string]string{"typ": "type", "id": "id", "flags": "flags"}},
		{"struct v4l2_event", event{}, 136, map[string]string{"typ": "type", "changes": "u.src_change.changes",
			"pending": "pending", "sequence": "sequence", "sec": "timestamp.tv_sec", "nsec": "timestamp.tv_nsec",
			"id": "id"}},
		{"struct dma_buf_sync", dmabufSync{}, 8, map[string]string{"flags": "flags"}},
	}
}

// abiNumbers are requests and constants of ours by the kernel's names.
func abiNumbers() map[string]uint64 {
	return map[string]uint64{
		"VIDIOC_QUERYCAP": uint64(vidiocQueryCap), "VIDIOC_ENUM_FMT": uint64(vidiocEnumFmt),
		"VIDIOC_G_FMT": uint64(vidiocGFmt), "VIDIOC_S_FMT": uint64(vidiocSFmt),
		"VIDIOC_REQBUFS": uint64(vidiocReqbufs), "VIDIOC_QUERYBUF": uint64(vidiocQuerybuf),
		"VIDIOC_QBUF": uint64(vidiocQbuf), "VIDIOC_EXPBUF": uint64(vidiocExpbuf),
		"VIDIOC_DQBUF": uint64(vidiocDqbuf), "VIDIOC_STREAMON": uint64(vidiocStreamOn),
		"VIDIOC_STREAMOFF": uint64(vidiocStreamOff), "VIDIOC_G_PARM": uint64(vidiocGParm),
		"VIDIOC_S_PARM": uint64(vidiocSParm), "VIDIOC_ENUMINPUT": uint64(vidiocEnumInput),
		"VIDIOC_G_CTRL": uint64(vidiocGCtrl), "VIDIOC_S_CTRL": uint64(vidiocSCtrl),
		"VIDIOC_QUERYCTRL": uint64(vidiocQueryctrl), "VIDIOC_QUERYMENU": uint64(vidiocQuerymenu),
		"VIDIOC_G_INPUT": uint64(vidiocGInput), "VIDIOC_S_INPUT": uint64(vidiocSInput),
		"VIDIOC_G_EDID": uint64(vidiocGEdid), "VIDIOC_S_EDID": uint64(vidiocSEdid),
		"VIDIOC_ENUM_FRAMESIZES":     uint64(vidiocEnumFramesizes),
		"VIDIOC_ENUM_FRAMEINTERVALS": uint64(vidiocEnumIntervals), "VIDIOC_S_DV_TIMINGS": uint64(vidiocSDVTimings),
		"VIDIOC_DQEVENT":         uint64(vidiocDQEvent),
		"VIDIOC_SUBSCRIBE_EVENT": uint64(vidiocSubscribe), "VIDIOC_ENUM_DV_TIMINGS": uint64(vidiocEnumDVTimings),
		"VIDIOC_QUERY_DV_TIMINGS": uint64(vidiocQueryDVTimings),
		"VIDIOC_DV_TIMINGS_CAP":   uint64(vidiocDVTimingsCap), "DMA_BUF_IOCTL_SYNC": uint64(dmabufIoctlSync),

		"V4L2_BUF_TYPE_VIDEO_CAPTURE": typeCapture, "V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE": typeCaptureMplane,
		"V4L2_MEMORY_MMAP": memoryMMAP, "V4L2_MEMORY_USERPTR": memoryUserPtr,
		"V4L2_CAP_VIDEO_CAPTURE": capVideoCapture, "V4L2_CAP_VIDEO_CAPTURE_MPLANE": capVideoCaptureMplane,
		"V4L2_CAP_META_CAPTURE": capMetaCapture, "V4L2_CAP_STREAMING": capStreaming,
		"V4L2_CAP_DEVICE_CAPS": capDeviceCaps, "V4L2_FIELD_NONE": fieldNone, "V4L2_BUF_FLAG_ERROR": bufFlagError,
		"V4L2_BUF_FLAG_TIMESTAMP_MASK":      bufFlagTimestampMask,
		"V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC": bufFlagTimestampMonotonic,
		"V4L2_BUF_FLAG_TSTAMP_SRC_MASK":     bufFlagStampSourceMask, "V4L2_BUF_FLAG_TSTAMP_SRC_SOE": bufFlagStampStart,
		"V4L2_IN_ST_NO_POWER": inputNoPower, "V4L2_IN_ST_NO_SIGNAL": inputNoSignal, "V4L2_IN_ST_NO_SYNC": inputNoSync,
		"V4L2_IN_ST_NO_ACCESS": inputNoAccess, "V4L2_IN_CAP_DV_TIMINGS": inputCapTimings,
		"V4L2_DV_FL_REDUCED_FPS": timingsReducedFPS, "V4L2_DV_FL_CAN_DETECT_REDUCED_FPS": timingsDetectsReducedFPS,
		"V4L2_DV_FL_HAS_CEA861_VIC": timingsHasVIC, "V4L2_EVENT_EOS": eventEOS, "V4L2_EVENT_CTRL": eventCtrl,
		"V4L2_EVENT_SOURCE_CHANGE":     eventSourceChange,
		"V4L2_CID_DV_RX_POWER_PRESENT": cidPowerPresent, "V4L2_CTRL_FLAG_NEXT_CTRL": ctrlFlagNext,
		"V4L2_CTRL_TYPE_BITMASK": ctrlTypeBitmask, "V4L2_CTRL_TYPE_BUTTON": ctrlTypeButton,
		"V4L2_PIX_FMT_PRIV_MAGIC": pixFormatPrivMagic, "VIDEO_MAX_PLANES": maxPlanes, "VIDEO_MAX_FRAME": maxBuffers,
		"V4L2_CAP_TIMEPERFRAME": capTimePerFrame, "V4L2_FRMSIZE_TYPE_DISCRETE": enumDiscrete,
		"V4L2_FMT_FLAG_COMPRESSED": fmtFlagCompressed, "V4L2_FMT_FLAG_EMULATED": fmtFlagEmulated,
		"V4L2_COLORSPACE_BT2020": spaceBT2020, "V4L2_YCBCR_ENC_BT2020": encodingBT2020,
		"V4L2_QUANTIZATION_LIM_RANGE": quantizationLimited, "V4L2_XFER_FUNC_SMPTE2084": transferSMPTE2084,
		"DMA_BUF_SYNC_READ": dmabufSyncRead, "DMA_BUF_SYNC_END": dmabufSyncEnd,
	}
}

func TestABISizes(t *testing.T) {
	for _, s := range abiStructs() {
		if got := reflect.TypeOf(s.ours).Size(); s.size != 0 && got != s.size {
			t.Errorf("%s has %d bytes here, want %d", s.c, got, s.size)
		}
	}
	// The union around struct v4l2_bt_timings is larger than it, by four bytes that ours has at its
	// end.
	if got := unsafe.Sizeof(btTimings{}); got != 128 {
		t.Errorf("timings have %d bytes, want 128", got)
	}
}

// TestABIAgainstHeaders has the C compiler say what the kernel's headers say. The compiler and the
// headers are those that cgo needs, so where the build has cgo they must be there.
func TestABIAgainstHeaders(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("there is no C compiler here: ", err)
	}
	var c strings.Builder
	c.WriteString("#include <stddef.h>\n#include <linux/videodev2.h>\n#include <linux/dma-buf.h>\n" +
		"#define CHECK(what, ours, theirs) _Static_assert((ours) == (theirs), what)\n")
	checks := 0
	check := func(what string, ours any, theirs string) {
		checks++
		fmt.Fprintf(&c, "CHECK(%q, %vULL, (unsigned long long)(%s));\n", what, ours, theirs)
	}
	for _, s := range abiStructs() {
		if s.size != 0 {
			check(s.c, s.size, "sizeof("+s.c+")")
		}
		typ := reflect.TypeOf(s.ours)
		for ours, theirs := range s.fields {
			f, ok := typ.FieldByName(ours)
			if !ok {
				t.Fatalf("%s has no field %s here", s.c, ours)
			}
			check(s.c+"."+theirs, f.Offset, fmt.Sprintf("offsetof(%s, %s)", s.c, theirs))
		}
	}
	for name, value := range abiNumbers() {
		check(name, value, "(unsigned)("+name+")")
	}
	file := filepath.Join(t.TempDir(), "abi.c")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-fsyntax-only", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if checks < 200 {
		t.Errorf("only %d checks", checks)
	}
}
