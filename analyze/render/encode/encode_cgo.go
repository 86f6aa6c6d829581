//go:build cgo

// Package encode writes the videos of analyze/render with FFmpeg's libraries and OpenCV. Only
// eideticker-media imports it.
package encode

import (
	"encoding/json"
	"fmt"
	"image"
	"os"
	"syscall"

	"gocv.io/x/gocv"

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
	defer v.close()
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
	mat  gocv.Mat
	pix  []byte // B G R, without padding
	size image.Point
	from map[int]gocv.Mat // pictures to be scaled, by width
}

func newCanvas(width, height int) (*canvas, error) {
	if width < 2 || height < 2 || width > maxSide || height > maxSide || width*height > maxPixels ||
		(width|height)&1 != 0 {
		return nil, fmt.Errorf("video of %dx%d pixels", width, height)
	}
	v := &canvas{mat: gocv.NewMatWithSize(height, width, gocv.MatTypeCV8UC3), size: image.Pt(width, height),
		from: map[int]gocv.Mat{}}
	var err error
	v.pix, err = v.mat.DataPtrUint8()
	return v, err
}

func (v *canvas) close() { // frees memory; cannot fail
	_ = v.mat.Close()
	v.forget()
}

func (v *canvas) forget() {
	for _, m := range v.from {
		_ = m.Close()
	}
	clear(v.from)
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
	m, ok := v.from[from.X]
	if !ok || m.Rows() < from.Y {
		if v.forgetOne(from.X); len(v.from) >= 2 { // two runs beside each other
			v.forget()
		}
		m = gocv.NewMatWithSize(from.Y, from.X, gocv.MatTypeCV8UC3)
		v.from[from.X] = m
	}
	pix, err := m.DataPtrUint8()
	if err != nil {
		return err
	}
	if err := c.Read(pix[:3*from.X*from.Y]); err != nil {
		return err
	}
	src := m.Region(image.Rectangle{Max: from})
	defer src.Close()
	dst := v.mat.Region(r)
	defer dst.Close()
	// dst has the size and type already, so it stays where it is
	gocv.Resize(src, &dst, r.Size(), 0, 0, gocv.InterpolationArea)
	return nil
}

func (v *canvas) forgetOne(width int) {
	if m, ok := v.from[width]; ok {
		_ = m.Close()
		delete(v.from, width)
	}
}

// averror returns an error of FFmpeg's: the system's, or its own text.
func averror(doing string, code int, text string) error {
	if code > -200 {
		return fmt.Errorf("%s: %w", doing, syscall.Errno(-code))
	}
	return fmt.Errorf("%s: FFmpeg says: %s", doing, text)
}
