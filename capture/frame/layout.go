package frame

import "encoding/binary"

// Layout is where the rows of a format lie and which of their bytes are seen. It is
// computed once per format and is safe for use from several goroutines.
type Layout struct {
	Format Format
	Size   int   // bytes of a frame
	Rows   []Row // through all planes, in the order of memory
	Pixels uint64

	traits *layoutOf
	seen   uint64 // as layoutOf.seen
}

// Row is one row of one plane.
type Row struct {
	Offset int   // bytes from the frame's start
	Bytes  int   // bytes kept, padding included
	Seen   int   // bytes that are pixels, from the row's start
	Plane  uint8 // number of the plane
	Y      int   // row within the plane
}

// NewLayout lays out a format, or says why it cannot be.
func NewLayout(f Format) (*Layout, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	traits, _ := f.Pixel.traits()
	l := &Layout{Format: f, Size: f.Size(), Pixels: uint64(f.Width) * uint64(f.Height), traits: traits,
		seen: traits.seen()}
	for i, p := range f.Planes() {
		for y := range p.Rows {
			l.Rows = append(l.Rows, Row{Offset: p.Offset + y*p.Stride, Bytes: p.Stride, Seen: p.RowBytes,
				Plane: uint8(i), Y: y})
		}
	}
	return l, nil
}

// Row returns row y of a frame's bytes.
func (l *Layout) Row(pix []byte, y int) []byte {
	r := &l.Rows[y]
	return pix[r.Offset : r.Offset+r.Bytes : r.Offset+r.Bytes]
}

// hides reports whether a row of the format holds bits that no screen shows.
func (l *Layout) hides() bool {
	return l.seen != ^uint64(0) || l.Rows[0].Bytes > l.Rows[0].Seen
}

// Tighten narrows the byte range [start, end) of row y to the visible bytes that differ. a and b
// are whole rows. It reports whether any byte is left.
func (l *Layout) Tighten(y int, a, b []byte, start, end int) (int, int, bool) {
	end = min(end, l.Rows[y].Seen)
	for start < end && !l.differs(a, b, start) {
		start++
	}
	for start < end && !l.differs(a, b, end-1) {
		end--
	}
	return start, end, start < end
}

func (l *Layout) differs(a, b []byte, i int) bool {
	d := a[i] ^ b[i]
	return d != 0 && d&byte(l.seen>>(i&7*8)) != 0
}

// RowEqual reports whether row y looks the same in a and b, both whole rows: padding, X bytes and
// the unused bits of 10-bit samples are not compared.
func (l *Layout) RowEqual(y int, a, b []byte) bool {
	n := l.Rows[y].Seen
	a, b = a[:n], b[:n]
	mask := l.seen
	if mask == ^uint64(0) {
		return string(a) == string(b)
	}
	i := 0
	for ; i+8 <= n; i += 8 {
		if (binary.LittleEndian.Uint64(a[i:])^binary.LittleEndian.Uint64(b[i:]))&mask != 0 {
			return false
		}
	}
	for ; i < n; i++ {
		if l.differs(a, b, i) {
			return false
		}
	}
	return true
}

// Rect returns the pixels that bytes [start, end) of row y touch: x0 ≤ x < x1, y0 ≤ y < y1. A
// chroma sample touches every pixel that shares it.
func (l *Layout) Rect(y, start, end int) (x0, y0, x1, y1 int) {
	r := &l.Rows[y]
	t := l.traits
	f := l.Format
	switch {
	case t.family == packedRGB:
		return start / t.pixelBytes, r.Y, min(f.Width, (end+t.pixelBytes-1)/t.pixelBytes), r.Y + 1
	case t.family == packed422:
		block := 4 << t.wide // bytes of two pixels
		return start / block * 2, r.Y, min(f.Width, (end+block-1)/block*2), r.Y + 1
	case r.Plane == 0:
		return start >> t.wide, r.Y, min(f.Width, (end+1<<t.wide-1)>>t.wide), r.Y + 1
	case t.family == semiPlanar:
		pair := 2 << t.wide // bytes of Cb and Cr
		return start / pair << t.subX, r.Y << t.subY, min(f.Width, (end+pair-1)/pair<<t.subX),
			min(f.Height, (r.Y+1)<<t.subY)
	}
	return start << t.subX, r.Y << t.subY, min(f.Width, end<<t.subX), min(f.Height, (r.Y+1)<<t.subY)
}

// Block returns the width and height of the blocks of pixels that share their chroma; 1, 1 where
// each has its own.
func (l *Layout) Block() (width, height int) { return 1 << l.traits.subX, 1 << l.traits.subY }
