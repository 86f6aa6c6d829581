package frame

// A sample of 10 bits has two bytes, low byte first, and uses the ten high bits (P010, Y210). Such
// samples have their own tables and loops, which keeps those of 8-bit formats short.

// sample10 returns sample i of a row.
func sample10(row []byte, i int) uint16 {
	p := row[2*i : 2*i+2 : 2*i+2]
	return (uint16(p[0]) | uint16(p[1])<<8) >> 6
}

// put10 stores sample i of a row; its six unused bits become zero.
func put10(row []byte, i int, v uint16) {
	p := row[2*i : 2*i+2 : 2*i+2]
	p[0], p[1] = byte(v<<6), byte(v>>2)
}

// toRGB10 is toRGB for samples of 10 bits. What it makes has 8: the exact value is rounded once,
// and no sample is cut to 8 bits before.
type toRGB10 struct {
	y, rv, gu, gv, bu [1024]int32
}

func newToRGB10(f Format) *toRGB10 {
	t := new(toRGB10)
	f.fillToRGB(10, t.y[:], t.rv[:], t.gu[:], t.gv[:], t.bu[:])
	return t
}

func (t *toRGB10) convert(y, u, v uint16) (r, g, b byte) {
	y, u, v = y&1023, u&1023, v&1023
	l := t.y[y]
	return clip((l + t.rv[v]) >> fracBits), clip((l + t.gu[u] + t.gv[v]) >> fracBits), clip((l + t.bu[u]) >> fracBits)
}

// row10 is Converter.row for 10-bit formats.
func (c *Converter) row10(dst []byte, m Image, y, x0 int, o pixelOrder) {
	t := c.layout.traits
	luma := m.Rows[y]
	if t.family == packed422 {
		for x := x0; len(dst) >= o.size; x++ {
			at := x >> 1 * 4
			r, g, b := c.yuv10.convert(sample10(luma, at+t.y0+x&1*2), sample10(luma, at+t.u0),
				sample10(luma, at+t.u0^2))
			put(dst, r, g, b, o)
			dst = dst[o.size:]
		}
		return
	}
	chroma := m.Rows[c.planes[1]+y>>t.subY]
	for x := x0; len(dst) >= o.size; x++ {
		at := x >> t.subX * 2
		r, g, b := c.yuv10.convert(sample10(luma, x), sample10(chroma, at), sample10(chroma, at+1))
		put(dst, r, g, b, o)
		dst = dst[o.size:]
	}
}

func clip10(v int64) uint16 {
	return uint16(min(max(v, 0), 1023))
}

// luma10 returns Y of one pixel. The coefficients are those of 10 bits.
func (t *fromRGB) luma10(r, g, b int32) uint16 {
	return clip10(int64(t.yr*r+t.yg*g+t.yb*b+t.black) >> fracBits)
}

// chroma10 is chroma for 10 bits; the sums of four pixels don't fit into 32 bits.
func (t *fromRGB) chroma10(r, g, b int32, log2n uint) (u, v uint16) {
	shift := fracBits + log2n
	offset := int64(512<<fracBits+half) << log2n
	red, green, blue := int64(r), int64(g), int64(b)
	return clip10((int64(t.ur)*red + int64(t.ug)*green + int64(t.ub)*blue + offset) >> shift),
		clip10((int64(t.vr)*red + int64(t.vg)*green + int64(t.vb)*blue + offset) >> shift)
}

func (p *Packer) luma10(dst, src []byte) {
	for x := range len(dst) / 2 {
		s := src[x*4 : x*4+4 : x*4+4]
		put10(dst, x, p.yuv.luma10(int32(s[2]), int32(s[1]), int32(s[0])))
	}
}

func (p *Packer) packed10(dst, src []byte) {
	y0, u0 := p.layout.traits.y0, p.layout.traits.u0
	for at := 0; 2*at+8 <= len(dst); at += 4 {
		s := src[at*2 : at*2+8 : at*2+8]
		b, g, r := int32(s[0]), int32(s[1]), int32(s[2])
		b2, g2, r2 := int32(s[4]), int32(s[5]), int32(s[6])
		put10(dst, at+y0, p.yuv.luma10(r, g, b))
		put10(dst, at+y0+2, p.yuv.luma10(r2, g2, b2))
		u, v := p.yuv.chroma10(r+r2, g+g2, b+b2, 1)
		put10(dst, at+u0, u)
		put10(dst, at+u0^2, v)
	}
}
