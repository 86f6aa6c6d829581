package certify

import (
	"errors"
	"image"
	"math"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// placement is the picture's place in the recorded frames: x = Left + ScaleX·X for a place X of the
// picture, in pixels, and the same for y.
type placement struct {
	scaleX, scaleY, left, top float64
	lines                     []strip.Line
}

// errNoPattern says that no frame shows the pattern.
var errNoPattern = errors.New(
	"no frame shows the pattern: check the cable, another window in front of it, and copy protection")

// locate looks for the pattern in a few frames and takes the one in which most of it is found.
func (e *evidence) locate() (placement, error) {
	finder, err := strip.NewFinder(e.segment.Layout)
	if err != nil {
		return placement{}, err
	}
	rgba := frame.NewConverter(e.segment.Layout)
	var best placement
	for _, n := range e.probes() {
		img, err := e.rec.Image(n)
		if damaged := (*recording.CorruptError)(nil); errors.As(err, &damaged) {
			continue
		}
		if err != nil {
			return placement{}, err
		}
		if p, ok := e.place(finder.Find(img), img, rgba); ok && len(p.lines) > len(best.lines) {
			best = p
		}
		if len(best.lines) == strip.Copies {
			break
		}
	}
	if len(best.lines) == 0 {
		return placement{}, errNoPattern
	}
	return best, nil
}

// probes are the frames in which the pattern is searched for: some all over the recording, then the
// first and the last ones. The last kind shows the pictures at the source's beginning and end.
// These come through whole even if each picture is mixed with the next.
func (e *evidence) probes() []int {
	const spread, ends = 24, 12
	first, frames := e.segment.First, e.segment.Frames
	var all []int
	for i := range min(spread, frames) {
		all = append(all, first+frames*(2*i+1)/(2*min(spread, frames)))
	}
	for i := range min(ends, frames) {
		all = append(all, first+i, first+frames-1-i)
	}
	return all
}

// place fits the picture's place to copies that were found. It needs two whose number from the top
// is known.
func (e *evidence) place(lines []strip.Line, img frame.Image, rgba *frame.Converter) (placement, bool) {
	var p placement
	var x, cell float64
	var vertical fit
	geo := e.pattern.geo
	for _, l := range lines {
		if l.Code.Free != e.pattern.Nonce || l.Mixed {
			continue
		}
		k, ok := index(l, img, rgba)
		if !ok {
			continue
		}
		p.lines = append(p.lines, l)
		x, cell = x+l.Left, cell+l.Cell
		if l.First > 1 && l.Last < img.Layout.Format.Height-2 { // else part of it may be cut off
			vertical.add(float64(geo.Tops[k])+float64(geo.Cell)/2, middle(l, img, rgba))
		}
	}
	n := float64(len(p.lines))
	if vertical.n < 2 {
		return placement{}, false
	}
	p.scaleX = cell / n / float64(geo.Cell)
	p.left = x/n - p.scaleX*float64(geo.Left)
	p.top, p.scaleY = vertical.solve()
	return p, p.scaleY > 0
}

// index reads which copy a line is from the cells to its right.
func index(l strip.Line, img frame.Image, rgba *frame.Converter) (int, bool) {
	k := 0
	for bit := range 3 {
		v, ok := green(img, rgba, int(l.Left+l.Cell*(indexCells+float64(bit)+0.5)), l.Middle())
		if !ok {
			return 0, false
		}
		k <<= 1
		if v >= 128 {
			k |= 1
		}
	}
	return k - 1, k >= 1 && k <= strip.Copies
}

// green returns the green sample of a pixel.
func green(img frame.Image, rgba *frame.Converter, x, y int) (float64, bool) {
	f := img.Layout.Format
	if x < 0 || y < 0 || x >= f.Width || y >= f.Height {
		return 0, false
	}
	var px [4]byte
	rgba.RGBARow(px[:], img, y, x, x+1)
	return float64(px[1]), true
}

// middle returns the y of a copy's middle to a part of a pixel. It is computed from the beginning
// and end of the first cell, which is white.
func middle(l strip.Line, img frame.Image, rgba *frame.Converter) float64 {
	x := int(l.Left + l.Cell/2)
	top, bottom := float64(l.First), float64(l.Last+1)
	white, _ := green(img, rgba, x, l.Middle())
	cross := func(y, step int) (float64, bool) {
		for range 4 {
			in, okIn := green(img, rgba, x, y)
			out, okOut := green(img, rgba, x, y+step)
			if !okIn || !okOut {
				return 0, false
			}
			if in >= white/2 && out < white/2 {
				return float64(y) + 0.5 + float64(step)*(in-white/2)/(in-out), true
			}
			y += step
		}
		return 0, false
	}
	if y, ok := cross(l.First, -1); ok {
		top = y
	}
	if y, ok := cross(l.Last, 1); ok {
		bottom = y
	}
	return (top + bottom) / 2
}

// fit fits y = start + step·x by least squares.
type fit struct{ n, x, y, xx, xy float64 }

func (f *fit) add(x, y float64) {
	f.n, f.x, f.y, f.xx, f.xy = f.n+1, f.x+x, f.y+y, f.xx+x*x, f.xy+x*y
}

func (f *fit) solve() (start, step float64) {
	step = (f.n*f.xy - f.x*f.y) / (f.n*f.xx - f.x*f.x)
	return (f.y - step*f.x) / f.n, step
}

// unscaled reports whether a pixel of the picture is a pixel of the frame. It also returns the
// picture's shift.
func (p placement) unscaled(q *Pattern) (shift image.Point, ok bool) {
	dx, dy := math.Round(p.left), math.Round(p.top)
	const slack = 0.4 // pixels at the picture's edges: what the fit may be wrong by
	near := func(start, scale float64, size int, at float64) bool {
		return math.Abs(start-at) < slack && math.Abs(start+scale*float64(size)-at-float64(size)) < slack
	}
	return image.Pt(int(dx), int(dy)), near(p.left, p.scaleX, q.Width, dx) && near(p.top, p.scaleY, q.Height, dy)
}

// rect returns the place of a rectangle of the picture in the frame. It omits the edge, which
// neighbours may bleed into.
func (p placement) rect(r image.Rectangle, f frame.Format) image.Rectangle {
	inset := func(scale float64) float64 { return 1 + math.Max(2, math.Ceil(2*scale)) }
	const tiny = 1e-6 // of a pixel: what a fit that is exact may be wrong by
	out := image.Rectangle{
		Min: image.Pt(int(math.Ceil(p.left+p.scaleX*float64(r.Min.X)+inset(p.scaleX)-tiny)),
			int(math.Ceil(p.top+p.scaleY*float64(r.Min.Y)+inset(p.scaleY)-tiny))),
		Max: image.Pt(int(math.Floor(p.left+p.scaleX*float64(r.Max.X)-inset(p.scaleX)+tiny)),
			int(math.Floor(p.top+p.scaleY*float64(r.Max.Y)-inset(p.scaleY)+tiny))),
	}
	if out.Empty() {
		return image.Rectangle{}
	}
	return out.Intersect(image.Rect(0, 0, f.Width, f.Height))
}
