package strip

import "github.com/eideticker/eideticker/capture/frame"

// lumaAt says where in a frame's rows a sample stands that tells black from white: the luma of YUV
// formats, the green channel of RGB formats.
type lumaAt struct {
	first, step int // byte of the first pixel's sample, bytes from pixel to pixel
}

// lumaOf returns the place for a format. Line y of the picture is row y of the frame in every
// format, because the first plane comes first.
func lumaOf(p frame.PixelFormat) (lumaAt, bool) {
	switch p {
	case frame.BGR4, frame.XR24, frame.AR24, frame.XB24, frame.AB24:
		return lumaAt{1, 4}, true
	case frame.RGB4, frame.BX24, frame.BA24, frame.RX24, frame.RA24:
		return lumaAt{2, 4}, true
	case frame.BGR3, frame.RGB3:
		return lumaAt{1, 3}, true
	case frame.YUYV, frame.YVYU:
		return lumaAt{0, 2}, true
	case frame.UYVY, frame.VYUY:
		return lumaAt{1, 2}, true
	case frame.Y210: // the upper 8 of 10 bits
		return lumaAt{1, 4}, true
	case frame.P010:
		return lumaAt{1, 2}, true
	case frame.NV12, frame.NV16, frame.NV24, frame.YU12, frame.P422, frame.P444, frame.GREY:
		return lumaAt{0, 1}, true
	}
	return lumaAt{}, false
}

// Samples returns the place of a row's first sample that tells black from white, for decoders of
// other drawings. step is the number of bytes from one pixel's sample to the next.
func Samples(p frame.PixelFormat) (first, step int, ok bool) {
	at, ok := lumaOf(p)
	return at.first, at.step, ok
}
