package marker

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

const (
	// chroma is how far a marker's channel stands out of the other two. A range compressed twice
	// leaves 188 of 255; noise of ±6, multiplied by a YUV matrix, takes up to 34 of them.
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
	col    []int32 // pixels of a hue by column; scratch of box
	row    []int32 // pixels of a hue by row; scratch of box

	decoder *strip.Decoder // of codes in decodes; nil: it can hold none
	decodes image.Rectangle
}

func newEye(l *frame.Layout) *eye {
	f := l.Format
	return &eye{layout: l, conv: frame.NewConverter(l), line: make([]byte, 3*f.Width), col: make([]int32, f.Width),
		row: make([]int32, f.Height)}
}

func (e *eye) all() image.Rectangle {
	return image.Rect(0, 0, e.layout.Format.Width, e.layout.Format.Height)
}

// check reports an image that is not a whole frame of the layout.
func (e *eye) check(m frame.Image) error {
	if m.Layout == nil || m.Layout.Format != e.layout.Format || len(m.Rows) != len(e.layout.Rows) {
		return fmt.Errorf("its pixels are not those of a frame of %v", e.layout.Format)
	}
	for y, row := range m.Rows {
		if len(row) < e.layout.Rows[y].Seen {
			return fmt.Errorf("row %d of its pixels has %d bytes, want %d", y, len(row), e.layout.Rows[y].Seen)
		}
	}
	return nil
}

// read returns pixels of a line as B G R, valid until the next read.
func (e *eye) read(m frame.Image, y, x0, x1 int) []byte {
	b := e.line[:3*(x1-x0)]
	e.conv.BGRRow(b, m, y, x0, x1)
	return b
}

// hueAt classifies the pixel at a place.
func (e *eye) hueAt(m frame.Image, x, y int) hue {
	p := e.read(m, y, x, x+1)
	return hueOf(int(p[0]), int(p[1]), int(p[2]))
}

// count returns how many pixels of a line have a hue.
func (e *eye) count(m frame.Image, y, x0, x1 int, h hue) (n int) {
	line := e.read(m, y, x0, x1)
	for i := 0; i+3 <= len(line); i += 3 {
		if hueOf(int(line[i]), int(line[i+1]), int(line[i+2])) == h {
			n++
		}
	}
	return n
}

// field is a region without the place in its upper left corner where a code stands.
type field struct {
	image.Rectangle
	code image.Rectangle // empty: none
}

// line returns the columns of the field in a line.
func (f field) line(y int) (x0, x1 int) {
	if y < f.code.Max.Y {
		return f.code.Max.X, f.Max.X
	}
	return f.Min.X, f.Max.X
}

func (f field) pixels() int { return area(f.Rectangle) - area(f.code) }

func area(r image.Rectangle) int { return r.Dx() * r.Dy() }

// onePercent: a marker is full if at most one pixel in so many has not its colour.
const onePercent = 100

// fills reports whether 99 % of a field have a hue, and how many more pixels might lack it.
func (e *eye) fills(m frame.Image, f field, h hue) (spare int, ok bool) {
	spare = f.pixels() / onePercent
	for y := f.Min.Y; y < f.Max.Y && spare >= 0; y++ {
		if x0, x1 := f.line(y); x0 < x1 {
			spare -= x1 - x0 - e.count(m, y, x0, x1, h)
		}
	}
	return spare, spare >= 0 && f.pixels() > 0
}

// full reports whether a marker fills a region, not counting the code in it if one can be read;
// spare is how many more pixels might change and leave it full.
func (e *eye) full(m frame.Image, r image.Rectangle, h hue) (spare int, ok bool) {
	if spare, ok = e.fills(m, field{Rectangle: r}, h); ok {
		return spare, true
	}
	if _, place, coded := e.code(m, r); coded {
		_, ok = e.fills(m, field{r, place}, h)
	}
	return 0, ok
}

// code reads copy 0 of the strip in a region, and says which place it takes.
func (e *eye) code(m frame.Image, r image.Rectangle) (c strip.Code, place image.Rectangle, ok bool) {
	if r != e.decodes {
		e.decodes = r
		if e.decoder, ok = nil, !r.Empty(); ok {
			e.decoder, _ = strip.NewDecoder(e.layout, r) // it fails where no code can stand
		}
	}
	if e.decoder == nil {
		return strip.Code{}, image.Rectangle{}, false
	}
	read := e.decoder.ReadCopy(m, 0)
	if !read.OK {
		return strip.Code{}, image.Rectangle{}, false
	}
	return read.Code, e.decoder.Geometry().Bounds()[0], true
}

// codeCell returns the lines that a code takes at the top of a region of this width, whatever its
// height; 0: none fits.
func codeCell(width int) int { return codeLines(image.Rect(0, 0, width, frame.MaxSide)) }

// codeLines returns how many lines at the top of a region a code would take.
func codeLines(r image.Rectangle) int {
	g, err := strip.NewGeometry(r)
	if err != nil {
		return 0
	}
	return g.Cell
}

// mean returns the mean colour of a field.
func (e *eye) mean(m frame.Image, f field) (bgr [3]int) {
	var sum [3]int
	for y := f.Min.Y; y < f.Max.Y; y++ {
		x0, x1 := f.line(y)
		line := e.read(m, y, x0, x1)
		for i := 0; i+3 <= len(line); i += 3 {
			sum[0] += int(line[i])
			sum[1] += int(line[i+1])
			sum[2] += int(line[i+2])
		}
	}
	n := max(1, f.pixels())
	return [3]int{sum[0] / n, sum[1] / n, sum[2] / n}
}

// strays counts pixels of a field that differ from a colour by more than tolerance in any channel.
func (e *eye) strays(m frame.Image, f field, bgr [3]int, tolerance int) (n int) {
	for y := f.Min.Y; y < f.Max.Y; y++ {
		x0, x1 := f.line(y)
		line := e.read(m, y, x0, x1)
		for i := 0; i+3 <= len(line); i += 3 {
			if far(int(line[i])-bgr[0], tolerance) || far(int(line[i+1])-bgr[1], tolerance) ||
				far(int(line[i+2])-bgr[2], tolerance) {
				n++
			}
		}
	}
	return n
}

func far(d, tolerance int) bool { return d > tolerance || -d > tolerance }
