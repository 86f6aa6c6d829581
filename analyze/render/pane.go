package render

import (
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// pane shows the frames of one recording, and a bar below them. It does only the work that a change
// needs: changed rows are converted, and drawn in bands.
//
// A band must equal its part of the whole scaled picture. So it begins and ends where rows of the
// frame and of the video meet. These are multiples of unitIn and unitOut, the two heights divided
// by their common divisor.
type pane struct {
	surface surface
	layout  *frame.Layout
	conv    *frame.Converter
	content image.Rectangle // in the video
	bar     *bar            // nil for none
	barAt   image.Point

	size            image.Point // of pix: a frame's, made even
	pix             []byte      // the frame, B G R
	scratch         []byte
	unitIn, unitOut int
	rows            []extent // the part of the frame to be converted
	empty           bool     // no frame was shown yet
	stale           bool     // the content shows something else than the frame: a hatching, or nothing
	nothing         []byte   // the empty picture, B G R; nil: not drawn yet
}

// extent is a range of pixels in a row; empty where to is not beyond from.
type extent struct{ from, to int32 }

func newPane(to surface, l *frame.Layout, g paneGeometry, b *bar) *pane {
	p := &pane{
		surface: to, layout: l, conv: frame.NewConverter(l), content: g.content, bar: b, barAt: g.bar,
		size: g.in, pix: make([]byte, 3*g.in.X*g.in.Y), // the line that makes a size even stays black
		rows: make([]extent, l.Format.Height), empty: true,
	}
	common := divisor(g.in.Y, g.content.Dy())
	p.unitIn, p.unitOut = g.in.Y/common, g.content.Dy()/common
	return p
}

func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// convert takes a frame that differs from the one shown before by change, nil where that is not
// known. Nothing is drawn yet.
func (p *pane) convert(m frame.Image, change *frame.Change) {
	f := p.layout.Format
	if change == nil || p.empty {
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
			at := 3 * (y*p.size.X + int(r.from))
			p.conv.BGRRow(p.pix[at:at+3*int(r.to-r.from)], m, y, int(r.from), int(r.to))
		}
	}
	if p.stale { // all is to be drawn again
		for y := range p.rows {
			p.rows[y] = extent{0, 1}
		}
	}
	p.empty, p.stale = false, false
}

// scale draws the converted rows into the content.
func (p *pane) scale() {
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
		p.drawBand(from, to)
	}
	clear(p.rows)
}

// dirty reports whether a row of a unit is to be drawn.
func (p *pane) dirty(unit int) bool {
	for _, r := range p.rows[unit*p.unitIn : min((unit+1)*p.unitIn, len(p.rows))] {
		if r.to > r.from {
			return true
		}
	}
	return false
}

// drawBand draws units from ≤ u < to.
func (p *pane) drawBand(from, to int) {
	r := image.Rect(p.content.Min.X, p.content.Min.Y+from*p.unitOut, p.content.Max.X, p.content.Min.Y+to*p.unitOut)
	row := 3 * p.size.X
	p.surface.draw(r, p.pix[from*p.unitIn*row:to*p.unitIn*row], image.Pt(p.size.X, (to-from)*p.unitIn))
}

// hatch draws the sign for a missing frame.
func (p *pane) hatch() {
	if !p.stale {
		size := p.content.Size()
		hatch(p.room(size), size)
		p.surface.draw(p.content, p.scratch, size)
		p.stale = true
	}
}

// blank draws an empty picture in place of the converted frame.
func (p *pane) blank() error {
	size := p.content.Size()
	if p.nothing == nil {
		img, err := Nothing(size)
		if err != nil {
			return err
		}
		p.nothing = make([]byte, 3*size.X*size.Y)
		toBGR(p.nothing, img, img.Rect)
	}
	p.surface.draw(p.content, p.nothing, size)
	clear(p.rows)
	p.stale = true
	return nil
}

// toBGR copies a part of a picture.
func toBGR(dst []byte, img *image.RGBA, r image.Rectangle) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		src := img.Pix[img.PixOffset(r.Min.X, y) : img.PixOffset(r.Max.X-1, y)+4]
		for len(src) >= 4 {
			dst[0], dst[1], dst[2] = src[2], src[1], src[0]
			src, dst = src[4:], dst[3:]
		}
	}
}

// room returns memory for a picture.
func (p *pane) room(size image.Point) []byte {
	if n := 3 * size.X * size.Y; cap(p.scratch) < n {
		p.scratch = make([]byte, n)
	} else {
		p.scratch = p.scratch[:n]
	}
	return p.scratch
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
		if r.Empty() {
			continue
		}
		toBGR(p.room(r.Size()), img, r)
		p.surface.draw(r.Add(p.barAt), p.scratch, r.Size())
	}
	p.bar.clean()
}
