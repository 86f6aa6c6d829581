package marker

import (
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

const (
	// chroma is how far a marker's channel stands out of the other two. A range compressed twice leaves
	// 188 of 255; noise of ±6, multiplied by a YUV matrix, takes up to 34 of them.
	chroma = 140
	// neutral is how far the other two channels may differ.
	neutral = 48
)

// hue is which marker a pixel belongs to.
type hue uint8

const (
	noHue hue = iota
	greenHue
	redHue
	numHues
)

// hueOf classifies one pixel.
func hueOf(b, g, r int) hue {
	switch {
	case g-r >= chroma && g-b >= chroma && r-b <= neutral && b-r <= neutral:
		return greenHue
	case r-g >= chroma && r-b >= chroma && g-b <= neutral && b-g <= neutral:
		return redHue
	}
	return noHue
}

// eye looks at frames of one layout.
type eye struct {
	layout *frame.Layout
	conv   *frame.Converter
	line   []byte  // one line as B G R
	col    []int32 // green pixels by column; scratch of box
	row    []int32 // green pixels by row; scratch of box
}

func newEye(l *frame.Layout) *eye {
	f := l.Format
	return &eye{l, frame.NewConverter(l), make([]byte, 3*f.Width), make([]int32, f.Width), make([]int32, f.Height)}
}

func (e *eye) all() image.Rectangle {
	return image.Rect(0, 0, e.layout.Format.Width, e.layout.Format.Height)
}

// read returns pixels of a line as B G R, valid until the next read.
func (e *eye) read(m frame.Image, y, x0, x1 int) []byte {
	b := e.line[:3*(x1-x0)]
	e.conv.BGRRow(b, m, y, x0, x1)
	return b
}

// counts are pixels by hue.
type counts [numHues]int

// share returns how many of all pixels have a hue, in 0…1.
func (c counts) share(h hue) float64 {
	return float64(c[h]) / float64(max(1, c[noHue]+c[greenHue]+c[redHue]))
}

func countHues(line []byte, c *counts) {
	for i := 0; i+3 <= len(line); i += 3 {
		c[hueOf(int(line[i]), int(line[i+1]), int(line[i+2]))]++
	}
}

// Samples that are looked at before a frame is read whole: a grid of so many pixels.
const (
	sampleColumns = 32
	sampleRows    = 24
)

// sample counts the hues of a grid over r, its edges included.
func (e *eye) sample(m frame.Image, r image.Rectangle) (c counts) {
	for i := range sampleRows {
		y := r.Min.Y + i*(r.Dy()-1)/(sampleRows-1)
		for j := range sampleColumns {
			x := r.Min.X + j*(r.Dx()-1)/(sampleColumns-1)
			countHues(e.read(m, y, x, x+1), &c)
		}
	}
	return c
}

// count counts the hues of every pixel of r.
func (e *eye) count(m frame.Image, r image.Rectangle) (c counts) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		countHues(e.read(m, y, r.Min.X, r.Max.X), &c)
	}
	return c
}

const (
	full         = 0.99 // share of R's pixels that makes a marker full
	fullOfSample = 0.90 // share of samples below which it is not worth counting
)

// fullOf returns which marker fills r, or noHue.
func (e *eye) fullOf(m frame.Image, r image.Rectangle) hue {
	s := e.sample(m, r)
	for _, h := range [...]hue{greenHue, redHue} {
		if s.share(h) >= fullOfSample && e.count(m, r).share(h) >= full {
			return h
		}
	}
	return noHue
}

// leastArea is the part of a frame that a green must cover to be a marker at all.
const leastArea = 0.2

// box returns the bounding box of the green, or an empty one if what is in it is not full green.
// Rows and columns with less than half as much green as the fullest are left out, so that a green spot
// in a browser's bar does not stretch it.
func (e *eye) box(m frame.Image) image.Rectangle {
	clear(e.col)
	for y := range e.row {
		line := e.read(m, y, 0, len(e.col))
		n := int32(0)
		for x := range e.col {
			if hueOf(int(line[3*x]), int(line[3*x+1]), int(line[3*x+2])) == greenHue {
				e.col[x]++
				n++
			}
		}
		e.row[y] = n
	}
	x0, x1 := ends(e.col)
	y0, y1 := ends(e.row)
	r := image.Rect(x0, y0, x1, y1)
	if float64(r.Dx()*r.Dy()) < leastArea*float64(len(e.col)*len(e.row)) || e.count(m, r).share(greenHue) < full {
		return image.Rectangle{}
	}
	return r
}

// ends returns the range outside of which no number is at least half of the highest.
func ends(n []int32) (first, end int) {
	var most int32
	for _, v := range n {
		most = max(most, v)
	}
	if most == 0 {
		return 0, 0
	}
	first = -1
	for i, v := range n {
		if 2*v >= most {
			if first < 0 {
				first = i
			}
			end = i + 1
		}
	}
	return first, end
}

// band returns which lines of r are all of a hue: the longest run of them, as [y0, y1).
func (e *eye) band(m frame.Image, r image.Rectangle, h hue) (y0, y1 int) {
	start := -1
	for y := r.Min.Y; y <= r.Max.Y; y++ {
		if y < r.Max.Y && e.lineIs(m, r, y, h) {
			if start < 0 {
				start = y
			}
			continue
		}
		if start >= 0 && y-start > y1-y0 {
			y0, y1 = start, y
		}
		start = -1
	}
	return y0, y1
}

// lineIs reports whether a line of r has the hue, looking at a few pixels first.
func (e *eye) lineIs(m frame.Image, r image.Rectangle, y int, h hue) bool {
	const looks = 8
	var c counts
	for j := range looks {
		x := r.Min.X + j*(r.Dx()-1)/(looks-1)
		countHues(e.read(m, y, x, x+1), &c)
	}
	if c[h] < looks-1 {
		return false
	}
	c = counts{}
	countHues(e.read(m, y, r.Min.X, r.Max.X), &c)
	return c.share(h) >= full
}

// mean returns the mean colour of r.
func (e *eye) mean(m frame.Image, r image.Rectangle) (bgr [3]int) {
	var sum [3]int
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := e.read(m, y, r.Min.X, r.Max.X)
		for i := 0; i+3 <= len(line); i += 3 {
			sum[0] += int(line[i])
			sum[1] += int(line[i+1])
			sum[2] += int(line[i+2])
		}
	}
	n := r.Dx() * r.Dy()
	return [3]int{sum[0] / n, sum[1] / n, sum[2] / n}
}

// strays counts pixels of r that differ from a colour by more than tolerance in any channel.
func (e *eye) strays(m frame.Image, r image.Rectangle, bgr [3]int, tolerance int) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := e.read(m, y, r.Min.X, r.Max.X)
		for i := 0; i+3 <= len(line); i += 3 {
			if far(int(line[i])-bgr[0], tolerance) || far(int(line[i+1])-bgr[1], tolerance) || far(int(line[i+2])-bgr[2], tolerance) {
				n++
			}
		}
	}
	return n
}

func far(d, tolerance int) bool { return d > tolerance || -d > tolerance }
