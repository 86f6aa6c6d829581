//go:build cgo

// Package encode writes the videos of analyze/render with FFmpeg's libraries. Only
// eideticker-media imports it.
package encode

import (
	"encoding/json"
	"fmt"
	"image"
	"os"
	"syscall"

	"github.com/eideticker/eideticker/capture/video/media"
)

const (
	maxSide   = 1 << 16 // pixels of the video: two frames beside each other
	maxPixels = 1 << 30
)

// Serve encodes a video. The file is removed unless the messages end with media.End.
func Serve(c *media.Conn, detail json.RawMessage) (err error) {
	var job media.EncodeJob
	if err := json.Unmarshal(detail, &job); err != nil {
		return err
	}
	v, err := newCanvas(job.Width, job.Height)
	if err != nil {
		return err
	}
	file, err := os.Create(job.Path) // its errors say more than FFmpeg's
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(job.Path)
		}
	}()
	if err := file.Close(); err != nil {
		return err
	}
	e, err := newEncoder(job)
	if err != nil {
		return err
	}
	defer e.close()
	if err := c.WriteJSON(media.Info, struct{}{}); err != nil {
		return err
	}
	for {
		kind, _, err := c.Next()
		switch {
		case err != nil:
			return err
		case kind == media.Draw:
			err = v.draw(c)
		case kind == media.Slot:
			err = e.write(v.pix)
		case kind == media.End:
			if err := e.finish(); err != nil {
				return err
			}
			return c.WriteJSON(media.End, struct{}{})
		default:
			err = fmt.Errorf("unexpected message %q", kind)
		}
		if err != nil {
			return err
		}
	}
}

// canvas is the picture of the next slot.
type canvas struct {
	pix  []byte // B G R, without padding
	size image.Point
	from []byte // a picture to be scaled
}

func newCanvas(width, height int) (*canvas, error) {
	if width < 2 || height < 2 || width > maxSide || height > maxSide || width*height > maxPixels ||
		(width|height)&1 != 0 {
		return nil, fmt.Errorf("video of %dx%d pixels", width, height)
	}
	return &canvas{pix: make([]byte, 3*width*height), size: image.Pt(width, height)}, nil
}

// draw reads a rectangle of the canvas.
func (v *canvas) draw(c *media.Conn) error {
	var h media.DrawHead
	if err := c.ReadHead(&h); err != nil {
		return err
	}
	if max(h.X, h.Y, h.Width, h.Height, h.FromWidth, h.FromHeight) > maxSide ||
		min(h.Width, h.Height, h.FromWidth, h.FromHeight) == 0 {
		return fmt.Errorf("rectangle %+v", h)
	}
	r := image.Rect(int(h.X), int(h.Y), int(h.X+h.Width), int(h.Y+h.Height))
	from := image.Pt(int(h.FromWidth), int(h.FromHeight))
	if !r.In(image.Rectangle{Max: v.size}) || int64(from.X)*int64(from.Y) > maxPixels ||
		c.Rest() != 3*int64(from.X)*int64(from.Y) {
		return fmt.Errorf("rectangle %+v in a video of %v, %d bytes", h, v.size, c.Rest())
	}
	if from != r.Size() {
		return v.scale(c, r, from)
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		at := 3 * (y*v.size.X + r.Min.X)
		if err := c.Read(v.pix[at : at+3*r.Dx()]); err != nil {
			return err
		}
	}
	return nil
}

// scale reads a picture of another size than its rectangle.
func (v *canvas) scale(c *media.Conn, r image.Rectangle, from image.Point) error {
	size := 3 * from.X * from.Y
	if cap(v.from) < size {
		v.from = make([]byte, size)
	}
	pix := v.from[:size]
	if err := c.Read(pix); err != nil {
		return err
	}
	return scaleArea(v.pix, v.size.X, r, pix, from)
}

// averror returns an error of FFmpeg's: the system's, or its own text.
func averror(doing string, code int, text string) error {
	if code > -200 {
		return fmt.Errorf("%s: %w", doing, syscall.Errno(-code))
	}
	return fmt.Errorf("%s: FFmpeg says: %s", doing, text)
}
