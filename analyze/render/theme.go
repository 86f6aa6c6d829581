package render

import "image/color"

// The colours around content. They are dark, since measured content is mostly bright. None of them
// is the green or red of the sync markers.

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: byte(hex >> 16), G: byte(hex >> 8), B: byte(hex), A: 255}
}

func inkBack() color.RGBA   { return rgb(0x12161c) } // behind everything
func inkPanel() color.RGBA  { return rgb(0x1b212a) } // behind text
func inkRule() color.RGBA   { return rgb(0x343d4a) } // lines that part
func inkText() color.RGBA   { return rgb(0xf2f5f9) }
func inkMuted() color.RGBA  { return rgb(0x9fabbb) } // labels, units
func inkAccent() color.RGBA { return rgb(0x5ab0ff) }

// Tone is the colour of a mark.
type Tone int

const (
	Neutral Tone = iota
	Begin        // where something starts
	End          // where something ends
	Visual       // where a change is seen
	Fault        // where something is wrong
)

// colour returns the tone on a dark ground.
func (t Tone) colour() color.RGBA {
	switch t {
	case Begin:
		return rgb(0x4fd1a5)
	case End:
		return rgb(0xff8f6b)
	case Visual:
		return rgb(0x5ab0ff)
	case Fault:
		return rgb(0xffc53d)
	}
	return rgb(0xc3ccd8)
}

// onWhite returns the tone on a white ground.
func (t Tone) onWhite() color.RGBA {
	switch t {
	case Begin:
		return rgb(0x12805c)
	case End:
		return rgb(0xc2410c)
	case Visual:
		return rgb(0x1d63c9)
	case Fault:
		return rgb(0xb45309)
	}
	return rgb(0x64707f)
}

// lineColour returns the colour of the i-th line of a graph, on white. The first six differ for
// people who do not tell red from green, by their lightness too.
func lineColour(i int) color.RGBA {
	palette := [...]uint32{0x1d63c9, 0xe07b16, 0x0d8f77, 0xb83280, 0x7a5bd0, 0x5d6b7c}
	return rgb(palette[i%len(palette)])
}

// mix returns a and b, b taking t of 0…1.
func mix(a, b color.RGBA, t float64) color.RGBA {
	at := func(a, b byte) byte { return byte(float64(a)*(1-t) + float64(b)*t + 0.5) }
	return color.RGBA{R: at(a.R, b.R), G: at(a.G, b.G), B: at(a.B, b.B), A: 255}
}
