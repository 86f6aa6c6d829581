package v4l2

import (
	"fmt"

	"github.com/eideticker/eideticker/capture/frame"
)

// Colour is what a driver says of the meaning of its samples, in V4L2's words; empty where it says
// nothing. Defaults are resolved as videodev2.h does in V4L2_MAP_*_DEFAULT.
type Colour struct {
	Space    string `json:"space"`    // for example "rec709", "srgb" or "bt2020"
	Encoding string `json:"encoding"` // for example "601", "709" or "bt2020"; "" for RGB
	Range    string `json:"range"`    // "full", "limited"
	Transfer string `json:"transfer"` // for example "srgb", "709" or "smpte2084" (HDR10)
	HDR      bool   `json:"hdr"`      // the transfer function is that of a signal of high dynamic range
}

// Numbers of videodev2.h: enum v4l2_colorspace, v4l2_ycbcr_encoding, v4l2_quantization and
// v4l2_xfer_func.
const (
	spaceSMPTE240M = 2
	spaceRec709    = 3
	spaceJPEG      = 7
	spaceSRGB      = 8
	spaceOPRGB     = 9
	spaceBT2020    = 10
	spaceRaw       = 11
	spaceDCIP3     = 12

	encoding601       = 1
	encoding709       = 2
	encodingXV601     = 3
	encodingXV709     = 4
	encodingSYCC      = 5
	encodingBT2020    = 6
	encodingSMPTE240M = 8

	quantizationFull    = 1
	quantizationLimited = 2

	transfer709       = 1
	transferSRGB      = 2
	transferOPRGB     = 3
	transferSMPTE240M = 4
	transferNone      = 5
	transferDCIP3     = 6
	transferSMPTE2084 = 7
)

// These tables are never written to.
var (
	spaceNames = [...]string{"", "smpte170m", "smpte240m", "rec709", "bt878", "470m", "470bg", "jpeg", "srgb",
		"oprgb", "bt2020", "raw", "dci-p3"}
	encodingNames = [...]string{"", "601", "709", "xv601", "xv709", "sycc", "bt2020", "bt2020-const-lum", "smpte240m"}
	rangeNames    = [...]string{"", "full", "limited"}
	transferNames = [...]string{"", "709", "srgb", "oprgb", "smpte240m", "none", "dci-p3", "smpte2084"}
)

func nameIn(names []string, n uint32) string {
	if int(n) < len(names) {
		return names[n]
	}
	return fmt.Sprintf("unknown (%d)", n)
}

// colourNumbers are the fields of struct v4l2_pix_format that speak of colour.
type colourNumbers struct {
	space, encoding, quantization, transfer uint32
}

// resolve fills in what the driver leaves to the defaults.
func (c colourNumbers) resolve(rgb bool) colourNumbers {
	if c.encoding == 0 {
		switch c.space {
		case spaceRec709, spaceDCIP3:
			c.encoding = encoding709
		case spaceBT2020:
			c.encoding = encodingBT2020
		case spaceSMPTE240M:
			c.encoding = encodingSMPTE240M
		default:
			c.encoding = encoding601
		}
	}
	if c.quantization == 0 {
		c.quantization = quantizationLimited
		if rgb || c.space == spaceJPEG {
			c.quantization = quantizationFull
		}
	}
	if c.transfer == 0 {
		switch c.space {
		case spaceOPRGB:
			c.transfer = transferOPRGB
		case spaceSMPTE240M:
			c.transfer = transferSMPTE240M
		case spaceDCIP3:
			c.transfer = transferDCIP3
		case spaceRaw:
			c.transfer = transferNone
		case spaceSRGB, spaceJPEG:
			c.transfer = transferSRGB
		default:
			c.transfer = transfer709
		}
	}
	return c
}

// describe names the numbers.
func (c colourNumbers) describe(rgb bool) Colour {
	c = c.resolve(rgb)
	named := Colour{
		Space:    nameIn(spaceNames[:], c.space),
		Encoding: nameIn(encodingNames[:], c.encoding),
		Range:    nameIn(rangeNames[:], c.quantization),
		Transfer: nameIn(transferNames[:], c.transfer),
		HDR:      c.transfer == transferSMPTE2084,
	}
	if rgb {
		named.Encoding = ""
	}
	return named
}

// apply puts range and matrix into a format, or says that the frame model has no name for the
// matrix.
func (c colourNumbers) apply(f *frame.Format) error {
	rgb := f.Pixel.IsRGB()
	c = c.resolve(rgb)
	switch c.quantization {
	case quantizationFull:
		f.Range = frame.FullRange
	case quantizationLimited:
		f.Range = frame.LimitedRange
	default:
		return fmt.Errorf("%w: the driver reports an unknown range (quantization %d)", errUnsupported, c.quantization)
	}
	if rgb {
		f.Matrix = frame.NoMatrix
		return nil
	}
	switch c.encoding {
	case encoding601, encodingXV601, encodingSYCC:
		f.Matrix = frame.BT601
	case encoding709, encodingXV709:
		f.Matrix = frame.BT709
	case encodingBT2020:
		f.Matrix = frame.BT2020
	default:
		return fmt.Errorf("%w: unknown colour coding %s; set the device to BT.601, BT.709, BT.2020 or RGB",
			errUnsupported, nameIn(encodingNames[:], c.encoding))
	}
	return nil
}
