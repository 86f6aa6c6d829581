package frame

import "encoding/binary"

// Differ finds the pixels in which two images of one layout differ.
//
// With tolerance 0, a pixel differs if any sample differs. A pixel is its luma and the chroma it
// shares. Bits that no screen shows do not count. With tolerance τ > 0, a pixel differs if the
// greatest difference among R, G and B exceeds τ. YUV is converted as by Converter, and alpha does
// not count.
//
// A Differ has scratch memory and belongs to one goroutine.
type Differ struct {
	layout *Layout
	tau    int
	conv   *Converter // with a tolerance, for all but packed RGB of 4 bytes
	a, b   []byte     // 64 pixels as RGBA
	seen   uint64     // of 8 bytes of a packed format
	vector bool       // packed RGB of 4 bytes is compared by the processor's vector instructions
	chroma [2]int     // number of the first row of each chroma plane
}

// NewDiffer prepares to compare images of layout l.
func NewDiffer(l *Layout, tolerance int) *Differ {
	d := &Differ{layout: l, tau: max(tolerance, 0), seen: l.seen, vector: hasVectors()}
	rows := 0
	for i, p := range l.Format.Planes() {
		if i > 0 {
			d.chroma[i-1] = rows
		}
		rows += p.Rows
	}
	if tolerance <= 0 {
		return d
	}
	if t := l.traits; t.family == packedRGB && t.pixelBytes == 4 {
		if t.alpha >= 0 {
			d.seen &^= 0xff<<(8*t.alpha) | 0xff<<(8*t.alpha+32)
		}
		return d
	}
	d.seen = 0x00ffffff00ffffff
	d.conv = NewConverter(l)
	d.a, d.b = make([]byte, 64*4), make([]byte, 64*4)
	return d
}

// Words returns how many words hold a bit for each pixel of a line.
func (l *Layout) Words() int { return (l.Format.Width + 63) / 64 }

// Line compares pixels [64·w0, 64·w1) of picture line y, up to the line's end. It stores one bit
// per pixel in dst. Bit i of word w stands for pixel 64·(w0+w)+i and is set if the two differ.
func (d *Differ) Line(dst []uint64, y, w0, w1 int, a, b Image) {
	width := d.layout.Format.Width
	w := w0
	if whole := min(w1, width/64); d.conv == nil && d.layout.traits.pixelBytes == 4 && w0 < whole {
		from, to := 256*w0, 256*whole
		next := a.Rows[min(y+1, len(a.Rows)-1)]
		d.line32(dst[:whole-w0], a.Rows[y][from:to:to], b.Rows[y][from:to:to], next[from:to:to])
		w = whole
	}
	for ; w < w1; w++ {
		x0 := w * 64
		dst[w-w0] = d.word(y, x0, min(x0+64, width), a, b)
	}
}

// line32 compares pixels of 4 bytes, 64 for each word of dst. In a video every pixel differs, word
// after word, and to see that takes less than to find out which. next is what of a is likely to be
// compared next, the same pixels one line below.
func (d *Differ) line32(dst []uint64, a, b, next []byte) {
	if d.vector {
		vectors(dst, a, b, next, d.seen, d.tau)
		return
	}
	const all = ^uint64(0)
	last := uint64(0)
	for i := range dst {
		p, q := (*[256]byte)(a[256*i:]), (*[256]byte)(b[256*i:])
		switch {
		case binary.LittleEndian.Uint64(p[:]) == binary.LittleEndian.Uint64(q[:]) && *p == *q:
			dst[i] = 0
			continue // the next words equal the ones before
		case d.tau > 0:
			last = beyond64(p, q, d.seen, d.tau)
		case d.seen&tops != 0:
			last = differ32(p[:], q[:], d.seen)
		case last == all && allDiffer64(p, q, d.seen):
		default:
			last = differ64(p, q, d.seen)
		}
		dst[i] = last
	}
}

// word compares up to 64 pixels.
func (d *Differ) word(y, x0, x1 int, a, b Image) uint64 {
	t := d.layout.traits
	ra, rb := a.Rows[y], b.Rows[y]
	if t.family == packedRGB {
		from, to := x0*t.pixelBytes, x1*t.pixelBytes
		ra, rb = ra[from:to:to], rb[from:to:to]
		switch {
		case string(ra) == string(rb):
			return 0
		case d.conv != nil:
			return d.converted(y, x0, x1, a, b)
		case t.pixelBytes == 3:
			return differ24(ra, rb)
		case d.tau > 0:
			return beyond32(ra, rb, d.seen, d.tau)
		}
		return differ32(ra, rb, d.seen)
	}
	if d.sameBytes(y, x0, x1, a, b) {
		return 0
	}
	if d.conv != nil {
		return d.converted(y, x0, x1, a, b)
	}
	return d.samples(y, x0, x1, a, b)
}

// Each word of 8 bytes has two pixels of 4 bytes, each less than 1<<31. Adding nearly sets the top
// bit of the pixels that are not zero. No carry crosses from one pixel to the other.
const (
	nearly = 0x7fffffff7fffffff
	tops   = 0x8000000080000000
)

// allDiffer64 reports whether 64 pixels of 4 bytes all differ. The top bits of seen must be clear.
func allDiffer64(a, b *[256]byte, seen uint64) bool {
	x, y := ^uint64(0), ^uint64(0)
	for i := 0; i < 256; i += 64 {
		p, q := (*[64]byte)(a[i:]), (*[64]byte)(b[i:])
		x &= (binary.LittleEndian.Uint64(p[0:])^binary.LittleEndian.Uint64(q[0:]))&seen + nearly
		y &= (binary.LittleEndian.Uint64(p[8:])^binary.LittleEndian.Uint64(q[8:]))&seen + nearly
		x &= (binary.LittleEndian.Uint64(p[16:])^binary.LittleEndian.Uint64(q[16:]))&seen + nearly
		y &= (binary.LittleEndian.Uint64(p[24:])^binary.LittleEndian.Uint64(q[24:]))&seen + nearly
		x &= (binary.LittleEndian.Uint64(p[32:])^binary.LittleEndian.Uint64(q[32:]))&seen + nearly
		y &= (binary.LittleEndian.Uint64(p[40:])^binary.LittleEndian.Uint64(q[40:]))&seen + nearly
		x &= (binary.LittleEndian.Uint64(p[48:])^binary.LittleEndian.Uint64(q[48:]))&seen + nearly
		y &= (binary.LittleEndian.Uint64(p[56:])^binary.LittleEndian.Uint64(q[56:]))&seen + nearly
	}
	return x&y&tops == tops
}

// differ64 compares 64 pixels of 4 bytes. The top bits of seen must be clear.
func differ64(a, b *[256]byte, seen uint64) uint64 {
	var found uint64 // pixels of even number in the lower half, the others in the upper one
	for i := 0; i < 256; i += 32 {
		p, q := (*[32]byte)(a[i:]), (*[32]byte)(b[i:])
		x0 := (binary.LittleEndian.Uint64(p[0:])^binary.LittleEndian.Uint64(q[0:]))&seen + nearly
		x1 := (binary.LittleEndian.Uint64(p[8:])^binary.LittleEndian.Uint64(q[8:]))&seen + nearly
		x2 := (binary.LittleEndian.Uint64(p[16:])^binary.LittleEndian.Uint64(q[16:]))&seen + nearly
		x3 := (binary.LittleEndian.Uint64(p[24:])^binary.LittleEndian.Uint64(q[24:]))&seen + nearly
		found = found>>4 | x0&tops>>3 | x1&tops>>2 | x2&tops>>1 | x3&tops
	}
	return spread(found&(1<<32-1)) | spread(found>>32)<<1
}

// spread puts bit i of 32 at 2i.
func spread(x uint64) uint64 {
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

func differ24(a, b []byte) (bits uint64) {
	for i := 0; i+3 <= len(a) && i+3 <= len(b); i += 3 {
		if a[i] != b[i] || a[i+1] != b[i+1] || a[i+2] != b[i+2] {
			bits |= 1 << (i / 3)
		}
	}
	return bits
}

// differ32 has no branch in its loop, since its callers' pixels differ unpredictably.
func differ32(a, b []byte, seen uint64) (bits uint64) {
	const ones = 1<<32 - 1
	n := len(a) / 8
	for i := range n {
		x := (binary.LittleEndian.Uint64(a[8*i:]) ^ binary.LittleEndian.Uint64(b[8*i:])) & seen
		bits |= ((x&ones+ones)>>32 | (x>>32+ones)>>32<<1) << (2 * i & 63)
	}
	if len(a)%8 != 0 {
		x := (binary.LittleEndian.Uint32(a[8*n:]) ^ binary.LittleEndian.Uint32(b[8*n:])) & uint32(seen)
		bits |= (uint64(x) + ones) >> 32 << (2 * n & 63)
	}
	return bits
}

// beyond64 is beyond32 for 64 pixels.
func beyond64(a, b *[256]byte, seen uint64, tau int) uint64 {
	const (
		even = 0x00ff00ff00ff00ff
		top  = 0x8000800080008000
	)
	more := uint64(min(tau, 255)+1) * 0x0001000100010001
	seenEven, seenOdd := seen<<8&top, seen&top
	var found uint64 // as in differ64
	for i := 0; i < 256; i += 8 {
		p, q := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		pe, qe, po, qo := p&even, q&even, p>>8&even, q>>8&even
		x := (((pe | top) - qe - more) | ((qe | top) - pe - more)) & seenEven
		x |= (((po | top) - qo - more) | ((qo | top) - po - more)) & seenOdd
		found = found>>1 | (x|x<<16)&tops
	}
	return spread(found&(1<<32-1)) | spread(found>>32)<<1
}

// beyond32 compares four samples at once, each in 16 bits: with the top bit set, a − b − (τ+1)
// keeps it only if a − b > τ.
func beyond32(a, b []byte, seen uint64, tau int) (bits uint64) {
	const (
		even = 0x00ff00ff00ff00ff
		top  = 0x8000800080008000
		ones = 1<<32 - 1
	)
	more := uint64(min(tau, 255)+1) * 0x0001000100010001
	seenEven, seenOdd := seen&even<<8, seen>>8&even<<8
	n := (len(a) + 7) / 8
	for i := range n {
		var p, q uint64
		if 8*i+8 <= len(a) {
			p, q = binary.LittleEndian.Uint64(a[8*i:]), binary.LittleEndian.Uint64(b[8*i:])
		} else {
			p, q = uint64(binary.LittleEndian.Uint32(a[8*i:])), uint64(binary.LittleEndian.Uint32(b[8*i:]))
		}
		pe, qe, po, qo := p&even, q&even, p>>8&even, q>>8&even
		x := (((pe | top) - qe - more) | ((qe | top) - pe - more)) & seenEven & top
		x |= (((po | top) - qo - more) | ((qo | top) - po - more)) & seenOdd & top
		bits |= ((x&ones+ones)>>32 | (x>>32+ones)>>32<<1) << (2 * i & 63)
	}
	return bits
}

func (d *Differ) converted(y, x0, x1 int, a, b Image) uint64 {
	n := 4 * (x1 - x0)
	d.conv.RGBARow(d.a[:n], a, y, x0, x1)
	d.conv.RGBARow(d.b[:n], b, y, x0, x1)
	return beyond32(d.a[:n], d.b[:n], d.seen, d.tau)
}

// sameBytes reports whether all bytes that pixels x0 to x1 of line y are made of are equal.
func (d *Differ) sameBytes(y, x0, x1 int, a, b Image) bool {
	t := d.layout.traits
	if t.family == packed422 {
		from, to := x0*2<<t.wide, (x1+1)&^1*2<<t.wide
		return string(a.Rows[y][from:to]) == string(b.Rows[y][from:to])
	}
	if from, to := x0<<t.wide, x1<<t.wide; string(a.Rows[y][from:to]) != string(b.Rows[y][from:to]) {
		return false
	}
	from, to := x0>>t.subX, (x1-1)>>t.subX+1
	switch t.family {
	case semiPlanar:
		r := d.chroma[0] + y>>t.subY
		return string(a.Rows[r][from*2<<t.wide:to*2<<t.wide]) == string(b.Rows[r][from*2<<t.wide:to*2<<t.wide])
	case planar:
		u, v := d.chroma[0]+y>>t.subY, d.chroma[1]+y>>t.subY
		return string(a.Rows[u][from:to]) == string(b.Rows[u][from:to]) &&
			string(a.Rows[v][from:to]) == string(b.Rows[v][from:to])
	}
	return true // grey
}

// samples compares YUV exactly.
func (d *Differ) samples(y, x0, x1 int, a, b Image) (bits uint64) {
	t := d.layout.traits
	size := 1 << t.wide
	differs := func(row, sample int) bool {
		i := sample << t.wide
		if size == 2 {
			return sample10(a.Rows[row], sample) != sample10(b.Rows[row], sample)
		}
		return a.Rows[row][i] != b.Rows[row][i]
	}
	for x := x0; x < x1; x++ {
		var other bool
		switch c := x >> t.subX; t.family {
		case packed422:
			at := c * 4
			other = differs(y, at+t.y0&1+x&1*2) || differs(y, at+t.u0) || differs(y, at+t.u0^2)
		case semiPlanar:
			r := d.chroma[0] + y>>t.subY
			other = differs(y, x) || differs(r, 2*c) || differs(r, 2*c+1)
		case planar:
			other = differs(y, x) || differs(d.chroma[0]+y>>t.subY, c) || differs(d.chroma[1]+y>>t.subY, c)
		default:
			other = differs(y, x)
		}
		if other {
			bits |= 1 << (x - x0)
		}
	}
	return bits
}
