package certify

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
)

// Limits of the pattern's size. Below the least, the strip's cells and the patches are too small to
// be judged.
const (
	minWidth  = 640
	minHeight = 360
	maxSide   = 1 << 13
)

// firstID is the number of the first picture. It avoids long runs of equal cells in the strip.
const firstID = 0x5a0000

// margin is the dark frame around everything, in pixels. The picture's outermost line is white. The
// strips are further inside at the left and right, by sideMargin hundredths of the width. So they
// are still whole if much is cut off.
const (
	margin     = 16
	sideMargin = 15
)

// rgb is a colour.
type rgb [3]uint8

func grey(v uint8) rgb { return rgb{v, v, v} }

// Pattern is the played picture for one size. Between the five copies of the strip it has four
// bands, from top to bottom: flat patches, fine detail, ramps, and the parts that change from frame
// to frame.
type Pattern struct {
	Width, Height int
	Nonce         uint16 // in the strip: a picture of another run is not taken for one of this

	geo    strip.Geometry
	inner  image.Rectangle // without the margin
	region image.Rectangle // in which the strip lies

	patches []patch
	detail  [numDetails]image.Rectangle
	ramps   [4]image.Rectangle // grey, red; green, blue; 256 steps each
	flicker image.Rectangle
	digits  image.Rectangle // two rows of digitBits blocks: the frame's number, and below it its inverse
	track   image.Rectangle // along which a block moves

	base []byte // B G R X of the parts that are the same in every frame
}

// patch is a flat area.
type patch struct {
	area   image.Rectangle
	colour rgb
}

// The areas of fine detail.
const (
	lumaColumns    = iota // black and white columns of one pixel
	lumaRows              // and rows
	lumaChecker           // and a checkerboard
	chromaColumns         // red and blue columns of one pixel
	chromaRows            // and rows
	chromaColumns2        // columns of two pixels
	chromaColumns4        // and of four
	numDetails
)

// digitBits is how many low bits of the number the blocks show.
const digitBits = 16

// flatColours are the patches: grey steps at both ranges' ends and between, then colours that tell
// channels, matrices and ranges apart.
func flatColours() (greys, colours []rgb) {
	for _, v := range []uint8{0, 8, 16, 24, 48, 80, 112, 144, 176, 208, 235, 255} {
		greys = append(greys, grey(v))
	}
	return greys, []rgb{
		{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {0, 255, 255}, {255, 0, 255}, {255, 255, 0},
		{128, 32, 32}, {32, 128, 32}, {32, 32, 128}, {192, 128, 64}, {64, 128, 192}, {208, 224, 128},
	}
}

// CheckSize returns an error if a size has no pattern.
func CheckSize(width, height int) error {
	if width < minWidth || height < minHeight || width > maxSide || height > maxSide {
		return fmt.Errorf("a pattern of %dx%d is not possible, want %dx%d to %dx%d", width, height, minWidth, minHeight,
			maxSide, maxSide)
	}
	return nil
}

// newPattern lays the pattern out for a size.
func newPattern(width, height int, nonce uint16) (*Pattern, error) {
	if err := CheckSize(width, height); err != nil {
		return nil, err
	}
	p := &Pattern{Width: width, Height: height, Nonce: nonce, inner: image.Rect(0, 0, width, height).Inset(margin)}
	p.region = image.Rect(width*sideMargin/100, margin, width*(100-sideMargin)/100, height-margin)
	var err error
	if p.geo, err = strip.NewGeometry(p.region); err != nil {
		return nil, err
	}
	p.layPatches(p.band(0))
	for i, r := range columns(p.band(1), int(numDetails)) {
		p.detail[i] = r
	}
	p.layRamps(p.band(2))
	p.layMotion(p.band(3))
	p.base = make([]byte, width*height*4)
	p.paintBase()
	return p, nil
}

// band returns the space between copy k of the strip and the next, less the dark that surrounds
// both.
func (p *Pattern) band(k int) image.Rectangle {
	quiet := p.geo.Cell
	return image.Rect(p.inner.Min.X, p.geo.Tops[k]+p.geo.Cell+quiet, p.inner.Max.X, p.geo.Tops[k+1]-quiet)
}

// columns cuts a rectangle into n side by side, with some dark between. Each begins at an even
// pixel, as chroma does.
func columns(r image.Rectangle, n int) []image.Rectangle {
	out := make([]image.Rectangle, n)
	for i := range out {
		x0, x1 := r.Min.X+r.Dx()*i/n, r.Min.X+r.Dx()*(i+1)/n
		out[i] = image.Rect((x0+1)&^1, (r.Min.Y+1)&^1, (x1-4)&^1, r.Max.Y&^1)
	}
	return out
}

func (p *Pattern) layPatches(band image.Rectangle) {
	greys, colours := flatColours()
	middle := band.Min.Y + band.Dy()/2
	upper, lower := band, band
	upper.Max.Y, lower.Min.Y = middle-1, middle+1
	for i, r := range columns(upper, len(greys)) {
		p.patches = append(p.patches, patch{r, greys[i]})
	}
	for i, r := range columns(lower, len(colours)) {
		p.patches = append(p.patches, patch{r, colours[i]})
	}
}

func (p *Pattern) layRamps(band image.Rectangle) {
	step := band.Dx() / 256
	for i := range p.ramps {
		y := band.Min.Y + band.Dy()*i/len(p.ramps)
		end := band.Min.Y + band.Dy()*(i+1)/len(p.ramps)
		p.ramps[i] = image.Rect(band.Min.X, (y+1)&^1, band.Min.X+256*step, end&^1)
	}
}

func (p *Pattern) layMotion(band image.Rectangle) {
	parts := columns(band, 6)
	p.flicker = parts[0]
	p.digits = image.Rect(parts[1].Min.X, parts[1].Min.Y, parts[3].Max.X, parts[3].Max.Y)
	p.digits.Max.X = p.digits.Min.X + p.digits.Dx()/digitBits*digitBits
	p.track = image.Rect(parts[4].Min.X, parts[4].Min.Y, parts[5].Max.X, parts[5].Max.Y)
}

// id returns the number of picture n as the strip has it.
func id(n int) uint32 { return uint32(firstID+n) % strip.Modulus }

// code is what the strip of picture n says. Its clock is only the number again, scrambled.
func (p *Pattern) code(n int) strip.Code {
	return strip.Code{ID: id(n), Clock: uint32(n) * 0x9e37 % strip.Modulus, Free: p.Nonce}
}
