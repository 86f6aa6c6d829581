package frame

import (
	"errors"
	"fmt"
)

// Range says which sample values stand for black and white.
type Range uint8

const (
	FullRange    Range = iota // 0…255, with 10 bits 0…1023
	LimitedRange              // luma 16…235, chroma 16…240, with 10 bits four times that
)

func (r Range) String() string {
	switch r {
	case FullRange:
		return "full"
	case LimitedRange:
		return "limited"
	}
	return fmt.Sprintf("range(%d)", uint8(r))
}

// Matrix says how Y, Cb and Cr are made of R, G and B. RGB formats have none.
type Matrix uint8

const (
	NoMatrix Matrix = iota
	BT601           // ITU-R BT.601: Kr 0.299, Kb 0.114
	BT709           // ITU-R BT.709: Kr 0.2126, Kb 0.0722
	BT2020          // ITU-R BT.2020: Kr 0.2627, Kb 0.0593
)

func (m Matrix) String() string {
	switch m {
	case NoMatrix:
		return "none"
	case BT601:
		return "bt601"
	case BT709:
		return "bt709"
	case BT2020:
		return "bt2020"
	}
	return fmt.Sprintf("matrix(%d)", uint8(m))
}

// Limits of a frame, far above any signal: they bound what a hostile file can ask for.
const (
	MaxSide  = 1 << 15 // pixels
	MaxBytes = 1 << 30 // bytes of one frame
)

// Format is the shape and meaning of a frame's bytes.
type Format struct {
	Width, Height int // pixels
	Stride        int // bytes from one row of the first plane to the next
	Pixel         PixelFormat
	Range         Range
	Matrix        Matrix
}

// ErrFormat is wrapped by every error about a format that cannot be.
var ErrFormat = errors.New("bad frame format")

// NewFormat returns a format without padding, with the range and matrix that are usual for it:
// full range for RGB, limited for YUV, BT.709 from 720 lines up and BT.601 below.
func NewFormat(p PixelFormat, width, height int) (Format, error) {
	f := Format{Width: width, Height: height, Pixel: p}
	t, ok := p.traits()
	if !ok {
		return Format{}, fmt.Errorf("%w: unknown pixel format %v", ErrFormat, p)
	}
	if t.family != packedRGB {
		f.Range, f.Matrix = LimitedRange, BT601
		if height >= 720 {
			f.Matrix = BT709
		}
	}
	if width > 0 && width <= MaxSide {
		f.Stride = t.rowBytes(width)
	}
	return f, f.Validate()
}

// rowBytes returns how many bytes of a first-plane row are pixels.
func (t *layoutOf) rowBytes(width int) int {
	switch t.family {
	case packedRGB:
		return width * t.pixelBytes
	case packed422:
		return width * 2 << t.wide
	}
	return width << t.wide
}

// Validate reports what makes the format impossible, or nil.
func (f Format) Validate() error {
	t, ok := f.Pixel.traits()
	switch {
	case !ok:
		return fmt.Errorf("%w: unknown pixel format %v", ErrFormat, f.Pixel)
	case f.Width < 1, f.Height < 1, f.Width > MaxSide, f.Height > MaxSide:
		return fmt.Errorf("%w: size %dx%d, want 1x1 to %dx%d", ErrFormat, f.Width, f.Height, MaxSide, MaxSide)
	case f.Width%t.minBlockX != 0:
		return fmt.Errorf("%w: %v (%s) has no odd widths, got %d", ErrFormat, f.Pixel, t.about, f.Width)
	case f.Height%t.minBlockY != 0:
		return fmt.Errorf("%w: %v (%s) has no odd heights, got %d", ErrFormat, f.Pixel, t.about, f.Height)
	case f.Stride < t.rowBytes(f.Width):
		return fmt.Errorf("%w: stride of %d bytes is shorter than a row of %d", ErrFormat, f.Stride,
			t.rowBytes(f.Width))
	case f.Stride > MaxBytes/f.Height, f.Size() > MaxBytes:
		return fmt.Errorf("%w: stride of %d bytes makes a frame of more than %d bytes", ErrFormat, f.Stride, MaxBytes)
	case f.Range > LimitedRange:
		return fmt.Errorf("%w: unknown colour %v", ErrFormat, f.Range)
	case f.Matrix > BT2020:
		return fmt.Errorf("%w: unknown colour %v", ErrFormat, f.Matrix)
	}
	return nil
}

// Plane is a run of rows of equal length within a frame.
type Plane struct {
	Offset   int // of the first row, in bytes
	Stride   int // bytes from row to row; padding included
	RowBytes int // bytes of a row that are pixels
	Rows     int
}

// Planes returns the format's planes in the order of memory. The format must be valid.
func (f Format) Planes() []Plane {
	t, _ := f.Pixel.traits()
	first := Plane{Stride: f.Stride, RowBytes: t.rowBytes(f.Width), Rows: f.Height}
	size := first.Stride * first.Rows
	switch t.family {
	case semiPlanar:
		c := Plane{Offset: size, Stride: 2 * f.Stride >> t.subX, RowBytes: 2 * first.RowBytes >> t.subX,
			Rows: f.Height >> t.subY}
		return []Plane{first, c}
	case planar:
		round := 1<<t.subX - 1
		c := Plane{
			Stride:   (f.Stride + round) >> t.subX,
			RowBytes: (f.Width + round) >> t.subX,
			Rows:     (f.Height + 1<<t.subY - 1) >> t.subY,
		}
		u, v := c, c
		u.Offset = size
		v.Offset = size + c.Stride*c.Rows
		return []Plane{first, u, v}
	}
	return []Plane{first}
}

// Size returns the bytes of one frame, padding of the last row included. The format must be valid.
func (f Format) Size() int {
	ps := f.Planes()
	last := ps[len(ps)-1]
	return last.Offset + last.Stride*last.Rows
}

// String formats as "1920x1080 BGR4", with the stride where there is padding.
func (f Format) String() string {
	s := fmt.Sprintf("%dx%d %v", f.Width, f.Height, f.Pixel)
	if t, ok := f.Pixel.traits(); ok && f.Stride != t.rowBytes(f.Width) {
		s += fmt.Sprintf(" stride %d", f.Stride)
	}
	return s
}
