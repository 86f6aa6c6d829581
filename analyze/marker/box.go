package marker

import (
	"image"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

const (
	// minArea is the part of a frame that a marker must cover to be one at all.
	minArea = 0.2
	// minShare is the minimum part of the looks that then show the marker. A box is a of the
	// frame wide and b high, with a·b ≥ 0.2. It holds at least ⌊7a⌋ of the 8 columns. The minimum
	// is one column, where a is just under 2/7 and b over 0.7: 8.7 %.
	minShare = 0.08
)

// box returns the bounding box of a hue, or an empty one if the box is not a full marker. It omits
// rows and columns with less than half as many pixels of the hue as the fullest. So a green spot in
// a browser's bar does not stretch the box. The lines of a code, which show little of the marker,
// belong to it.
//
// While the box's content does not change, the box is the same until reach pixels outside have
// changed. A row or column needs that many to get to half of the fullest.
func (e *eye) box(m frame.Image, h hue) (r image.Rectangle, reach int) {
	clear(e.col)
	for y := range e.row {
		line := e.read(m, y, 0, len(e.col))
		n := int32(0)
		for x := range e.col {
			if hueOf(int(line[3*x]), int(line[3*x+1]), int(line[3*x+2])) == h {
				e.col[x]++
				n++
			}
		}
		e.row[y] = n
	}
	x0, x1, lackX := ends(e.col)
	y0, y1, lackY := ends(e.row)
	r = image.Rect(x0, y0, x1, y1)
	if float64(area(r)) < minArea*float64(area(e.all())) {
		return image.Rectangle{}, 0
	}
	up := r
	up.Min.Y = max(0, up.Min.Y-codeCell(r.Dx()))
	f := field{Rectangle: r}
	if _, place, ok := e.code(m, up); ok {
		f = field{up, place}
	} else if _, place, ok := e.code(m, r); ok {
		f.code = place
	}
	if _, ok := e.fills(m, f, h); !ok {
		return image.Rectangle{}, 0
	}
	return f.Rectangle, min(lackX, lackY)
}

// ends returns the range that contains every number of at least half of the highest. lack is the
// distance from that limit to the highest number outside the range.
func ends(n []int32) (first, end, lack int) {
	var most int32
	for _, v := range n {
		most = max(most, v)
	}
	if most == 0 {
		return 0, 0, 0
	}
	first, lack = -1, math.MaxInt
	for i, v := range n {
		if 2*v >= most {
			if first < 0 {
				first = i
			}
			end = i + 1
		}
	}
	for i, v := range n {
		if i < first || i >= end {
			lack = min(lack, int(most+1)/2-int(v))
		}
	}
	return first, end, lack
}

// similar reports whether a box is what sliding bars may have made of a region: it has at least
// three quarters of it.
func similar(box, r image.Rectangle) bool {
	return 4*area(box.Intersect(r)) >= 3*area(r) && !box.Empty()
}

// similarShare is the part of the looks at a region that then shows the marker.
const similarShare = 0.7

// spans reports whether a box reaches from one side of a region to the other. The area between bars
// does.
func spans(box, r image.Rectangle) bool {
	return box.Min.X <= r.Min.X && box.Max.X >= r.Max.X || box.Min.Y <= r.Min.Y && box.Max.Y >= r.Max.Y
}
