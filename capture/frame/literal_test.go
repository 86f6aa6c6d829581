package frame

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// sample is one byte of a frame that a pixel is made of.
type sample struct {
	what   byte // 'R' 'G' 'B' 'A', 'Y' 'U' 'V'; 'X' is never seen
	offset int
}

// literalPixel says which bytes make pixel (x, y), written down from the V4L2 documentation of each format
// and not from the package's own tables.
func literalPixel(f Format, x, y int) []sample {
	w, h, s := f.Width, f.Height, f.Stride
	pick := func(order string) (all []sample) {
		for i := range len(order) {
			all = append(all, sample{order[i], y*s + x*len(order) + i})
		}
		return all
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
	case XB24:
		return pick("RGBX")
	case AB24:
		return pick("RGBA")
	case BGR3:
		return pick("BGR")
	case RGB3:
		return pick("RGB")
	case YUYV:
		return []sample{{'Y', y*s + 2*x}, {'U', y*s + x/2*4 + 1}, {'V', y*s + x/2*4 + 3}}
	case UYVY:
		return []sample{{'Y', y*s + 2*x + 1}, {'U', y*s + x/2*4}, {'V', y*s + x/2*4 + 2}}
	case NV12:
		c := h*s + y/2*s + x/2*2
		return []sample{{'Y', y*s + x}, {'U', c}, {'V', c + 1}}
	case YU12:
		cs, ch := (s+1)/2, (h+1)/2
		c := h*s + y/2*cs + x/2
		return []sample{{'Y', y*s + x}, {'U', c}, {'V', c + cs*ch}}
	case P422:
		cs := (s + 1) / 2
		c := h*s + y*cs + x/2
		return []sample{{'Y', y*s + x}, {'U', c}, {'V', c + cs*h}}
	case P444:
		return []sample{{'Y', y*s + x}, {'U', h*s + y*s + x}, {'V', 2*h*s + y*s + x}}
	case GREY:
		return []sample{{'Y', y*s + x}}
	}
	panic(fmt.Sprint("no literal layout of ", f.Pixel, w))
}

// literalSize is the length of a frame, as documented.
func literalSize(f Format) int {
	first := f.Stride * f.Height
	switch f.Pixel {
	case NV12:
		return first * 3 / 2
	case YU12:
		return first + 2*((f.Stride+1)/2)*((f.Height+1)/2)
	case P422:
		return first + 2*((f.Stride+1)/2)*f.Height
	case P444:
		return first * 3
	}
	return first
}

// literalSeen says of each byte of a frame whether any pixel shows it.
func literalSeen(f Format) []bool {
	seen := make([]bool, literalSize(f))
	for y := range f.Height {
		for x := range f.Width {
			for _, s := range literalPixel(f, x, y) {
				if s.what != 'X' {
					seen[s.offset] = true
				}
			}
		}
	}
	return seen
}

// eachFormat runs a test on every pixel format with sizes and strides that are odd wherever the format allows.
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
