package frame

// Colour arithmetic between 8-bit RGB and YCbCr of 8 or 10 bits, in fixed point.
//
// Formula (ITU-R BT.601-7, BT.709-6, BT.2020-2). Kr and Kb are declared beside Matrix.
//
//	Y  = Kr·R + Kg·G + Kb·B     Cb = (B - Y) / (2·(1 - Kb))     Cr = (R - Y) / (2·(1 - Kr))
//	Kg = 1 - Kr - Kb
//
// R, G, B and Y are in 0…1; Cb and Cr in -½…½. Full range is 255·Y and 128 + 255·C in bytes.
// Limited range is 16 + 219·Y and 128 + 224·C. With 10 bits, full range is 1023·Y and 512 + 1023·C.
// Limited range is then four times that of bytes (ITU-T H.273). RGB is always 0…255.
//
// Each coefficient is rounded to fracBits bits. The error of a result is below 2^-10. Then it is
// rounded to the nearest integer (halves up) and clipped to 0…255 or 0…1023. The result is
// therefore correctly rounded unless the exact value is within 2^-10 of a half. There it may be the
// neighbour.

const (
	fracBits = 20
	half     = 1 << (fracBits - 1)
)

// weights returns Kr and Kb. A format without a matrix, which a source may leave open, is taken for
// what NewFormat would have guessed.
func (f Format) weights() (kr, kb float64) {
	m := f.Matrix
	if m == NoMatrix {
		m = BT601
		if f.Height >= 720 {
			m = BT709
		}
	}
	switch m {
	case BT709:
		return 0.2126, 0.0722
	case BT2020:
		return 0.2627, 0.0593
	}
	return 0.299, 0.114
}

// scale returns what black is, and how many steps Y and C have, in samples of 8 or more bits.
func (r Range) scale(depth uint) (black, ySteps, cSteps float64) {
	if r == LimitedRange {
		fold := float64(int(1) << (depth - 8))
		return 16 * fold, 219 * fold, 224 * fold
	}
	top := float64(int(1)<<depth - 1)
	return 0, top, top
}

func fixed(x float64) int32 {
	x *= 1 << fracBits
	if x < 0 {
		return int32(x - 0.5)
	}
	return int32(x + 0.5)
}

// toRGB holds what each sample value adds to R, G and B, in fixed point. Half is in y.
type toRGB struct {
	y, rv, gu, gv, bu [256]int32
}

func newToRGB(f Format) *toRGB {
	t := new(toRGB)
	f.fillToRGB(8, t.y[:], t.rv[:], t.gu[:], t.gv[:], t.bu[:])
	return t
}

// fillToRGB computes the tables for samples of the given depth, one entry for each value.
func (f Format) fillToRGB(depth uint, ty, rv, gu, gv, bu []int32) {
	kr, kb := f.weights()
	kg := 1 - kr - kb
	black, ySteps, cSteps := f.Range.scale(depth)
	centre := float64(int(128) << (depth - 8))
	for i := range ty {
		y := (float64(i) - black) * 255 / ySteps
		c := (float64(i) - centre) * 255 / cSteps
		ty[i] = fixed(y) + half
		rv[i] = fixed(2 * (1 - kr) * c)
		bu[i] = fixed(2 * (1 - kb) * c)
		gu[i] = -fixed(2 * (1 - kb) * kb / kg * c)
		gv[i] = -fixed(2 * (1 - kr) * kr / kg * c)
	}
}

func (t *toRGB) convert(y, u, v byte) (r, g, b byte) {
	l := t.y[y]
	return clip((l + t.rv[v]) >> fracBits), clip((l + t.gu[u] + t.gv[v]) >> fracBits), clip((l + t.bu[u]) >> fracBits)
}

// clip has no branch: on noise a branch would be guessed wrong half of the time.
func clip(v int32) byte {
	return byte(min(max(v, 0), 255))
}

// fromRGB holds the coefficients of the way back.
type fromRGB struct {
	yr, yg, yb, black int32 // half is in black
	ur, ug, ub        int32
	vr, vg, vb        int32
}

// newFromRGB computes the coefficients for samples of 8 or 10 bits.
func newFromRGB(f Format, depth uint) *fromRGB {
	kr, kb := f.weights()
	black, ySteps, cSteps := f.Range.scale(depth)
	ys, cs := ySteps/255, cSteps/255
	t := &fromRGB{
		yr: fixed(kr * ys), yb: fixed(kb * ys), black: fixed(black) + half,
		ur: fixed(-kr / (2 * (1 - kb)) * cs), ub: fixed(cs / 2),
		vb: fixed(-kb / (2 * (1 - kr)) * cs), vr: fixed(cs / 2),
	}
	// Green takes the rest, so that white is white and every grey has no colour at all.
	t.yg = fixed(ys) - t.yr - t.yb
	t.ug = -t.ur - t.ub
	t.vg = -t.vr - t.vb
	return t
}

func (t *fromRGB) luma(r, g, b int32) byte {
	return clip((t.yr*r + t.yg*g + t.yb*b + t.black) >> fracBits)
}

// chroma returns Cb and Cr of the mean of 1<<log2n pixels, given their sums.
func (t *fromRGB) chroma(r, g, b int32, log2n uint) (u, v byte) {
	shift := fracBits + log2n
	offset := int32(128<<fracBits+half) << log2n
	return clip((t.ur*r + t.ug*g + t.ub*b + offset) >> shift), clip((t.vr*r + t.vg*g + t.vb*b + offset) >> shift)
}
