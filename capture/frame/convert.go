package frame

import "image"

// Converter turns rows of one format into 8-bit RGBA or BGR for pictures, video and measures of
// colour. RGB formats are only reordered, whatever their range says, so they lose nothing. YUV is
// converted as colour.go describes. Each pixel takes the chroma sample that it shares with its
// neighbours, without interpolation.
//
// Alpha is the stored alpha of formats that have one, and 255 for others. A converter is immutable
// and safe for several goroutines.
type Converter struct {
	layout *Layout
	yuv    *toRGB   // nil for RGB and for 10 bits
	yuv10  *toRGB10 // nil but for 10 bits
	planes []int    // number of each plane's first row
}

// NewConverter prepares to convert images of layout l.
func NewConverter(l *Layout) *Converter {
	c := &Converter{layout: l}
	switch {
	case l.traits.wide > 0:
		c.yuv10 = newToRGB10(l.Format)
	case l.traits.family != packedRGB:
		c.yuv = newToRGB(l.Format)
	}
	rows := 0
	for _, p := range l.Format.Planes() {
		c.planes = append(c.planes, rows)
		rows += p.Rows
	}
	return c
}

// pixelOrder is where a destination pixel's bytes lie; a < 0 for no alpha.
type pixelOrder struct{ size, r, g, b, a int }

// rgba and bgr are the destinations there are.
func rgba() pixelOrder { return pixelOrder{size: 4, r: 0, g: 1, b: 2, a: 3} }
func bgr() pixelOrder  { return pixelOrder{size: 3, r: 2, g: 1, b: 0, a: -1} }

// rgba writes the whole picture to dst, Width×Height×4 bytes in the order R G B A.
func (c *Converter) rgba(dst []byte, m Image) { c.picture(dst, m, rgba()) }

// BGR writes the whole picture to dst, Width×Height×3 bytes in the order B G R.
func (c *Converter) BGR(dst []byte, m Image) { c.picture(dst, m, bgr()) }

// RGBARow writes pixels x0 ≤ x < x1 of picture line y to dst, (x1-x0)×4 bytes.
func (c *Converter) RGBARow(dst []byte, m Image, y, x0, x1 int) { c.row(dst, m, y, x0, x1, rgba()) }

// BGRRow writes pixels x0 ≤ x < x1 of picture line y to dst, (x1-x0)×3 bytes.
func (c *Converter) BGRRow(dst []byte, m Image, y, x0, x1 int) { c.row(dst, m, y, x0, x1, bgr()) }

// Colours returns pixels x0 ≤ x < x1 of picture line y as 4 bytes each. The first three are the
// colours, in an order that is the same for all images of the layout. The fourth is arbitrary.
// Formats that already store pixels so are returned in place and must not be changed. Other formats
// are written to dst, which has (x1-x0)×4 bytes.
func (c *Converter) Colours(dst []byte, m Image, y, x0, x1 int) []byte {
	if c.inPlace() {
		return m.Rows[y][4*x0 : 4*x1 : 4*x1]
	}
	c.row(dst, m, y, x0, x1, rgba())
	return dst[:4*(x1-x0)]
}

// ColourOrder returns which of the first three bytes of each pixel of [Converter.Colours] is which
// colour.
func (c *Converter) ColourOrder() (r, g, b int) {
	if t := c.layout.traits; c.inPlace() {
		return t.r, t.g, t.b
	}
	return 0, 1, 2
}

func (c *Converter) inPlace() bool {
	t := c.layout.traits
	return t.family == packedRGB && t.pixelBytes == 4 && max(t.r, t.g, t.b) == 2
}

// Picture returns the image as Go's image package has it, for encoders.
func (c *Converter) Picture(m Image) *image.NRGBA {
	f := c.layout.Format
	p := image.NewNRGBA(image.Rect(0, 0, f.Width, f.Height))
	c.rgba(p.Pix, m)
	return p
}

func (c *Converter) picture(dst []byte, m Image, o pixelOrder) {
	f := c.layout.Format
	n := f.Width * o.size
	for y := range f.Height {
		c.row(dst[y*n:(y+1)*n:(y+1)*n], m, y, 0, f.Width, o)
	}
}

func (c *Converter) row(dst []byte, m Image, y, x0, x1 int, o pixelOrder) {
	t := c.layout.traits
	dst = dst[: (x1-x0)*o.size : (x1-x0)*o.size]
	row := m.Rows[y]
	if t.wide > 0 {
		c.row10(dst, m, y, x0, o)
		return
	}
	switch t.family {
	case packedRGB:
		reorder(dst, row[x0*t.pixelBytes:x1*t.pixelBytes], t, o)
	case packed422:
		c.packed(dst, row, x0, o)
	case semiPlanar:
		c.semi(dst, row, m.Rows[c.planes[1]+y>>t.subY], x0, o)
	case planar:
		c.planar(dst, row, m.Rows[c.planes[1]+y>>t.subY], m.Rows[c.planes[2]+y>>t.subY], x0, o)
	case greyOnly:
		for i, s := range row[x0:x1] {
			v := clip(c.yuv.y[s] >> fracBits)
			put(dst[i*o.size:], v, v, v, o)
		}
	}
}

func put(dst []byte, r, g, b byte, o pixelOrder) {
	dst[o.r], dst[o.g], dst[o.b] = r, g, b
	if o.a >= 0 {
		dst[o.a] = 255
	}
}

func reorder(dst, src []byte, t *layoutOf, o pixelOrder) {
	for len(dst) >= o.size && len(src) >= t.pixelBytes {
		d, s := dst[:o.size:o.size], src[:t.pixelBytes:t.pixelBytes]
		d[o.r], d[o.g], d[o.b] = s[t.r], s[t.g], s[t.b]
		switch {
		case o.a < 0:
		case t.alpha >= 0:
			d[o.a] = s[t.alpha]
		default:
			d[o.a] = 255
		}
		dst, src = dst[o.size:], src[t.pixelBytes:]
	}
}

func (c *Converter) packed(dst, row []byte, x int, o pixelOrder) {
	y0, u0 := c.layout.traits.y0&1, c.layout.traits.u0&3 // luma at y0 and y0+2, chroma at the other two
	v0 := u0 ^ 2
	for ; len(dst) >= o.size; x++ {
		at := x >> 1 * 4
		p := row[at : at+4 : at+4]
		r, g, b := c.yuv.convert(p[y0+x&1*2], p[u0], p[v0])
		put(dst, r, g, b, o)
		dst = dst[o.size:]
	}
}

func (c *Converter) semi(dst, luma, chroma []byte, x int, o pixelOrder) {
	even := int(c.layout.traits.subX) // 1 where two pixels share a pair, which then begins at x&^1
	double := even - 1                // and all bits where they don't, and it begins at 2x
	for ; len(dst) >= o.size; x++ {
		at := x&^even + x&double
		r, g, b := c.yuv.convert(luma[x], chroma[at], chroma[at+1])
		put(dst, r, g, b, o)
		dst = dst[o.size:]
	}
}

func (c *Converter) planar(dst, luma, cb, cr []byte, x int, o pixelOrder) {
	sub := c.layout.traits.subX
	for ; len(dst) >= o.size; x++ {
		r, g, b := c.yuv.convert(luma[x], cb[x>>sub], cr[x>>sub])
		put(dst, r, g, b, o)
		dst = dst[o.size:]
	}
}
