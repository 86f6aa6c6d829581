package strip

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// Draw draws the strip into a frame, in which region (empty: the whole frame) is the content. In
// YUV formats the chroma under the strip is left as it is.
func Draw(img frame.Image, region image.Rectangle, code Code) error {
	d, err := NewDecoder(img.Layout, region)
	if err != nil {
		return fmt.Errorf("draw code strip: %w", err)
	}
	for k := range Copies {
		d.draw(img, k, code)
	}
	return nil
}

// DrawCopy draws only copy k, as a page does on its markers with copy 0: see [MarkerCode].
func DrawCopy(img frame.Image, region image.Rectangle, k int, code Code) error {
	d, err := NewDecoder(img.Layout, region)
	if err != nil {
		return fmt.Errorf("draw code strip: %w", err)
	}
	if k < 0 || k >= Copies {
		return fmt.Errorf("draw code strip: copy %d is not in 0 to %d", k, Copies-1)
	}
	d.draw(img, k, code)
	return nil
}

// draw draws copy k where the decoder looks for it.
func (d *Decoder) draw(img frame.Image, k int, code Code) {
	f := img.Layout.Format
	low, high := byte(0), byte(255)
	if f.Range == frame.LimitedRange {
		low, high = 16, 235
	}
	cells := encode(code)
	top := d.geo.Tops[k]
	for y := top; y < top+d.geo.Cell; y++ {
		row := img.Rows[y]
		for x := range Cells * d.geo.Cell {
			v := low
			if cells.cell(x / d.geo.Cell) {
				v = high
			}
			setGrey(row, f.Pixel, d.luma, d.geo.Left+x, v)
		}
	}
}

// setGrey makes a pixel grey. In RGB formats it sets every byte; the invisible or opaque one gets
// 255. In YUV formats it sets the luma.
func setGrey(row []byte, p frame.PixelFormat, at lumaAt, x int, v byte) {
	if !p.IsRGB() {
		row[at.first+x*at.step] = v
		return
	}
	px := row[x*at.step : (x+1)*at.step]
	for i := range px {
		px[i] = v
	}
	if at.step == 4 {
		spare := 3 // B G R X
		if at.first == 2 {
			spare = 0 // X R G B
		}
		px[spare] = 255
	}
}
