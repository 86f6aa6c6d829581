package strip

import (
	"fmt"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// Line is a copy of the strip that the Finder found, at any place and scale. Places are in pixels
// of the frame, the middle of its first pixel at 0.5.
type Line struct {
	Code        Code
	First, Last int     // the rows in which it can be read
	Left, Cell  float64 // the left edge of the first cell, and the width of a cell
	// Mixed says that some of the rows say something else: the frame changes within the copy.
	Mixed bool
}

// Middle returns the row in the middle of the copy.
func (l Line) Middle() int { return (l.First + l.Last) / 2 }

// Finder finds copies of the strip anywhere in frames of one layout: shifted, cropped or scaled.
// The strip must be as [Draw] draws it, black and white at a contrast of minContrast or more. Its
// cells must be at least about 1.5 pixels wide. A copy that does not begin at the frame's edge
// needs something dark to its left.
//
// It reads every row and follows the edges between black and white. For reading frame after frame,
// use a decoder at the found places: see [NewPlaced].
type Finder struct {
	layout *frame.Layout
	luma   lumaAt
	edges  []edge // of one row
}

// edge is where a row changes between black and white.
type edge struct {
	x    float64
	rise bool // to white
}

// NewFinder returns a finder for frames of a layout.
func NewFinder(l *frame.Layout) (*Finder, error) {
	luma, ok := lumaOf(l.Format.Pixel)
	if !ok {
		return nil, fmt.Errorf("find code strip: unknown pixel format %v", l.Format.Pixel)
	}
	return &Finder{layout: l, luma: luma}, nil
}

// maxLines bounds what a hostile frame can make a finder return.
const maxLines = 64

// Find returns the copies in a frame from top to bottom.
func (f *Finder) Find(img frame.Image) []Line {
	var lines []Line
	var votes map[Code]int // of the last line's rows
	for y := range min(f.layout.Format.Height, len(img.Rows)) {
		at, ok := f.findInRow(img.Rows[y])
		if !ok {
			continue
		}
		last := len(lines) - 1
		if last < 0 || y > lines[last].Last+2 {
			if len(lines) == maxLines {
				break
			}
			lines = append(lines, Line{Code: at.Code, First: y, Last: y, Left: at.Left, Cell: at.Cell})
			votes = map[Code]int{at.Code: 1}
			continue
		}
		l := &lines[last]
		n := float64(y - l.First)
		l.Left, l.Cell = (l.Left*n+at.Left)/(n+1), (l.Cell*n+at.Cell)/(n+1)
		l.Last = y
		l.Mixed = l.Mixed || at.Code != l.Code
		if votes[at.Code]++; votes[at.Code] > votes[l.Code] {
			l.Code = at.Code
		}
	}
	return lines
}

// findInRow returns the first copy in a row of pixels.
func (f *Finder) findInRow(row []byte) (Line, bool) {
	f.findEdges(row)
	for i := range f.edges {
		if !f.edges[i].rise {
			continue
		}
		if l, ok := follow(f.edges[i:]); ok {
			return l, true
		}
	}
	return Line{}, false
}

// findEdges fills edges with where the row crosses the middle between its darkest and its lightest
// sample. A crossing lies between the middles of two pixels, as far along as the sample values say.
func (f *Finder) findEdges(row []byte) {
	f.edges = f.edges[:0]
	n := min(f.layout.Format.Width, (len(row)-f.luma.first-1)/f.luma.step+1)
	if n < Cells || len(row) <= f.luma.first {
		return
	}
	at := func(x int) int { return int(row[f.luma.first+x*f.luma.step]) }
	low, high := 255, 0
	for x := range n {
		low, high = min(low, at(x)), max(high, at(x))
	}
	if high-low < minContrast {
		return
	}
	threshold := float64(low+high) / 2
	before := at(0)
	if float64(before) >= threshold {
		f.edges = append(f.edges, edge{0, true})
	}
	for x := 1; x < n; x++ {
		v := at(x)
		if a, b := float64(before), float64(v); (a < threshold) != (b < threshold) {
			f.edges = append(f.edges, edge{float64(x) - 0.5 + (threshold-a)/(b-a), b > a})
		}
		before = v
	}
}

// follow reads a copy whose first cell begins at the first edge. The lead, whose runs are 1 1 2 2 1
// cells long, gives the width of a cell; each further edge makes it more exact, so that a run of
// forty equal cells is still counted right.
func follow(edges []edge) (Line, bool) {
	runs := [...]float64{1, 1, 2, 2, 1}
	const slack = 0.45 // of a cell: what blur and sampling may move an edge by
	if len(edges) <= len(runs) {
		return Line{}, false
	}
	start := edges[0].x
	cell := (edges[len(runs)].x - start) / 7
	if cell < 1.2 {
		return Line{}, false
	}
	for i, want := range runs {
		if math.Abs(edges[i+1].x-edges[i].x-want*cell) > slack*cell+0.3 {
			return Line{}, false
		}
	}
	var b bits
	var fit line
	k := 0.0
	for i, e := range edges {
		next := math.Round((e.x - start) / cell)
		if i > 0 && (next <= k || math.Abs(e.x-start-next*cell) > slack*cell) && next < Cells {
			return Line{}, false
		}
		if i > 0 && !e.rise { // a white run ends
			for c := int(k); c < min(int(next), Cells); c++ {
				b.set(c)
			}
		}
		if next > Cells {
			k = next
			break
		}
		k = next
		fit.add(k, e.x)
		if k >= 7 {
			start, cell = fit.solve()
		}
		if k == Cells {
			break
		}
	}
	if k < Cells { // the last cell, which is white, ends with the row
		b.set(Cells - 1)
	}
	code, ok := decode(b)
	return Line{Code: code, Left: start, Cell: cell}, ok
}

// line fits x = start + cell·k by least squares.
type line struct{ n, k, x, kk, kx float64 }

func (l *line) add(k, x float64) {
	l.n, l.k, l.x, l.kk, l.kx = l.n+1, l.k+k, l.x+x, l.kk+k*k, l.kx+k*x
}

func (l *line) solve() (start, cell float64) {
	cell = (l.n*l.kx - l.k*l.x) / (l.n*l.kk - l.k*l.k)
	return (l.x - cell*l.k) / l.n, cell
}
