package frame

import (
	"fmt"
	"slices"
	"strings"
)

// PixelFormat is a V4L2 fourcc (linux/videodev2.h), least significant byte first.
type PixelFormat uint32

func fourcc(s string) PixelFormat {
	return PixelFormat(s[0]) | PixelFormat(s[1])<<8 | PixelFormat(s[2])<<16 | PixelFormat(s[3])<<24
}

// The pixel formats that can be recorded. The comment gives the order of samples in memory, a byte
// each. Those of 10-bit formats are two bytes, low byte first, and hold their value in the ten high
// bits; the six low bits are said to be zero, and no screen shows them.
const (
	BGR4 PixelFormat = 'B' | 'G'<<8 | 'R'<<16 | '4'<<24 // B G R X
	XR24 PixelFormat = 'X' | 'R'<<8 | '2'<<16 | '4'<<24 // B G R X
	AR24 PixelFormat = 'A' | 'R'<<8 | '2'<<16 | '4'<<24 // B G R A
	RGB4 PixelFormat = 'R' | 'G'<<8 | 'B'<<16 | '4'<<24 // X R G B
	BX24 PixelFormat = 'B' | 'X'<<8 | '2'<<16 | '4'<<24 // X R G B
	BA24 PixelFormat = 'B' | 'A'<<8 | '2'<<16 | '4'<<24 // A R G B
	RX24 PixelFormat = 'R' | 'X'<<8 | '2'<<16 | '4'<<24 // X B G R
	RA24 PixelFormat = 'R' | 'A'<<8 | '2'<<16 | '4'<<24 // A B G R
	XB24 PixelFormat = 'X' | 'B'<<8 | '2'<<16 | '4'<<24 // R G B X
	AB24 PixelFormat = 'A' | 'B'<<8 | '2'<<16 | '4'<<24 // R G B A
	BGR3 PixelFormat = 'B' | 'G'<<8 | 'R'<<16 | '3'<<24 // B G R
	RGB3 PixelFormat = 'R' | 'G'<<8 | 'B'<<16 | '3'<<24 // R G B
	YUYV PixelFormat = 'Y' | 'U'<<8 | 'Y'<<16 | 'V'<<24 // Y0 U Y1 V, 4:2:2
	UYVY PixelFormat = 'U' | 'Y'<<8 | 'V'<<16 | 'Y'<<24 // U Y0 V Y1, 4:2:2
	YVYU PixelFormat = 'Y' | 'V'<<8 | 'Y'<<16 | 'U'<<24 // Y0 V Y1 U, 4:2:2
	VYUY PixelFormat = 'V' | 'Y'<<8 | 'U'<<16 | 'Y'<<24 // V Y0 U Y1, 4:2:2
	Y210 PixelFormat = 'Y' | '2'<<8 | '1'<<16 | '0'<<24 // Y0 U Y1 V; 4:2:2, 10 bits, see below
	NV12 PixelFormat = 'N' | 'V'<<8 | '1'<<16 | '2'<<24 // Y plane, then U V pairs, 4:2:0
	NV16 PixelFormat = 'N' | 'V'<<8 | '1'<<16 | '6'<<24 // Y plane, then U V pairs, 4:2:2
	NV24 PixelFormat = 'N' | 'V'<<8 | '2'<<16 | '4'<<24 // Y plane, then U V pairs in rows of twice the stride, 4:4:4
	// Y plane, then U V pairs; 4:2:0, 10 bits, see below
	P010 PixelFormat = 'P' | '0'<<8 | '1'<<16 | '0'<<24
	YU12 PixelFormat = 'Y' | 'U'<<8 | '1'<<16 | '2'<<24 // planes Y, U and V; 4:2:0
	P422 PixelFormat = '4' | '2'<<8 | '2'<<16 | 'P'<<24 // planes Y, U and V; 4:2:2
	// planes Y, U and V; 4:4:4 (contiguous; V4L2 only has it as YM24)
	P444 PixelFormat = '4' | '4'<<8 | '4'<<16 | 'P'<<24
	GREY PixelFormat = 'G' | 'R'<<8 | 'E'<<16 | 'Y'<<24 // Y
)

// family says how the samples of a format are arranged.
type family uint8

const (
	packedRGB  family = iota // 3 or 4 bytes a pixel
	packed422                // 4 samples for two pixels
	semiPlanar               // Y, then interleaved chroma
	planar                   // Y, U, V
	greyOnly                 // Y
)

// layoutOf describes one pixel format; see traits.
type layoutOf struct {
	name       PixelFormat
	family     family
	pixelBytes int  // packedRGB: bytes a pixel
	hidden     int  // byte of a pixel that no screen shows, or -1
	alpha      int  // byte of a pixel that is alpha, or -1
	r, g, b    int  // packedRGB: byte of each channel in a pixel
	y0         int  // packed422: place of the first luma sample
	u0         int  // packed422: place of the Cb sample; Cr is two further or two before
	wide       uint // log2 of a sample's bytes: 1 for 10-bit formats
	subX, subY uint // log2 of chroma subsampling
	minBlockX  int  // widths must be a multiple of this
	minBlockY  int  // heights must be a multiple of this
	about      string
}

// traitTable is never written to.
var traitTable = [...]layoutOf{
	{name: BGR4, pixelBytes: 4, hidden: 3, alpha: -1, b: 0, g: 1, r: 2, minBlockX: 1, minBlockY: 1,
		about: "32-bit B G R X"},
	{name: XR24, pixelBytes: 4, hidden: 3, alpha: -1, b: 0, g: 1, r: 2, minBlockX: 1, minBlockY: 1,
		about: "32-bit B G R X"},
	{name: AR24, pixelBytes: 4, hidden: -1, alpha: 3, b: 0, g: 1, r: 2, minBlockX: 1, minBlockY: 1,
		about: "32-bit B G R A"},
	{name: RGB4, pixelBytes: 4, hidden: 0, alpha: -1, r: 1, g: 2, b: 3, minBlockX: 1, minBlockY: 1,
		about: "32-bit X R G B"},
	{name: BX24, pixelBytes: 4, hidden: 0, alpha: -1, r: 1, g: 2, b: 3, minBlockX: 1, minBlockY: 1,
		about: "32-bit X R G B"},
	{name: BA24, pixelBytes: 4, hidden: -1, alpha: 0, r: 1, g: 2, b: 3, minBlockX: 1, minBlockY: 1,
		about: "32-bit A R G B"},
	{name: RX24, pixelBytes: 4, hidden: 0, alpha: -1, b: 1, g: 2, r: 3, minBlockX: 1, minBlockY: 1,
		about: "32-bit X B G R"},
	{name: RA24, pixelBytes: 4, hidden: -1, alpha: 0, b: 1, g: 2, r: 3, minBlockX: 1, minBlockY: 1,
		about: "32-bit A B G R"},
	{name: XB24, pixelBytes: 4, hidden: 3, alpha: -1, r: 0, g: 1, b: 2, minBlockX: 1, minBlockY: 1,
		about: "32-bit R G B X"},
	{name: AB24, pixelBytes: 4, hidden: -1, alpha: 3, r: 0, g: 1, b: 2, minBlockX: 1, minBlockY: 1,
		about: "32-bit R G B A"},
	{name: BGR3, pixelBytes: 3, hidden: -1, alpha: -1, b: 0, g: 1, r: 2, minBlockX: 1, minBlockY: 1,
		about: "24-bit B G R"},
	{name: RGB3, pixelBytes: 3, hidden: -1, alpha: -1, r: 0, g: 1, b: 2, minBlockX: 1, minBlockY: 1,
		about: "24-bit R G B"},
	{name: YUYV, family: packed422, hidden: -1, alpha: -1, y0: 0, u0: 1, subX: 1, minBlockX: 2, minBlockY: 1,
		about: "4:2:2 packed Y U Y V"},
	{name: UYVY, family: packed422, hidden: -1, alpha: -1, y0: 1, u0: 0, subX: 1, minBlockX: 2, minBlockY: 1,
		about: "4:2:2 packed U Y V Y"},
	{name: YVYU, family: packed422, hidden: -1, alpha: -1, y0: 0, u0: 3, subX: 1, minBlockX: 2, minBlockY: 1,
		about: "4:2:2 packed Y V Y U"},
	{name: VYUY, family: packed422, hidden: -1, alpha: -1, y0: 1, u0: 2, subX: 1, minBlockX: 2, minBlockY: 1,
		about: "4:2:2 packed V Y U Y"},
	{name: Y210, family: packed422, wide: 1, hidden: -1, alpha: -1, y0: 0, u0: 1, subX: 1, minBlockX: 2, minBlockY: 1,
		about: "4:2:2 packed Y U Y V, 10 bits in 16"},
	{name: NV12, family: semiPlanar, hidden: -1, alpha: -1, subX: 1, subY: 1, minBlockX: 2, minBlockY: 2,
		about: "4:2:0, Y plane and UV plane"},
	{name: NV16, family: semiPlanar, hidden: -1, alpha: -1, subX: 1, minBlockX: 2, minBlockY: 1,
		about: "4:2:2, Y plane and UV plane"},
	{name: NV24, family: semiPlanar, hidden: -1, alpha: -1, minBlockX: 1, minBlockY: 1,
		about: "4:4:4, Y plane and UV plane"},
	{name: P010, family: semiPlanar, wide: 1, hidden: -1, alpha: -1, subX: 1, subY: 1, minBlockX: 2, minBlockY: 2,
		about: "4:2:0, Y plane and UV plane, 10 bits in 16"},
	{name: YU12, family: planar, hidden: -1, alpha: -1, subX: 1, subY: 1, minBlockX: 1, minBlockY: 1,
		about: "4:2:0, Y, U and V planes"},
	{name: P422, family: planar, hidden: -1, alpha: -1, subX: 1, minBlockX: 1, minBlockY: 1,
		about: "4:2:2, Y, U and V planes"},
	{name: P444, family: planar, hidden: -1, alpha: -1, minBlockX: 1, minBlockY: 1, about: "4:4:4, Y, U and V planes"},
	{name: GREY, family: greyOnly, hidden: -1, alpha: -1, minBlockX: 1, minBlockY: 1, about: "8-bit luma"},
}

func (p PixelFormat) traits() (*layoutOf, bool) {
	for i := range traitTable {
		if traitTable[i].name == p {
			return &traitTable[i], true
		}
	}
	return &layoutOf{hidden: -1, alpha: -1}, false
}

// PixelFormats lists every pixel format that can be recorded.
func PixelFormats() []PixelFormat {
	var all []PixelFormat
	for _, t := range traitTable {
		all = append(all, t.name)
	}
	return all
}

// ParsePixelFormat returns the format that a fourcc names, in upper or lower case.
func ParsePixelFormat(s string) (PixelFormat, error) {
	// A letter may take fewer bytes in upper case: a dotless i is one of two, its I one.
	if upper := strings.ToUpper(s); len(s) == 4 && len(upper) == 4 {
		if p := fourcc(upper); p.Known() {
			return p, nil
		}
	}
	names := make([]string, 0, len(traitTable))
	for _, p := range PixelFormats() {
		names = append(names, p.String())
	}
	slices.Sort(names)
	return 0, fmt.Errorf("unknown pixel format %q: use one of %s", s, strings.Join(names, " "))
}

// Known reports whether frames of this format can be recorded.
func (p PixelFormat) Known() bool { _, ok := p.traits(); return ok }

// IsRGB reports whether the format's samples are red, green and blue.
func (p PixelFormat) IsRGB() bool { t, ok := p.traits(); return ok && t.family == packedRGB }

// Subsampling returns how many pixels share a colour: "4:4:4", "4:2:2" or "4:2:0". A format without
// colour has "4:0:0".
func (p PixelFormat) Subsampling() string {
	switch t, _ := p.traits(); {
	case t.family == greyOnly:
		return "4:0:0"
	case t.subY > 0:
		return "4:2:0"
	case t.subX > 0:
		return "4:2:2"
	}
	return "4:4:4"
}

// Depth returns the bits of one sample: 8 or 10, and 0 for a format that is not known.
func (p PixelFormat) Depth() int {
	t, ok := p.traits()
	switch {
	case !ok:
		return 0
	case t.wide > 0:
		return 10
	}
	return 8
}

// seen returns the mask of visible bits of eight bytes of a row, as a little-endian number. The
// bytes begin at a multiple of eight.
func (t *layoutOf) seen() uint64 {
	four := ^uint32(0)
	if t.hidden >= 0 {
		four &^= 0xff << (8 * t.hidden)
	}
	if t.wide > 0 {
		four &^= 0x003f003f
	}
	return uint64(four)<<32 | uint64(four)
}

// About describes the format in words.
func (p PixelFormat) About() string { t, _ := p.traits(); return t.about }

// String returns the fourcc, or its hexadecimal value where that is not printable.
func (p PixelFormat) String() string {
	b := []byte{byte(p), byte(p >> 8), byte(p >> 16), byte(p >> 24)}
	for _, c := range b {
		if c < ' ' || c > '~' {
			return fmt.Sprintf("0x%08x", uint32(p))
		}
	}
	return string(b)
}
