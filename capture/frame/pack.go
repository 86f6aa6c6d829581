package frame

// Packer makes frames of one format out of pictures of 4-byte pixels in the order B G R X: the way
// back from Converter, for scenes drawn by code. The rounding is colour.go's. Where pixels
// share a chroma sample it is that of their mean; at an odd edge the mean is of the pixels there
// are. Picture → frame → picture is exact for RGB formats, and for greys of full range in YUV.
//
// A packer is not changed by its use and is safe for several goroutines.
type Packer struct {
	layout *Layout
	yuv    *fromRGB // nil for RGB
	planes []Plane
}

// NewPacker prepares to make frames of layout l.
func NewPacker(l *Layout) *Packer {
	p := &Packer{layout: l, planes: l.Format.Planes()}
	if l.traits.family != packedRGB {
		p.yuv = newFromRGB(l.Format, uint(l.Format.Pixel.Depth()))
	}
	return p
}

// BGRX writes the picture src, Width×Height×4 bytes without padding, as a frame of Layout.Size
// bytes to dst. Alpha becomes 255; X bytes, unused bits and padding become 0, so that equal
// pictures make equal bytes.
func (p *Packer) BGRX(dst, src []byte) {
	f, t := p.layout.Format, p.layout.traits
	line := func(y int) []byte { return src[y*f.Width*4 : (y+1)*f.Width*4 : (y+1)*f.Width*4] }
	for i := range p.layout.Rows {
		r := &p.layout.Rows[i]
		row := dst[r.Offset : r.Offset+r.Bytes : r.Offset+r.Bytes]
		clear(row[r.Seen:])
		row = row[:r.Seen]
		switch {
		case t.family == packedRGB:
			packRGB(row, line(r.Y), t)
		case t.wide > 0 && t.family == packed422:
			p.packed10(row, line(r.Y))
		case t.wide > 0 && r.Plane == 0:
			p.luma10(row, line(r.Y))
		case t.family == packed422:
			p.packed(row, line(r.Y))
		case r.Plane == 0:
			p.luma(row, line(r.Y))
		default:
			y := r.Y << t.subY
			below := min(y+1<<t.subY-1, f.Height-1)
			p.chroma(row, line(y), line(below), below > y, r.Plane)
		}
	}
}

func packRGB(dst, src []byte, t *layoutOf) {
	n := t.pixelBytes
	for len(dst) >= n && len(src) >= 4 {
		d, s := dst[:n:n], src[:4:4]
		if t.hidden >= 0 {
			d[t.hidden] = 0
		}
		if t.alpha >= 0 {
			d[t.alpha] = 255
		}
		d[t.b], d[t.g], d[t.r] = s[0], s[1], s[2]
		dst, src = dst[n:], src[4:]
	}
}

func (p *Packer) luma(dst, src []byte) {
	for x := range dst {
		s := src[x*4 : x*4+4 : x*4+4]
		dst[x] = p.yuv.luma(int32(s[2]), int32(s[1]), int32(s[0]))
	}
}

func (p *Packer) packed(dst, src []byte) {
	y0, u0 := p.layout.traits.y0&1, p.layout.traits.u0&3
	for x := 0; x+4 <= len(dst); x += 4 {
		d, s := dst[x:x+4:x+4], src[x*2:x*2+8:x*2+8]
		b, g, r := int32(s[0]), int32(s[1]), int32(s[2])
		b2, g2, r2 := int32(s[4]), int32(s[5]), int32(s[6])
		d[y0], d[y0+2] = p.yuv.luma(r, g, b), p.yuv.luma(r2, g2, b2)
		d[u0], d[u0^2] = p.yuv.chroma(r+r2, g+g2, b+b2, 1)
	}
}

// chroma fills a row of one chroma plane, or of the interleaved one, from the lines that share it.
func (p *Packer) chroma(dst, upper, lower []byte, twoLines bool, plane uint8) {
	t, width := p.layout.traits, p.layout.Format.Width
	for x := 0; x < width; x += 1 << t.subX {
		var r, g, b int32
		var log2n uint
		add := func(line []byte, x int) {
			s := line[x*4 : x*4+4 : x*4+4]
			b, g, r = b+int32(s[0]), g+int32(s[1]), r+int32(s[2])
		}
		twoPixels := t.subX == 1 && x+1 < width
		add(upper, x)
		if twoPixels {
			add(upper, x+1)
			log2n++
		}
		if twoLines {
			add(lower, x)
			if twoPixels {
				add(lower, x+1)
			}
			log2n++
		}
		if t.wide > 0 {
			u, v := p.yuv.chroma10(r, g, b, log2n)
			put10(dst, x>>t.subX*2, u)
			put10(dst, x>>t.subX*2+1, v)
			continue
		}
		u, v := p.yuv.chroma(r, g, b, log2n)
		switch {
		case t.family == semiPlanar:
			at := x >> t.subX * 2
			dst[at], dst[at+1] = u, v
		case plane == 1:
			dst[x>>t.subX] = u
		default:
			dst[x>>t.subX] = v
		}
	}
}
