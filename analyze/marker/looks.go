package marker

import (
	"image"
	"math/bits"

	"github.com/eideticker/eideticker/capture/frame"
)

// Two steps decide whether a frame can contain a marker. So most frames need no pixels.
//
// A marker fills an area only if it shows in at least 80 % of the looks. Looks are 8 places in each
// line; one column of them may be on a border. A line has a marker's colour only if 7 of its 8
// looks have it. The colour of each look is remembered, and a change that touches a look makes it
// unknown. The looks with the colour and the unknown ones together are an upper bound for now.
// While that bound is below the limit for a marker, the frame has none, and pixels are not read.
// Movement in one part of the area makes the looks of that part unknown once, and no others. A
// caret that blinks for an hour is never looked at.
//
// The looks are part of the definition of a full marker, so the result is exact.
const (
	lookColumns = 8
	lineLooks   = 7   // of 8 in a line that may be a marker's
	fullLooks   = 0.8 // of all in an area that a marker may fill
)

// looks are the states of the sampled places in an area of the frame.
type looks struct {
	eye     *eye
	area    image.Rectangle
	skip    int // lines at the top in which a code may stand: not counted for the area
	columns [lookColumns]int
	left    []uint8 // by column of the area, and one more: columns before it

	// By line of the area, a bit for each column. Those that are unknown are in neither hue.
	is      [numHues][]uint8
	unknown []uint8

	// Of all counted lines: looks that surely have a hue, and looks that may have it.
	sure, could [numHues]int
	redLines    int // lines that may be all red
}

func newLooks(e *eye) *looks {
	l := &looks{eye: e, left: make([]uint8, e.layout.Format.Width+1), unknown: make([]uint8, e.layout.Format.Height)}
	for h := range l.is {
		l.is[h] = make([]uint8, e.layout.Format.Height)
	}
	return l
}

// reset begins to look at an area, of which nothing is known.
func (l *looks) reset(r image.Rectangle) {
	l.area, l.skip = r, codeLines(r)
	for j := range l.columns {
		l.columns[j] = r.Min.X + j*(r.Dx()-1)/(lookColumns-1)
	}
	j := 0
	for x := range r.Dx() + 1 {
		for j < lookColumns && l.columns[j] < r.Min.X+x {
			j++
		}
		l.left[x] = uint8(j)
	}
	for y := range r.Dy() {
		l.unknown[y] = 0xff
		l.is[greenHue][y], l.is[redHue][y] = 0, 0
	}
	l.recount()
}

// forget makes the looks in a rectangle unknown.
func (l *looks) forget(r image.Rectangle) {
	r = r.Intersect(l.area)
	if r.Empty() {
		return
	}
	a, b := l.left[r.Min.X-l.area.Min.X], l.left[r.Max.X-l.area.Min.X]
	mask := uint8(1<<b - 1<<a)
	if mask == 0 {
		return
	}
	for y := r.Min.Y - l.area.Min.Y; y < r.Max.Y-l.area.Min.Y; y++ {
		fresh := mask &^ l.unknown[y]
		if fresh == 0 {
			continue
		}
		l.count(y, -1)
		l.unknown[y] |= fresh
		l.is[greenHue][y] &^= fresh
		l.is[redHue][y] &^= fresh
		l.count(y, 1)
	}
}

// count adds a line to the sums, or takes it away.
func (l *looks) count(y, sign int) {
	unknown := bits.OnesCount8(l.unknown[y])
	red := bits.OnesCount8(l.is[redHue][y])
	if red+unknown >= lineLooks {
		l.redLines += sign
	}
	if y < l.skip {
		return
	}
	green := bits.OnesCount8(l.is[greenHue][y])
	l.sure[greenHue] += sign * green
	l.sure[redHue] += sign * red
	l.could[greenHue] += sign * (green + unknown)
	l.could[redHue] += sign * (red + unknown)
}

func (l *looks) recount() {
	l.sure, l.could, l.redLines = [numHues]int{}, [numHues]int{}, 0
	for y := range l.area.Dy() {
		l.count(y, 1)
	}
}

// refresh looks where nothing is known.
func (l *looks) refresh(m frame.Image) {
	for y := range l.area.Dy() {
		if l.unknown[y] == 0 {
			continue
		}
		for j, x := range l.columns {
			if l.unknown[y]>>j&1 == 0 {
				continue
			}
			if h := l.eye.hueAt(m, x, l.area.Min.Y+y); h != noHue {
				l.is[h][y] |= 1 << j
			}
		}
		l.unknown[y] = 0
	}
	l.recount()
}

// total is how many looks are counted.
func (l *looks) total() int { return lookColumns * (l.area.Dy() - l.skip) }

// share is the part of the looks that surely have a hue.
func (l *looks) share(h hue) float64 { return float64(l.sure[h]) / float64(l.total()) }

// bound is the part of the looks that may have a hue.
func (l *looks) bound(h hue) float64 { return float64(l.could[h]) / float64(l.total()) }

// full reports whether a marker fills the area; the looks must be fresh.
func (l *looks) full(m frame.Image, h hue) (spare int, ok bool) {
	if l.share(h) < fullLooks {
		return 0, false
	}
	return l.eye.full(m, l.area, h)
}

// band returns which lines of the area are all of a hue: the longest run of them, as [y0, y1) in
// the frame. The looks must be fresh.
func (l *looks) band(m frame.Image, h hue) (y0, y1 int) {
	start, r := -1, l.area
	for y := r.Min.Y; y <= r.Max.Y; y++ {
		if y < r.Max.Y && l.lineIs(m, y, h) {
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

func (l *looks) lineIs(m frame.Image, y int, h hue) bool {
	r := l.area
	if bits.OnesCount8(l.is[h][y-r.Min.Y]) < lineLooks {
		return false
	}
	return onePercent*(r.Dx()-l.eye.count(m, y, r.Min.X, r.Max.X, h)) <= r.Dx()
}
