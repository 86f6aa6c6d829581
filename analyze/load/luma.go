package load

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
)

// lumas is the region as a plane of luma. Changes update it. The two structural variants of
// progress use it. Masked pixels are black in every frame.
type lumas struct {
	area  *measure.Area
	conv  *frame.Converter
	plane []byte
	rgba  []byte
	ssim  *visual.SSIM  // to fe; nil if not asked for
	edges *visual.Edges // nil if not asked for
}

// newLumas returns nil where no variant needs it.
func newLumas(l *part) (*lumas, error) {
	if !l.variants.perceptual && !l.variants.contentful {
		return nil, nil
	}
	r := l.Area.Region
	p := &lumas{area: l.Area, conv: l.conv, plane: make([]byte, r.Width*r.Height), rgba: make([]byte, 4*r.Width)}
	var err error
	if l.variants.perceptual {
		p.all(l.final)
		if p.ssim, err = visual.NewSSIM(p.plane, r.Width, r.Width, r.Height, visual.Wang); err != nil {
			return nil, fmt.Errorf("perceptual: %w", err)
		}
	}
	if l.variants.contentful {
		if p.edges, err = visual.NewEdges(r.Width, r.Height); err != nil {
			return nil, fmt.Errorf("contentful: %w", err)
		}
	}
	return p, nil
}

// all takes a whole frame.
func (p *lumas) all(m frame.Image) {
	r := p.area.Region
	for y := r.Y; y < r.Y+r.Height; y++ {
		p.line(m, y, r.X, r.X+r.Width)
	}
}

// line takes pixels [x0, x1) of a line of the picture. They are inside the region.
func (p *lumas) line(m frame.Image, y, x0, x1 int) {
	r := p.area.Region
	p.area.Runs(y, x0, x1, func(from, to int) {
		rgba := p.rgba[:4*(to-from)]
		p.conv.RGBARow(rgba, m, y, from, to)
		at := (y-r.Y)*r.Width + from - r.X
		visual.Luma(p.plane[at:at+to-from], rgba)
	})
}

// begin takes a frame of which nothing is known.
func (p *lumas) begin(m frame.Image) {
	p.all(m)
	r := p.area.Region
	p.update(frame.Region{Width: r.Width, Height: r.Height})
}

// apart is how many unchanged lines separate two rectangles of change: windows of 11 samples reach
// over fewer.
const linesApart = 16

// move applies changes.
func (p *lumas) move(m frame.Image, d *measure.Diff) {
	r := p.area.Region
	var dirty frame.Region // in the region
	for i := range d.Lines {
		l := &d.Lines[i]
		x0, x1, ok := p.area.Clip(l.Y, 64*l.Word, 64*(l.Word+len(l.Bits)))
		if !ok {
			continue
		}
		p.line(m, l.Y, x0, x1)
		x, y := x0-r.X, l.Y-r.Y
		if dirty.Height > 0 && y-(dirty.Y+dirty.Height) > linesApart {
			p.update(dirty)
			dirty = frame.Region{}
		}
		if dirty.Height == 0 {
			dirty = frame.Region{X: x, Y: y, Width: x1 - x0, Height: 1}
			continue
		}
		right := max(dirty.X+dirty.Width, x1-r.X)
		dirty.X = min(dirty.X, x)
		dirty.Width, dirty.Height = right-dirty.X, y-dirty.Y+1
	}
	if dirty.Height > 0 {
		p.update(dirty)
	}
}

func (p *lumas) update(dirty frame.Region) {
	width := p.area.Region.Width
	var err error
	if p.ssim != nil {
		_, err = p.ssim.Update(p.plane, width, dirty)
	}
	if p.edges != nil && err == nil {
		_, err = p.edges.Update(p.plane, width, dirty)
	}
	if err != nil {
		panic(fmt.Sprintf("luma of a region: %v", err)) // it has the size with which both were made
	}
}
