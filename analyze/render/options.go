package render

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// VideoOptions say how a video is made; the zero value is 60 frames a second and at most 720 lines.
type VideoOptions struct {
	// RateNum/RateDen are slots a second; 0/0 for 60. OpenCV rounds the rate to a thousandth, so
	// 60000/1001 is written as 59.94; exact times stand in the map.
	RateNum, RateDen int64
	MaxHeight        int // lines above which frames are scaled down; 0 for 720, negative for no limit
}

// withDefaults fills in and checks.
func (o VideoOptions) withDefaults() (VideoOptions, error) {
	if o.RateNum == 0 && o.RateDen == 0 {
		o.RateNum, o.RateDen = 60, 1
	}
	if o.MaxHeight == 0 {
		o.MaxHeight = 720
	}
	if o.RateNum < 1 || o.RateDen < 1 || o.RateNum/o.RateDen > 1000 || o.RateDen/o.RateNum > 1000 {
		return o, fmt.Errorf("make video: rate of %d/%d frames a second, want 1/1000 to 1000", o.RateNum, o.RateDen)
	}
	if o.MaxHeight > 0 && o.MaxHeight < 2 {
		return o, fmt.Errorf("make video: %d line, want at least 2", o.MaxHeight)
	}
	return o, nil
}

// sizes returns the size at which frames of a format go in, and the size of the video. H.264 with 4:2:0
// chroma has even sides only: a frame that is not scaled gets a black line instead.
func (o VideoOptions) sizes(f frame.Format) (in, out image.Point) {
	even := func(n int) int { return n + n&1 }
	in = image.Pt(even(f.Width), even(f.Height))
	if o.MaxHeight < 0 || f.Height <= o.MaxHeight {
		return in, in
	}
	height := o.MaxHeight &^ 1
	return in, image.Pt(max(2, even(f.Width*height/f.Height)), height)
}

// hatch draws what stands for a missing frame: dark stripes, B G R.
func hatch(pix []byte, size image.Point) {
	const stripe = 16
	for y := range size.Y {
		for x := range size.X {
			bgr := [3]byte{36, 36, 72}
			if (x+y)/stripe%2 == 0 {
				bgr = [3]byte{60, 60, 140}
			}
			copy(pix[3*(y*size.X+x):], bgr[:])
		}
	}
}
