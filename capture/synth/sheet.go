package synth

import (
	"github.com/eideticker/eideticker/capture/frame"
)

// geometry is how rectangles of pixels lie in the planes of one format. (Package frame
// knows this too, but for rows of one frame; a sheet may be larger than a frame.)
type geometry struct {
	format frame.Format
	layout *frame.Layout
	arr    arrangement
	planes []frame.Plane
	size   int
	padded bool
}

func newGeometry(f frame.Format) (*geometry, error) {
	l, err := frame.NewLayout(f)
	if err != nil {
		return nil, err
	}
	g := &geometry{format: f, layout: l, arr: arrange(f.Pixel), planes: f.Planes(), size: f.Size()}
	for _, p := range g.planes {
		g.padded = g.padded || p.Stride > p.RowBytes
	}
	return g, nil
}

// samples is how a plane's bytes stand to pixels: one group of unit bytes for every
// 1<<subX by 1<<subY pixels.
type samples struct {
	unit       int
	subX, subY uint
}

func (s samples) byteAt(x int) int  { return x >> s.subX * s.unit }
func (s samples) bytesTo(x int) int { return (x + 1<<s.subX - 1) >> s.subX * s.unit }
func (s samples) rowAt(y int) int   { return y >> s.subY }
func (s samples) rowsTo(y int) int  { return (y + 1<<s.subY - 1) >> s.subY }

// sheet is a picture in the source's pixel format, of any size.
type sheet struct {
	w, h   int
	pix    []byte
	planes []frame.Plane
	padded bool // its rows are whole rows of a frame, padding included
}

// newSheet returns a sheet of w x h pixels. One as wide as a frame has a frame's rows, so that many
// of them can be copied at once.
func (k *kit) newSheet(w, h int) (*sheet, error) {
	s := &sheet{w: w, h: h, padded: w == k.geo.format.Width}
	size := 0
	for i, smp := range k.geo.arr.planes {
		p := frame.Plane{Offset: size, RowBytes: smp.bytesTo(w), Rows: smp.rowsTo(h)}
		p.Stride = p.RowBytes
		if s.padded {
			p.Stride = k.geo.planes[i].Stride
		}
		size += p.Stride * p.Rows
		s.planes = append(s.planes, p)
	}
	var err error
	if s.pix, err = k.mem.alloc(size); err != nil {
		return nil, err
	}
	if s.padded {
		for _, p := range s.planes {
			for y := range p.Rows {
				writePadding(s.pix[p.Offset+y*p.Stride:][:p.Stride], p.RowBytes)
			}
		}
	}
	return s, nil
}

// drawn returns a sheet that draw has drawn.
func (k *kit) drawn(w, h int, draw func(*canvas)) (*sheet, error) {
	s, err := k.newSheet(w, h)
	if err != nil {
		return nil, err
	}
	if k.geo.arr.isBGRX() {
		p := s.planes[0]
		draw(&canvas{pix: s.pix, stride: p.Stride, w: w, h: h})
		return s, nil
	}
	c := newCanvas(w, h)
	draw(c)
	k.geo.convert(s, c)
	return s, nil
}

// solid returns a sheet of one colour.
func (k *kit) solid(w, h int, c colour) (*sheet, error) {
	return k.drawn(w, h, func(cv *canvas) { cv.fill(rect{0, 0, w, h}, c) })
}

func writePadding(row []byte, from int) {
	for i := range row[from:] {
		row[from+i] = 0xA5 ^ byte(i)
	}
}

// blit says that a rectangle of a sheet is shown at (dx, dy). All its places and sizes are even, unless
// it ends at the frame's edge, so that chroma samples are never cut.
type blit struct {
	from   *sheet
	shift  int // bytes by which the sheet's planes are moved: for noise, whose bytes mean nothing
	sx, sy int
	dx, dy int
	w, h   int
}

// whole shows a sheet from its upper left corner on.
func whole(s *sheet, dx, dy int) blit {
	return blit{from: s, dx: dx, dy: dy, w: s.w, h: s.h}
}

// part shows the rectangle r of a sheet at its own place.
func part(s *sheet, r rect) blit {
	return blit{from: s, sx: r.x, sy: r.y, dx: r.x, dy: r.y, w: r.w, h: r.h}
}

// clip cuts off what lies right of or below the frame, and reports whether anything is left.
func (g *geometry) clip(b *blit) bool {
	b.w = min(b.w, g.format.Width-b.dx, b.from.w-b.sx)
	b.h = min(b.h, g.format.Height-b.dy, b.from.h-b.sy)
	return b.w > 0 && b.h > 0
}

// paint carries out a list of blits. The first of a list covers the whole frame.
func (g *geometry) paint(dst []byte, list []blit) {
	for i := range list {
		b := list[i]
		if !g.clip(&b) {
			continue
		}
		for pi := range g.planes {
			g.paintPlane(dst, &b, pi)
		}
	}
}

func (g *geometry) paintPlane(dst []byte, b *blit, pi int) {
	smp, dp, sp := g.arr.planes[pi], &g.planes[pi], &b.from.planes[pi]
	y0, y1 := smp.rowAt(b.dy), smp.rowsTo(b.dy+b.h)
	src := b.from.pix[b.shift+sp.Offset+smp.rowAt(b.sy)*sp.Stride:]
	fullWidth := b.w == g.format.Width
	if fullWidth && sp.Stride == dp.Stride && (b.from.padded || sp.Stride == sp.RowBytes) {
		copy(dst[dp.Offset+y0*dp.Stride:dp.Offset+y1*dp.Stride], src)
		return
	}
	from, n := smp.byteAt(b.sx), smp.bytesTo(b.dx+b.w)-smp.byteAt(b.dx)
	to := smp.byteAt(b.dx)
	for y := y0; y < y1; y++ {
		row := dst[dp.Offset+y*dp.Stride:][:dp.Stride]
		copy(row[to:to+n], src[(y-y0)*sp.Stride+from:])
		if fullWidth {
			writePadding(row, dp.RowBytes)
		}
	}
}

// paintRow carries out what a list does to one row of the layout. Row is as long as that row.
func (g *geometry) paintRow(row []byte, y int, list []blit) {
	r := &g.layout.Rows[y]
	smp := g.arr.planes[r.Plane]
	for i := range list {
		b := list[i]
		if !g.clip(&b) || r.Y < smp.rowAt(b.dy) || r.Y >= smp.rowsTo(b.dy+b.h) {
			continue
		}
		sp := &b.from.planes[r.Plane]
		src := b.from.pix[b.shift+sp.Offset+(smp.rowAt(b.sy)+r.Y-smp.rowAt(b.dy))*sp.Stride+smp.byteAt(b.sx):]
		copy(row[smp.byteAt(b.dx):smp.bytesTo(b.dx+b.w)], src)
	}
}
