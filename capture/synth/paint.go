package synth

// blit shows a rectangle of a sheet at (dx, dy). Its places and sizes are even, unless it ends at
// the frame's edge. So chroma samples are never cut.
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

// clip cuts off the part right of and below the frame, and reports whether anything is left.
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
	smp, dp, sp := g.parts[pi], &g.planes[pi], &b.from.planes[pi]
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
	smp := g.parts[r.Plane]
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
