package render

import (
	"fmt"
	"image"
	"image/png"
	"io"

	"github.com/eideticker/eideticker/capture/frame"
)

// Picture returns a frame as Go's image package has it. It is opaque, also where the format has
// alpha: a screen shows no alpha.
func Picture(m frame.Image) *image.NRGBA {
	p := frame.NewConverter(m.Layout).Picture(m)
	for i := 3; i < len(p.Pix); i += 4 {
		p.Pix[i] = 255
	}
	return p
}

// WritePNG writes a frame as a PNG.
func WritePNG(w io.Writer, m frame.Image) error {
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(w, Picture(m)); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}
