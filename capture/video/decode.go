package video

import (
	"bufio"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// decoder reads pictures of one format.
type decoder struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

func endings() []string { return []string{".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp"} }

// decoderOf returns the decoder for a file name.
func decoderOf(name string) (decoder, bool) {
	var d decoder
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png":
		d = decoder{png.DecodeConfig, png.Decode}
	case ".jpg", ".jpeg":
		d = decoder{jpeg.DecodeConfig, jpeg.Decode}
	case ".bmp":
		d = decoder{bmp.DecodeConfig, bmp.Decode}
	case ".tif", ".tiff":
		d = decoder{tiff.DecodeConfig, tiff.Decode}
	case ".webp":
		d = decoder{webp.DecodeConfig, webp.Decode}
	default:
		return d, false
	}
	decode := d.decode
	d.decode = func(r io.Reader) (image.Image, error) { return decode(bufio.NewReader(r)) }
	return d, true
}

// toBGR writes a picture as 3-byte pixels without padding. Alpha is dropped, not blended.
func toBGR(dst []byte, m image.Image) {
	b := m.Bounds()
	row := func(pix []byte, stride, y int) []byte { return pix[y*stride:] }
	if rgba, ok := m.(*image.RGBA); ok && rgba.Opaque() { // not multiplied by anything then
		m = &image.NRGBA{Pix: rgba.Pix, Stride: rgba.Stride, Rect: rgba.Rect}
	}
	for y := range b.Dy() {
		d := dst[y*b.Dx()*3:][:b.Dx()*3]
		switch m := m.(type) {
		case *image.NRGBA:
			fourBytes(d, row(m.Pix, m.Stride, y))
		case *image.YCbCr:
			for x := range b.Dx() {
				i, j := m.YOffset(b.Min.X+x, b.Min.Y+y), m.COffset(b.Min.X+x, b.Min.Y+y)
				d[x*3+2], d[x*3+1], d[x*3] = color.YCbCrToRGB(m.Y[i], m.Cb[j], m.Cr[j])
			}
		case *image.Gray:
			for x, v := range row(m.Pix, m.Stride, y)[:b.Dx()] {
				d[x*3], d[x*3+1], d[x*3+2] = v, v, v
			}
		default:
			anyPixels(d, m, y)
		}
	}
}

// fourBytes reorders R G B A.
func fourBytes(dst, src []byte) {
	for ; len(dst) >= 3 && len(src) >= 4; dst, src = dst[3:], src[4:] {
		dst[0], dst[1], dst[2] = src[2], src[1], src[0]
	}
}

func anyPixels(dst []byte, m image.Image, y int) {
	b := m.Bounds()
	for x := range b.Dx() {
		c := color.NRGBAModel.Convert(m.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
		dst[x*3], dst[x*3+1], dst[x*3+2] = c.B, c.G, c.R
	}
}
