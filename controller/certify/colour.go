package certify

import (
	"fmt"
	"math"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
)

// Colour is what the path does to colours, found by trying everything that paths are known to do.
type Colour struct {
	// kept, compressed (full shown as limited), expanded (clipped) or compressed twice
	Range    string `json:"range"`
	Channels string `json:"channels"` // "rgb" as sent, or the order in which they came: "bgr"
	ChromaUV string `json:"chroma"`   // kept, swapped
	Matrix   string `json:"matrix"`   // kept, or "bt601 read as bt709" and the reverse
	Known    bool   `json:"known"`    // the four together explain the received colours
	// MeanError and MaxError are how far flat patches are from what the four say, in sample values.
	MeanError float64 `json:"mean_error"`
	MaxError  float64 `json:"max_error"`
	Worst     string  `json:"worst_patch,omitempty"` // the sent and the received colour
}

// Values of Colour's fields.
const (
	kept            = "kept"
	rangeCompressed = "compressed"
	rangeExpanded   = "expanded"
	rangeTwice      = "compressed twice"
	chromaSwapped   = "swapped"
	sentChannels    = "rgb"
	bt601as709      = "bt601 read as bt709"
	bt709as601      = "bt709 read as bt601"
)

// unchanged reports whether the colours equal the sent ones.
func (c Colour) unchanged() bool { return c.Known && c.changes() == 0 }

func (c Colour) changes() int {
	n := 0
	for _, same := range []bool{c.Range == kept, c.Channels == sentChannels, c.ChromaUV == kept, c.Matrix == kept} {
		if !same {
			n++
		}
	}
	return n
}

// colourF is a colour in sample values, not rounded.
type colourF [3]float64

func (c rgb) exact() colourF { return colourF{float64(c[0]), float64(c[1]), float64(c[2])} }

func clip(v float64) float64 { return math.Min(math.Max(v, 0), 255) }

// Luma weights of red and blue, ITU-R BT.601-7 and BT.709-6.
func weights(m frame.Matrix) (kr, kb float64) {
	if m == frame.BT601 {
		return 0.299, 0.114
	}
	return 0.2126, 0.0722
}

// yuv returns Y, Cb and Cr in sample values around 0.
func (c colourF) yuv(m frame.Matrix) (y, cb, cr float64) {
	kr, kb := weights(m)
	y = kr*c[0] + (1-kr-kb)*c[1] + kb*c[2]
	return y, (c[2] - y) / (2 * (1 - kb)), (c[0] - y) / (2 * (1 - kr))
}

func fromYUV(y, cb, cr float64, m frame.Matrix) colourF {
	kr, kb := weights(m)
	r, b := y+2*(1-kr)*cr, y+2*(1-kb)*cb
	return colourF{clip(r), clip((y - kr*r - kb*b) / (1 - kr - kb)), clip(b)}
}

// through returns what the path makes of a colour. m is the matrix for what no matrix is named for.
func (c Colour) through(v colourF, m frame.Matrix) colourF {
	if c.ChromaUV == chromaSwapped {
		y, cb, cr := v.yuv(m)
		v = fromYUV(y, cr, cb, m)
	}
	switch c.Matrix {
	case bt601as709:
		y, cb, cr := v.yuv(frame.BT601)
		v = fromYUV(y, cb, cr, frame.BT709)
	case bt709as601:
		y, cb, cr := v.yuv(frame.BT709)
		v = fromYUV(y, cb, cr, frame.BT601)
	}
	var w colourF
	for i, name := range c.Channels {
		w[i] = v[strings.IndexRune(sentChannels, name)]
	}
	for i := range w {
		switch c.Range {
		case rangeCompressed:
			w[i] = 16 + w[i]*219/255
		case rangeTwice:
			w[i] = 16 + (16+w[i]*219/255)*219/255
		case rangeExpanded:
			w[i] = clip((w[i] - 16) * 255 / 219)
		}
	}
	return w
}

// explained is how far the patches may be from what a known change makes of them, in sample values.
const explained = 7

// judgeColour tries all that paths are known to do to colours, and takes what explains the patches
// best. Of two that do so equally well it takes the one that changes less.
func judgeColour(sent []rgb, came []colourF, f frame.Format) Colour {
	m := f.Matrix
	if m == frame.NoMatrix {
		m = frame.BT709
	}
	if f.Pixel == frame.GREY {
		return judgeLuma(sent, came)
	}
	var best Colour
	bestScore := math.Inf(1)
	for _, r := range []string{kept, rangeCompressed, rangeExpanded, rangeTwice} {
		for _, order := range []string{sentChannels, "bgr", "grb", "rbg", "gbr", "brg"} {
			for _, uv := range []string{kept, chromaSwapped} {
				for _, matrix := range []string{kept, bt601as709, bt709as601} {
					c := Colour{Range: r, Channels: order, ChromaUV: uv, Matrix: matrix}
					c.compare(sent, came, m)
					const perChange = 0.5 // what rounding along the way may win
					if score := c.MeanError + perChange*float64(c.changes()); score < bestScore {
						best, bestScore = c, score
					}
				}
			}
		}
	}
	best.Known = len(came) > 0 && best.MaxError <= explained
	return best
}

// judgeLuma is judgeColour for a format without colour. Only the range can be found, from the luma
// of the sent colours.
func judgeLuma(sent []rgb, came []colourF) Colour {
	var best Colour
	bestScore := math.Inf(1)
	// the format does not say which was used, and it does not matter
	for _, m := range []frame.Matrix{frame.BT709, frame.BT601} {
		luma := make([]rgb, len(sent))
		for i, s := range sent {
			y, _, _ := s.exact().yuv(m)
			luma[i] = grey(uint8(clip(math.Round(y))))
		}
		for _, r := range []string{kept, rangeCompressed, rangeExpanded, rangeTwice} {
			c := Colour{Range: r, Channels: sentChannels, ChromaUV: kept, Matrix: kept}
			c.compare(luma, came, m)
			if c.MeanError < bestScore {
				best, bestScore = c, c.MeanError
			}
		}
	}
	best.Known = len(came) > 0 && best.MaxError <= explained
	return best
}

// compare fills in the errors.
func (c *Colour) compare(sent []rgb, came []colourF, m frame.Matrix) {
	sum := 0.0
	for i, s := range sent {
		want := c.through(s.exact(), m)
		for ch := range want {
			d := math.Abs(want[ch] - came[i][ch])
			sum += d
			if d > c.MaxError {
				c.MaxError = d
				c.Worst = fmt.Sprintf("%d %d %d came as %.0f %.0f %.0f", s[0], s[1], s[2], came[i][0], came[i][1],
					came[i][2])
			}
		}
	}
	if n := len(sent) * 3; n > 0 {
		c.MeanError = sum / float64(n)
	}
}
