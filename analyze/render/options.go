package render

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// VideoOptions say how a video is made; the zero value is 60 frames a second and at most 720 lines
// of content.
type VideoOptions struct {
	// RateNum/RateDen are slots a second; 0/0 for 60.
	RateNum, RateDen int64
	// MaxHeight is how many lines of content there may be; frames that have more are scaled down,
	// none is scaled up. 0 for 720 (in a pair 540 each), negative for no limit.
	MaxHeight int
	// Overlay is written into a bar below the content, which it does not hide; nil for none.
	Overlay *Overlay
}

// withDefaults fills in and checks.
func (o VideoOptions) withDefaults(lines int) (VideoOptions, error) {
	if o.RateNum == 0 && o.RateDen == 0 {
		o.RateNum, o.RateDen = 60, 1
	}
	if o.MaxHeight == 0 {
		o.MaxHeight = lines
	}
	if o.RateNum < 1 || o.RateDen < 1 || o.RateNum/o.RateDen > 1000 || o.RateDen/o.RateNum > 1000 {
		return o, fmt.Errorf("make video: rate of %d/%d frames a second, want 1/1000 to 1000", o.RateNum, o.RateDen)
	}
	if o.MaxHeight > 0 && o.MaxHeight < 2 {
		return o, fmt.Errorf("make video: %d line, want at least 2", o.MaxHeight)
	}
	return o, nil
}

const (
	videoLines = 720
	pairLines  = 540
	// keySeconds is the time from keyframe to keyframe: what a player has to decode at most to
	// seek.
	keySeconds = 1
	// fewestFrames are between keyframes at least, which matters where there are few frames a
	// second.
	fewestFrames = 12
)

// keyInterval returns how many frames there are from keyframe to keyframe.
func (o VideoOptions) keyInterval() int {
	return int(max(fewestFrames, (o.RateNum*keySeconds+o.RateDen/2)/o.RateDen))
}

func even(n int) int { return n + n&1 }

// sizes returns the size of passed frames of a format, and the size of the content in the video.
// H.264 with 4:2:0 chroma has even sides only. A frame that is not scaled gets a black line
// instead.
func (o VideoOptions) sizes(f frame.Format) (in, out image.Point) {
	in = image.Pt(even(f.Width), even(f.Height))
	if o.MaxHeight < 0 || f.Height <= o.MaxHeight {
		return in, in
	}
	height := o.MaxHeight &^ 1
	return in, image.Pt(max(2, even(f.Width*height/f.Height)), height)
}

// hatch draws the sign for a missing frame: dark stripes. pix has bytes B G R.
func hatch(pix []byte, size image.Point) {
	const stripe = 16
	for y := range size.Y {
		row := pix[3*y*size.X : 3*(y+1)*size.X]
		for i := 0; i < len(row); i += 3 {
			bgr := [3]byte{36, 36, 72}
			if (i/3+y)/stripe%2 == 0 {
				bgr = [3]byte{60, 60, 140}
			}
			copy(row[i:], bgr[:])
		}
	}
}
