package visual

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/capture/frame"
)

// errSize is wrapped by every error about a picture, a plane or a rectangle whose size does not
// fit.
var errSize = errors.New("size does not fit")

// Picture is a picture of 4 bytes a pixel: R G B and an ignored one, as [frame.Converter.RGBA]
// makes it.
type Picture struct {
	Width, Height int
	Stride        int // bytes from line to line
	Pix           []byte
}

// NewPicture returns a black picture.
func NewPicture(width, height int) (Picture, error) {
	if err := checkSize(width, height, 1); err != nil {
		return Picture{}, err
	}
	return Picture{width, height, width * 4, make([]byte, width*height*4)}, nil
}

// check reports whether the picture has the pixels that it says.
func (p Picture) check() error {
	if err := checkSize(p.Width, p.Height, 1); err != nil {
		return err
	}
	if p.Stride < p.Width*4 || len(p.Pix) < p.Stride*(p.Height-1)+p.Width*4 {
		return fmt.Errorf("%w: %d bytes with a stride of %d are not a picture of %dx%d pixels", errSize, len(p.Pix),
			p.Stride, p.Width, p.Height)
	}
	return nil
}

// Row returns the bytes of pixels x0 ≤ x < x1 of line y.
func (p Picture) Row(y, x0, x1 int) []byte { return p.Pix[y*p.Stride+x0*4 : y*p.Stride+x1*4] }

// rgb returns the pixel's samples.
func (p Picture) rgb(x, y int) [3]byte { return [3]byte(p.Pix[y*p.Stride+x*4:]) }

// Luma writes the luma of RGB pixels of 4 bytes to dst, one byte each. It is ITU-R BT.601 in fixed
// point, as in Pillow's conversion to "L". The script uses it for SSIM and edges:
//
//	Y = (19595·R + 38470·G + 7471·B + 32768) / 65536, rounded down
func Luma(dst, rgb []byte) {
	for i := range dst {
		p := rgb[i*4 : i*4+4]
		dst[i] = byte((19595*uint32(p[0]) + 38470*uint32(p[1]) + 7471*uint32(p[2]) + 32768) >> 16)
	}
}

func checkSize(width, height, least int) error {
	if width < least || height < least || width > frame.MaxSide || height > frame.MaxSide {
		return fmt.Errorf("%w: %dx%d, want %dx%d to %dx%d", errSize, width, height, least, least, frame.MaxSide,
			frame.MaxSide)
	}
	return nil
}

// checkPlane makes sure that rows of the plane can be read without looking again.
func checkPlane(plane []byte, stride, width, height int) error {
	if stride < width || len(plane) < stride*(height-1)+width {
		return fmt.Errorf("%w: %d bytes with a stride of %d are not a plane of %dx%d samples", errSize, len(plane),
			stride,
			width, height)
	}
	return nil
}

// clipRegion returns the part of the region inside a picture of the size, from (x0, y0) to (x1,
// y1). It returns false if that is empty.
func clipRegion(r frame.Region, width, height int) (x0, y0, x1, y1 int, some bool) {
	x0, y0 = min(max(r.X, 0), width), min(max(r.Y, 0), height)
	x1 = min(max(r.X+min(r.Width, width+max(-r.X, 0)), 0), width)
	y1 = min(max(r.Y+min(r.Height, height+max(-r.Y, 0)), 0), height)
	return x0, y0, x1, y1, x0 < x1 && y0 < y1
}
