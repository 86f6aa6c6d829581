package frame

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// sample is one byte of a frame that a pixel is made of, or one 16-bit word of it.
type sample struct {
	what   byte // 'R' 'G' 'B' 'A', 'Y' 'U' 'V'; 'X' is never seen
	offset int
	wide   bool // 10 bits: "Data in the 10 high bits, zeros in the 6 low bits, arranged in little endian order"
}

// value reads the sample from a frame.
func (s sample) value(pix []byte) int {
	if s.wide {
		return int(binary.LittleEndian.Uint16(pix[s.offset:]) >> 6)
	}
	return int(pix[s.offset])
}

// seenBits returns the bits that are seen of each byte of the sample, from offset on.
func (s sample) seenBits() []byte {
	switch {
	case s.what == 'X':
		return []byte{0}
	case s.wide:
		return []byte{0xc0, 0xff}
	}
	return []byte{0xff}
}

// literalPixel returns the bytes of pixel (x, y). They follow the V4L2 documentation of each
// format, not the package's own tables.
func literalPixel(f Format, x, y int) []sample {
	w, h, s := f.Width, f.Height, f.Stride
	pick := func(order string) (all []sample) {
		for i := range len(order) {
			all = append(all, sample{what: order[i], offset: y*s + x*len(order) + i})
		}
		return all
	}
	yuv := func(luma, cb, cr int) []sample {
		return []sample{{what: 'Y', offset: luma}, {what: 'U', offset: cb}, {what: 'V', offset: cr}}
	}
	words := func(luma, cb, cr int) []sample {
		return []sample{{'Y', luma, true}, {'U', cb, true}, {'V', cr, true}}
	}
	switch f.Pixel {
	case BGR4, XR24:
		return pick("BGRX")
	case AR24:
		return pick("BGRA")
	case RGB4, BX24:
		return pick("XRGB")
	case BA24:
		return pick("ARGB")
	case RX24:
		return pick("XBGR")
	case RA24:
		return pick("ABGR")
	case XB24:
		return pick("RGBX")
	case AB24:
		return pick("RGBA")
	case BGR3:
		return pick("BGR")
	case RGB3:
		return pick("RGB")
	case YUYV:
		return yuv(y*s+2*x, y*s+x/2*4+1, y*s+x/2*4+3)
	case UYVY:
		return yuv(y*s+2*x+1, y*s+x/2*4, y*s+x/2*4+2)
	case YVYU:
		return yuv(y*s+2*x, y*s+x/2*4+3, y*s+x/2*4+1)
	case VYUY:
		return yuv(y*s+2*x+1, y*s+x/2*4+2, y*s+x/2*4)
	case Y210:
		return words(y*s+4*x, y*s+x/2*8+2, y*s+x/2*8+6)
	case NV12:
		c := h*s + y/2*s + x/2*2
		return yuv(y*s+x, c, c+1)
	case NV16:
		c := h*s + y*s + x/2*2
		return yuv(y*s+x, c, c+1)
	case NV24: // "If the Y plane has pad bytes after each row, then the CbCr plane has twice as many"
		c := h*s + y*2*s + x*2
		return yuv(y*s+x, c, c+1)
	case P010:
		c := h*s + y/2*s + x/2*4
		return words(y*s+2*x, c, c+2)
	case YU12:
		cs, ch := (s+1)/2, (h+1)/2
		c := h*s + y/2*cs + x/2
		return yuv(y*s+x, c, c+cs*ch)
	case P422:
		cs := (s + 1) / 2
		c := h*s + y*cs + x/2
		return yuv(y*s+x, c, c+cs*h)
	case P444:
		return yuv(y*s+x, h*s+y*s+x, 2*h*s+y*s+x)
	case GREY:
		return []sample{{what: 'Y', offset: y*s + x}}
	}
	panic(fmt.Sprint("no literal layout of ", f.Pixel, w))
}

// literalSize is the length of a frame, as documented.
func literalSize(f Format) int {
	first := f.Stride * f.Height
	switch f.Pixel {
	case NV12, P010:
		return first * 3 / 2
	case NV16:
		return first * 2
	case YU12:
		return first + 2*((f.Stride+1)/2)*((f.Height+1)/2)
	case P422:
		return first + 2*((f.Stride+1)/2)*f.Height
	case P444, NV24:
		return first * 3
	}
	return first
}

// literalSeen returns the bits of each byte of a frame that any pixel shows.
func literalSeen(f Format) []byte {
	seen := make([]byte, literalSize(f))
	for y := range f.Height {
		for x := range f.Width {
			for _, s := range literalPixel(f, x, y) {
				for i, bits := range s.seenBits() {
					seen[s.offset+i] |= bits
				}
			}
		}
	}
	return seen
}

// eachFormat runs a test on every pixel format with sizes and strides that are odd wherever the
// format allows.
func eachFormat(t *testing.T, test func(t *testing.T, l *Layout)) {
	for _, p := range PixelFormats() {
		for _, size := range [][2]int{{1, 1}, {2, 2}, {3, 5}, {6, 4}, {17, 3}, {14, 8}} {
			f, err := NewFormat(p, size[0], size[1])
			if err != nil {
				continue
			}
			for _, padding := range []int{0, 1, 7, 16} {
				f := f
				f.Stride += padding
				l, err := NewLayout(f)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(f.String(), func(t *testing.T) { test(t, l) })
			}
		}
	}
}

// random returns reproducible bytes.
func random(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}
