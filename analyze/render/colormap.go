package render

import (
	"image/color"
	"math"
)

// Colour maps for counts.
//
// Both are made in OKLab (B. Ottosson, "A perceptual color space for image processing", 2020). In
// it, equal distances look about equally large. A colour has a lightness L of 0…1, a hue and a
// chroma. The sequential map climbs evenly in L from near black over violet, red and orange to a
// pale yellow. So more is always lighter, also in print without colour. The diverging map falls
// evenly in L from a pale grey in the middle. One side ends in blue, the other in orange-red. If
// sRGB does not reach a chroma, it is lowered, and L stays.

const mapSteps = 256

type colourMap [mapSteps]color.RGBA

// at returns the colour of t, 0…1.
func (m *colourMap) at(t float64) color.RGBA {
	return m[int(math.Min(1, math.Max(0, t))*(mapSteps-1)+0.5)]
}

// sequential goes from dark to light.
func sequential() *colourMap {
	var m colourMap
	for i := range m {
		t := float64(i) / (mapSteps - 1)
		hue := 285 + 180*math.Pow(t, 0.85) // over 360: violet 285, red 385, yellow 465
		chroma := 0.21*math.Sin(math.Pi*math.Min(1, 0.12+0.80*t)) + 0.02
		m[i] = oklch(0.17+0.79*t, chroma, hue)
	}
	return &m
}

// diverging goes from blue over pale grey to orange-red; 0.5 is the middle.
func diverging() *colourMap {
	var m colourMap
	for i := range m {
		t := 2*float64(i)/(mapSteps-1) - 1
		size := math.Abs(t)
		hue := 255.0
		if t > 0 {
			hue = 38
		}
		m[i] = oklch(0.95-0.50*size, 0.19*math.Pow(size, 0.8), hue)
	}
	return &m
}

// oklch returns the sRGB colour of a lightness, a chroma and a hue in degrees. It lowers a chroma
// that sRGB does not have.
func oklch(l, chroma, hue float64) color.RGBA {
	sin, cos := math.Sincos(hue * math.Pi / 180)
	c, ok := oklab(l, chroma*cos, chroma*sin)
	if ok {
		return c
	}
	low, high := 0.0, chroma
	for range 24 {
		mid := (low + high) / 2
		if _, ok := oklab(l, mid*cos, mid*sin); ok {
			low = mid
		} else {
			high = mid
		}
	}
	c, _ = oklab(l, low*cos, low*sin)
	return c
}

// oklab converts to sRGB of 8 bits and reports whether it has the colour.
func oklab(lightness, a, b float64) (color.RGBA, bool) {
	cube := func(x float64) float64 { return x * x * x }
	l := cube(lightness + 0.3963377774*a + 0.2158037573*b)
	m := cube(lightness - 0.1055613458*a - 0.0638541728*b)
	s := cube(lightness - 0.0894841775*a - 1.2914855480*b)
	within := true
	channel := func(x float64) byte {
		const slack = 1e-4
		if x < -slack || x > 1+slack {
			within = false
		}
		x = math.Min(1, math.Max(0, x))
		if x <= 0.0031308 { // IEC 61966-2-1
			x *= 12.92
		} else {
			x = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		return byte(255*x + 0.5)
	}
	c := color.RGBA{
		R: channel(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		G: channel(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		B: channel(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
		A: 255,
	}
	return c, within
}
