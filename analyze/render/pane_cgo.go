//go:build cgo

package render

import (
	"fmt"
	"image"

	"gocv.io/x/gocv"

	"github.com/eideticker/eideticker/capture/frame"
)

// canvas is the picture that a video's slots are made of. Its panes draw into its memory.
type canvas struct {
	mat    gocv.Mat
	pix    []byte // B G R
	stride int
}

func newCanvas(size image.Point) (*canvas, error) {
	c := &canvas{mat: gocv.NewMatWithSize(size.Y, size.X, gocv.MatTypeCV8UC3), stride: 3 * size.X}
	var err error
	if c.pix, err = c.mat.DataPtrUint8(); err != nil {
		_ = c.mat.Close()
		return nil, err
	}
	ground := inkBack()
	for i := 0; i < len(c.pix); i += 3 {
		c.pix[i], c.pix[i+1], c.pix[i+2] = ground.B, ground.G, ground.R
	}
	return c, nil
}

func (c *canvas) close() {
	_ = c.mat.Close() // frees memory; cannot fail
	c.pix = nil
}

// pane shows the frames of one recording, and a bar below them. It does only what a change asks for: rows are converted as far as
// they changed, and scaled in bands.
//
// A band must come out as it would from the whole picture, so it begins and ends where rows of the frame and of the video
// meet: at multiples of unitIn and unitOut, the two heights less what divides both.
type pane struct {
	canvas  *canvas
	layout  *frame.Layout
	conv    *frame.Converter
	content image.Rectangle // in the canvas
	bar     *bar            // nil for none
	barAt   image.Point

	scaled          bool
	in              gocv.Mat // the frame at its own size, if it is scaled
	pix             []byte   // where frames are converted to: in, or the content in the canvas
	stride          int
	unitIn, unitOut int
	rows            []extent // of the frame, what is to be converted
	empty           bool     // no frame was shown yet
	stale           bool     // the content shows something else than the frame: a hatching
}

// extent is a range of pixels in a row; empty where to is not beyond from.
type extent struct{ from, to int32 }

func newPane(c *canvas, l *frame.Layout, g paneGeometry, b *bar) (*pane, error) {
	p := &pane{
		canvas: c, layout: l, conv: frame.NewConverter(l), content: g.content, bar: b, barAt: g.bar,
		scaled: g.in != g.content.Size(), rows: make([]extent, l.Format.Height), empty: true, in: gocv.NewMat(),
	}
	p.pix, p.stride = c.pix[g.content.Min.Y*c.stride+3*g.content.Min.X:], c.stride
	for y := range g.content.Dy() { // the line that makes a size even stays black
		clear(p.pix[y*p.stride : y*p.stride+3*g.content.Dx()])
	}
	if !p.scaled {
		return p, nil
	}
	_ = p.in.Close()
	p.in = gocv.NewMatWithSize(g.in.Y, g.in.X, gocv.MatTypeCV8UC3)
	var err error
	if p.pix, err = p.in.DataPtrUint8(); err != nil {
		p.close()
		return nil, fmt.Errorf("make video: %w", err)
	}
	clear(p.pix)
	p.stride = 3 * g.in.X
	common := divisor(g.in.Y, g.content.Dy())
	p.unitIn, p.unitOut = g.in.Y/common, g.content.Dy()/common
	return p, nil
}

func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

func (p *pane) close() { _ = p.in.Close() }

// convert takes a frame that differs from the one shown before by change, nil where that is not known. Nothing is scaled yet.
func (p *pane) convert(m frame.Image, change *frame.Change) {
	f := p.layout.Format
	if change == nil || p.empty || p.stale && !p.scaled {
		for y := range p.rows {
			p.rows[y] = extent{0, int32(f.Width)}
		}
	} else {
		for _, s := range change.Spans {
			x0, y0, x1, y1 := p.layout.Rect(int(s.Row), int(s.Start), int(s.End))
			for y := y0; y < y1; y++ {
				r := &p.rows[y]
				if r.to <= r.from {
					*r = extent{int32(x0), int32(x1)}
					continue
				}
				r.from, r.to = min(r.from, int32(x0)), max(r.to, int32(x1))
			}
		}
	}
	for y, r := range p.rows {
		if r.to > r.from {
			at := y*p.stride + 3*int(r.from)
			p.conv.BGRRow(p.pix[at:at+3*int(r.to-r.from)], m, y, int(r.from), int(r.to))
		}
	}
	if p.stale { // all is to be scaled again
		for y := range p.rows {
			p.rows[y] = extent{0, 1}
		}
	}
	p.empty, p.stale = false, false
	if !p.scaled {
		clear(p.rows)
	}
}

// scale brings what was converted into the content.
func (p *pane) scale() {
	if !p.scaled {
		return
	}
	for y := 0; y < len(p.rows); {
		if p.rows[y].to <= p.rows[y].from {
			y++
			continue
		}
		from := y / p.unitIn
		to := from + 1
		for y = to * p.unitIn; y < len(p.rows) && p.dirty(to); y = to * p.unitIn {
			to++
		}
		p.scaleBand(from, to)
	}
	clear(p.rows)
}

// dirty reports whether a row of a unit is to be scaled.
func (p *pane) dirty(unit int) bool {
	for _, r := range p.rows[unit*p.unitIn : min((unit+1)*p.unitIn, len(p.rows))] {
		if r.to > r.from {
			return true
		}
	}
	return false
}

// scaleBand scales units from ≤ u < to.
func (p *pane) scaleBand(from, to int) {
	src := p.in.Region(image.Rect(0, from*p.unitIn, p.in.Cols(), to*p.unitIn))
	defer src.Close()
	r := image.Rect(p.content.Min.X, p.content.Min.Y+from*p.unitOut, p.content.Max.X, p.content.Min.Y+to*p.unitOut)
	dst := p.canvas.mat.Region(r)
	defer dst.Close()
	gocv.Resize(src, &dst, r.Size(), 0, 0, gocv.InterpolationArea) // dst has the size and type already, so it stays where it is
}

// hatch draws what stands for a missing frame.
func (p *pane) hatch() {
	if !p.stale {
		hatch(p.canvas.pix, p.canvas.stride, p.content)
		p.stale = true
	}
}

// write brings the bar to a moment.
func (p *pane) write(m moment) {
	if p.bar == nil {
		return
	}
	p.bar.update(m)
	img := p.bar.img
	for _, r := range p.bar.dirty {
		r = r.Intersect(img.Rect)
		for y := r.Min.Y; y < r.Max.Y; y++ {
			src := img.Pix[img.PixOffset(r.Min.X, y) : img.PixOffset(r.Max.X-1, y)+4]
			dst := p.canvas.pix[(p.barAt.Y+y)*p.canvas.stride+3*(p.barAt.X+r.Min.X):]
			for len(src) >= 4 {
				dst[0], dst[1], dst[2] = src[2], src[1], src[0]
				src, dst = src[4:], dst[3:]
			}
		}
	}
	p.bar.clean()
}
