package certify

import (
	"fmt"
	"math/bits"
)

// levels judges how many grey steps inside the frame are distinct.
func (r *Report) levels() Finding {
	d := r.Detail
	sent := "256 steps of grey"
	if d.Steps < 256 {
		sent = fmt.Sprintf("%d of 256 steps of grey", d.Steps)
	}
	want := r.levelsExpected()
	switch {
	case !r.whole:
		return refused(propertyLevels, sent, brokenWhy)
	case d.Steps < minSteps:
		return refused(propertyLevels, "256 steps of grey", cutWhy)
	case d.Levels < want && !r.Geometry.Unscaled:
		return refused(propertyLevels, sent, "not judged: the picture is scaled, steps run into each other")
	case d.Levels < want && d.Spread > 1:
		return refused(propertyLevels, sent, "not judged: noise hides the steps")
	}
	came := fmt.Sprintf("%d steps", d.Levels)
	if d.Dither {
		came += ", dithered"
	}
	colours := r.Mode.rgb && r.Colour.unchanged() && d.Chroma == "4:4:4" && d.ChannelLevels < want
	if colours && d.Levels >= want {
		came += fmt.Sprintf(", %d of a colour", d.ChannelLevels)
	}
	f := finding(propertyLevels, exactFinding, sent, came)
	if d.Levels < want {
		verdict, why := d.fewer()
		f = f.blame(true, verdict, why)
	}
	return f.blame(d.Dither, Remark, "steps are mixed of two values: turn dithering off, or noise is taken for change").
		blame(colours, Remark, "colours have fewer steps than grey: they are converted to YCbCr and back")
}

// minSteps is the minimum number of steps inside the frame for a judgement.
const minSteps = 64

// share scales a number of all 256 steps to the steps inside the frame.
func (d Detail) share(n int) int { return n * d.Steps / 256 }

// levelsExpected is how many steps of grey a faultless path of this format and range keeps.
func (r *Report) levelsExpected() int {
	switch {
	case r.Colour.Range == rangeTwice:
		return r.Detail.share(185)
	case r.Mode.Range == "limited" || r.Colour.Range != kept:
		return r.Detail.share(216) // of 220: roundings meet
	}
	return r.Detail.share(252)
}

// fewer says why there may be fewer steps than a faultless path keeps. That bits are missing is
// said only where as many steps are left as so many bits have: a value that is scaled leaves any
// number.
func (d Detail) fewer() (Verdict, string) {
	const few = 8 // steps that no measure will miss
	clipped := d.Clipped[0] + d.Clipped[1]
	for n := 7; n > 0 && d.Steps == 256; n-- {
		if most := 1 << n; d.Levels <= most+most/32 && d.Levels > most-most/8 {
			return Fail, fmt.Sprintf(
				"brightness is reduced to about %d bits on the way: choose a format with 8 or more", n)
		}
	}
	switch {
	case d.Steps < 256 && d.Levels <= 1<<(bits.Len(uint(d.Steps))-2):
		return Fail, "brightness is reduced to few bits on the way: choose a format with 8 or more"
	case clipped > 4 && d.Levels+clipped >= d.share(248):
		why := fmt.Sprintf("the %d darkest and the %d lightest steps are cut off: reset brightness and contrast",
			d.Clipped[0]+1, d.Clipped[1]+1)
		if clipped <= few {
			return Remark, why
		}
		return Fail, why
	case d.Levels >= d.share(212) && d.Levels <= d.share(224):
		return Remark, "one step in eight is gone in limited range (16 to 235): set output and card to full range"
	case d.Levels >= d.share(256)-4*few:
		return Remark, "a few steps meet in one, brightness is scaled: reset contrast and gamma of card and output"
	}
	return Fail, "steps meet in one, brightness is scaled: reset contrast, gain and gamma of card and output"
}
