package frame

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Region is a rectangle of pixels: X ≤ x < X+Width, Y ≤ y < Y+Height.
type Region struct {
	X, Y, Width, Height int
}

// String formats as ParseRegion reads it.
func (r Region) String() string {
	return fmt.Sprintf("%dx%d+%d+%d", r.Width, r.Height, r.X, r.Y)
}

// ErrRegion is wrapped by every error about a region that is invalid or outside its frame.
var ErrRegion = errors.New("bad region")

// ParseRegion reads "WxH+X+Y", all in pixels, such as "1280x720+0+16".
func ParseRegion(s string) (Region, error) {
	size, x, ok1 := strings.Cut(s, "+")
	x, y, ok2 := strings.Cut(x, "+")
	w, h, err := ParseSize(size)
	px, okX := parsePixels(x)
	py, okY := parsePixels(y)
	if !ok1 || !ok2 || err != nil || !okX || !okY {
		return Region{}, fmt.Errorf("%w %q: want WxH+X+Y in pixels, such as 1280x720+0+0, sides up to %d",
			ErrRegion, s, MaxSide)
	}
	return Region{X: px, Y: py, Width: w, Height: h}, nil
}

// ParseSize reads "WxH" in pixels, such as "1920x1080": both at least 1 and at most MaxSide.
func ParseSize(s string) (width, height int, err error) {
	a, b, ok := strings.Cut(s, "x")
	width, okW := parsePixels(a)
	height, okH := parsePixels(b)
	if !ok || !okW || !okH || width < 1 || height < 1 {
		return 0, 0, fmt.Errorf("bad size %q: want WxH in pixels, such as 1920x1080, from 1x1 to %dx%d", s, MaxSide,
			MaxSide)
	}
	return width, height, nil
}

// parsePixels reads plain digits up to MaxSide.
func parsePixels(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil && n <= MaxSide
}

// In reports whether the region is not empty and lies within a picture of the given size.
func (r Region) In(width, height int) bool {
	return r.X >= 0 && r.Y >= 0 && r.Width > 0 && r.Height > 0 &&
		r.Width <= width && r.Height <= height && r.X <= width-r.Width && r.Y <= height-r.Height
}

// Crop cuts a region out of frames of one format, as bytes: nothing is converted.
type Crop struct {
	Layout *Layout // of the cropped frames; without padding
	Region Region  // the region that is cut, after snapping
	rows   []cropRow
	out    [][]byte
}

type cropRow struct{ row, start int }

// NewCrop prepares to cut region r out of frames of layout l. The region shrinks to whole chroma
// blocks: a pixel that shares its chroma with a pixel outside is left out. A block at the picture's
// edge counts as whole. NewCrop fails if the region is not inside the frame or contains no whole
// block.
func (l *Layout) NewCrop(r Region) (*Crop, error) {
	f, t := l.Format, l.traits
	if !r.In(f.Width, f.Height) {
		return nil, fmt.Errorf("%w %v: the frame is %dx%d", ErrRegion, r, f.Width, f.Height)
	}
	x0, x1 := snap(r.X, r.X+r.Width, f.Width, t.subX)
	y0, y1 := snap(r.Y, r.Y+r.Height, f.Height, t.subY)
	if x0 >= x1 || y0 >= y1 {
		return nil, fmt.Errorf("%w %v: it holds no whole block of %dx%d pixels that share their chroma", ErrRegion, r,
			1<<t.subX, 1<<t.subY)
	}
	out := f
	out.Width, out.Height = x1-x0, y1-y0
	out.Stride = t.rowBytes(out.Width)
	cut, err := NewLayout(out)
	if err != nil {
		return nil, err
	}
	c := &Crop{
		Layout: cut,
		Region: Region{X: x0, Y: y0, Width: out.Width, Height: out.Height},
		out:    make([][]byte, len(cut.Rows)),
	}
	planes := f.Planes()
	for _, row := range cut.Rows {
		first := 0 // row number in l of the plane's first row
		for _, p := range planes[:row.Plane] {
			first += p.Rows
		}
		start, top := x0, y0
		switch {
		case row.Plane > 0 && t.family == semiPlanar:
			start, top = x0>>t.subX*2<<t.wide, y0>>t.subY
		case row.Plane > 0:
			start, top = x0>>t.subX, y0>>t.subY
		default:
			start = t.rowBytes(x0)
		}
		c.rows = append(c.rows, cropRow{row: first + top + row.Y, start: start})
	}
	return c, nil
}

// snap shrinks [a, b) to whole blocks of 1<<sub; the block at the picture's end may be short.
func snap(a, b, end int, sub uint) (int, int) {
	round := 1<<sub - 1
	a = (a + round) &^ round
	if b != end {
		b &^= round
	}
	return a, b
}

// Image returns the region of m as an image, without copying the bytes. The image's rows are
// reused by the next call.
func (c *Crop) Image(m Image) Image {
	for y, r := range c.rows {
		n := c.Layout.Rows[y].Seen
		c.out[y] = m.Rows[r.row][r.start : r.start+n : r.start+n]
	}
	return Image{Layout: c.Layout, Rows: c.out}
}
