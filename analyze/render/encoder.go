package render

import (
	"errors"
	"image"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/capture/video/media"
)

// surface is the picture of a video's next slot. It is as it was drawn for the slot before.
type surface interface {
	// draw scales a picture, B G R without padding, to a rectangle. It copies it if the sizes are
	// equal.
	draw(to image.Rectangle, pix []byte, size image.Point)
}

// encoder has eideticker-media encode a video. Its first error is final.
type encoder struct {
	path  string
	media *media.Process
	err   error
}

// newEncoder creates the file. It fails without an encoder.
func newEncoder(path string, size image.Point, o VideoOptions) (*encoder, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	e := &encoder{path: path}
	e.media, err = media.Start(media.Encode, media.EncodeJob{
		Path: absolute, Width: size.X, Height: size.Y, RateNum: o.RateNum, RateDen: o.RateDen,
		KeyInterval: o.keyInterval(),
	})
	if err != nil {
		return nil, err
	}
	if _, _, err = e.media.Answer(media.Info); err == nil {
		err = e.media.ReadJSON(new(struct{}))
	}
	if err != nil {
		return nil, errors.Join(err, e.media.Close())
	}
	ground := inkBack()
	row := make([]byte, 3*size.X)
	for i := 0; i < len(row); i += 3 {
		row[i], row[i+1], row[i+2] = ground.B, ground.G, ground.R
	}
	for y := range size.Y {
		e.draw(image.Rect(0, y, size.X, y+1), row, image.Pt(size.X, 1))
	}
	return e, nil
}

func (e *encoder) draw(to image.Rectangle, pix []byte, size image.Point) {
	if e.err == nil {
		e.fail(e.media.WriteHead(media.Draw, media.DrawHead{
			X: uint32(to.Min.X), Y: uint32(to.Min.Y), Width: uint32(to.Dx()), Height: uint32(to.Dy()),
			FromWidth: uint32(size.X), FromHeight: uint32(size.Y),
		}, pix[:3*size.X*size.Y]))
	}
}

func (e *encoder) fail(err error) {
	if err != nil {
		e.err = e.media.Failed(err)
	}
}

// write appends the drawn picture as a slot.
func (e *encoder) write() error {
	if e.err == nil {
		e.fail(errors.Join(e.media.Write(media.Slot), e.media.Flush()))
	}
	return e.err
}

// close finishes the file. If failed is not nil, it removes the file.
func (e *encoder) close(failed error) error {
	err := failed
	if err == nil {
		err = e.finish()
	}
	_ = e.media.Close() // waits for the process; it has told all
	if err != nil {
		_ = os.Remove(e.path)
	}
	return err
}

func (e *encoder) finish() error {
	if e.err == nil {
		e.fail(errors.Join(e.media.Write(media.End), e.media.Flush()))
	}
	if e.err == nil {
		_, _, e.err = e.media.Answer(media.End)
	}
	return e.err
}
