package visual

import (
	"bytes"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// SSIMVariant says whose SSIM it is.
type SSIMVariant uint8

const (
	// Wang is the index as published: Wang, Bovik, Sheikh and Simoncelli, "Image quality
	// assessment". The full title continues "from error visibility to structural similarity", IEEE
	// Transactions on Image Processing 13(4), 2004. It is the mean of windows of 11x11 samples with
	// Gaussian weights of σ = 1.5. K1 = 0.01, K2 = 0.03, L = 255. Only windows inside the picture
	// count. It is the default. The picture is not scaled down first, as the authors later advised
	// for large ones.
	Wang SSIMVariant = iota
	// PySSIM is the index of the script's SSIM library. It has a window around each sample of the
	// picture. The picture is mirrored beyond its edges (… b a | a b …). The peak of the weights is
	// half a sample to the right of and below the window's middle: it puts the middle of 11 samples
	// at 5.5. Older releases put it at 5, and did not normalize the weights to 1.
	PySSIM
)

// String returns the name that results bear.
func (v SSIMVariant) String() string {
	if v == PySSIM {
		return "pyssim"
	}
	return "wang2004"
}

// peak is where among the 11 samples the weights have their maximum.
func (v SSIMVariant) peak() float64 {
	if v == PySSIM {
		return 5.5
	}
	return 5
}

// border is by how many samples the picture goes on beyond each edge.
func (v SSIMVariant) border() int {
	if v == PySSIM {
		return ssimSide / 2
	}
	return 0
}

const (
	ssimSide  = 11      // of a window
	ssimOne   = 1 << 30 // a window's index of 1, as it is kept
	ssimStrip = 64      // windows that are computed side by side, so that what they need stays in the first cache
)

// SSIM is the structural similarity of a picture to a reference, updated while the picture changes.
// For each window, with weighted means µ, variances σ² and covariance σxy:
//
//	SSIM = (2·µx·µy + C1)·(2·σxy + C2) / ((µx² + µy² + C1)·(σx² + σy² + C2))
//	C1 = (K1·L)²    C2 = (K2·L)²
//
// The picture's index is the mean over all windows. A window that equals the reference has exactly
// 1, without a computation.
//
// Each window's index is a whole multiple of 2^-30 (rounded to nearest), and their sum is a sum of
// integers. So the order and number of updates do not change any bit.
type SSIM struct {
	width, height int // of the picture
	border        int
	pw            int   // width of the planes below, border included
	ww, wh        int   // how many windows there are
	mirrorX       []int // for each column of the planes, the picture's column
	mirrorY       []int
	ref, cur      []byte
	index         []int32 // of each window
	sum           int64   // of them all
	weights       [ssimSide]float64
	lines         [ssimSide]ssimLine // the last lines that were weighted, line y at y mod 11
	differs       []bool             // for each line of a strip, whether it differs from the reference
}

// ssimLine is a line of a strip, weighted from left to right. It has the means of x and y, of x² +
// y², and of x·y.
type ssimLine struct {
	y              int
	x, ref, sq, xy [ssimStrip]float64
}

// NewSSIM returns the SSIM to the reference, a plane of luma, which it copies. At first the picture
// is the reference, so the index is 1. A picture of less than 11x11 samples has no window; that is
// an error for every variant.
func NewSSIM(reference []byte, stride, width, height int, v SSIMVariant) (*SSIM, error) {
	if err := checkSize(width, height, ssimSide); err != nil {
		return nil, err
	}
	if err := checkPlane(reference, stride, width, height); err != nil {
		return nil, err
	}
	b := v.border()
	s := &SSIM{
		width: width, height: height, border: b, pw: width + 2*b,
		mirrorX: mirror(width, b), mirrorY: mirror(height, b),
		ww: width + 2*b - ssimSide + 1, wh: height + 2*b - ssimSide + 1,
		weights: gaussian(v.peak()),
	}
	s.ref = make([]byte, s.pw*len(s.mirrorY))
	s.cur = make([]byte, len(s.ref))
	s.index = make([]int32, s.ww*s.wh)
	s.differs = make([]bool, len(s.mirrorY))
	s.setReference(reference, stride)
	return s, nil
}

// setReference takes another reference of the same size, and lets the picture be it again.
func (s *SSIM) setReference(reference []byte, stride int) {
	s.take(s.ref, reference, stride, 0, 0, s.pw, len(s.mirrorY))
	copy(s.cur, s.ref)
	for i := range s.index {
		s.index[i] = ssimOne
	}
	s.sum = ssimOne * int64(len(s.index))
}

// gaussian returns the weights of σ = 1.5 around the peak; their sum is 1.
func gaussian(peak float64) (w [ssimSide]float64) {
	const sigma = 1.5
	sum := 0.0
	for i := range w {
		d := (float64(i) - peak) / sigma
		w[i] = math.Exp(-d * d / 2)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// mirror returns, for n samples with a border on both sides, which sample stands where: the edge's
// sample comes twice.
func mirror(n, border int) []int {
	at := make([]int, n+2*border)
	for i := range at {
		j := (i - border) % (2 * n)
		if j < 0 {
			j += 2 * n
		}
		at[i] = min(j, 2*n-1-j)
	}
	return at
}

// Value returns the index of the picture as it was last told.
func (s *SSIM) Value() float64 {
	return float64(s.sum) / float64(ssimOne*int64(len(s.index)))
}

// Update recomputes the index after the picture, a plane of luma of the reference's size, changed
// within the rectangle. Samples outside of the rectangle must be unchanged. Parts of the rectangle
// outside of the picture are ignored. The work is proportional to the rectangle, grown by 10
// samples, where it differs from the reference.
func (s *SSIM) Update(luma []byte, stride int, dirty frame.Region) (float64, error) {
	if err := checkPlane(luma, stride, s.width, s.height); err != nil {
		return 0, err
	}
	x0, y0, x1, y1, some := clipRegion(dirty, s.width, s.height)
	if !some {
		return s.Value(), nil
	}
	x0, x1 = mirrored(s.mirrorX, x0, x1)
	y0, y1 = mirrored(s.mirrorY, y0, y1)
	s.take(s.cur, luma, stride, x0, y0, x1, y1)

	// The windows that see a sample begin up to 10 samples before it.
	x0, y0 = max(x0-ssimSide+1, 0), max(y0-ssimSide+1, 0)
	x1, y1 = min(x1, s.ww), min(y1, s.wh)
	for x := x0; x < x1; x += ssimStrip {
		s.strip(x, min(x+ssimStrip, x1), y0, y1)
	}
	return s.Value(), nil
}

// mirrored returns the range of places at which one of the samples a ≤ i < b stands.
func mirrored(at []int, a, b int) (from, to int) {
	from = len(at)
	for i, j := range at {
		if a <= j && j < b {
			from, to = min(from, i), i+1
		}
	}
	return from, to
}

// take copies the rectangle, given in the coordinates of the bordered plane.
func (s *SSIM) take(dst, luma []byte, stride, x0, y0, x1, y1 int) {
	b := s.border
	in0, in1 := max(x0, b), min(x1, b+s.width) // the part that is not mirrored
	for y := y0; y < y1; y++ {
		line, src := dst[y*s.pw:(y+1)*s.pw], luma[s.mirrorY[y]*stride:]
		if in0 < in1 {
			copy(line[in0:in1], src[in0-b:in1-b])
		}
		for x := x0; x < min(x1, b); x++ {
			line[x] = src[s.mirrorX[x]]
		}
		for x := max(x0, b+s.width); x < x1; x++ {
			line[x] = src[s.mirrorX[x]]
		}
	}
}

// strip updates the windows x0 ≤ x < x1, y0 ≤ y < y1. At most ssimStrip are side by side.
func (s *SSIM) strip(x0, x1, y0, y1 int) {
	for i := range s.lines {
		s.lines[i].y = -1
	}
	for y := y0; y < y1+ssimSide-1; y++ {
		a, b := y*s.pw+x0, y*s.pw+x1+ssimSide-1
		s.differs[y] = !bytes.Equal(s.cur[a:b], s.ref[a:b])
	}
	last := y0 - 1 // the last line that differs, among those of the window
	for y := y0; y < y0+ssimSide-1; y++ {
		if s.differs[y] {
			last = y
		}
	}
	for y := y0; y < y1; y++ {
		if s.differs[y+ssimSide-1] {
			last = y + ssimSide - 1
		}
		row := s.index[y*s.ww+x0 : y*s.ww+x1]
		if last < y {
			s.equal(row)
			continue
		}
		for line := y; line < y+ssimSide; line++ {
			if l := &s.lines[line%ssimSide]; l.y != line {
				s.weigh(l, line, x0, x1)
			}
		}
		s.windows(row, y)
	}
}

// equal says that windows are as the reference has them.
func (s *SSIM) equal(row []int32) {
	for i, v := range row {
		s.sum += ssimOne - int64(v)
		row[i] = ssimOne
	}
}

// weigh computes a line's weighted means for windows that begin at x0 ≤ x < x1.
func (s *SSIM) weigh(l *ssimLine, y, x0, x1 int) {
	var x, ref, sq, xy [ssimStrip + ssimSide - 1]float64
	n := x1 - x0 + ssimSide - 1
	cur, want := s.cur[y*s.pw+x0:][:n], s.ref[y*s.pw+x0:][:n]
	for i := range min(n, len(x)) {
		a, b := int32(cur[i]), int32(want[i])
		x[i], ref[i] = float64(a), float64(b)
		sq[i], xy[i] = float64(a*a+b*b), float64(a*b)
	}
	for i := range min(x1-x0, ssimStrip) {
		l.x[i] = s.dot((*[ssimSide]float64)(x[i:]))
		l.ref[i] = s.dot((*[ssimSide]float64)(ref[i:]))
		l.sq[i] = s.dot((*[ssimSide]float64)(sq[i:]))
		l.xy[i] = s.dot((*[ssimSide]float64)(xy[i:]))
	}
	l.y = y
}

// dot is the weighted sum of 11 samples. Products are rounded before they are added, on every
// processor.
func (s *SSIM) dot(v *[ssimSide]float64) float64 {
	w := &s.weights
	return float64(w[0]*v[0]) + float64(w[1]*v[1]) + float64(w[2]*v[2]) + float64(w[3]*v[3]) +
		float64(w[4]*v[4]) + float64(w[5]*v[5]) + float64(w[6]*v[6]) + float64(w[7]*v[7]) +
		float64(w[8]*v[8]) + float64(w[9]*v[9]) + float64(w[10]*v[10])
}

// windows computes a row of windows of which all lines have been weighted.
func (s *SSIM) windows(row []int32, y int) {
	var x, ref, sq, xy [ssimStrip]float64
	for k := range ssimSide {
		l, w := &s.lines[(y+k)%ssimSide], s.weights[k]
		for i := range min(len(row), ssimStrip) {
			x[i] += float64(w * l.x[i])
			ref[i] += float64(w * l.ref[i])
			sq[i] += float64(w * l.sq[i])
			xy[i] += float64(w * l.xy[i])
		}
	}
	for i := range min(len(row), ssimStrip) {
		v := ssimIndex(x[i], ref[i], sq[i], xy[i])
		s.sum += int64(v) - int64(row[i])
		row[i] = v
	}
}

// ssimIndex is the formula for one window. Its arguments are the means of x and y, x² + y², and
// x·y.
func ssimIndex(x, y, squares, product float64) int32 {
	const (
		c1 = (0.01 * 255) * (0.01 * 255)
		c2 = (0.03 * 255) * (0.03 * 255)
	)
	xy := x * y
	xx := float64(x*x) + float64(y*y)
	v := (float64(2*xy) + c1) * (float64(2*(product-xy)) + c2) / ((xx + c1) * (squares - xx + c2))
	return int32(math.Floor(float64(v*ssimOne) + 0.5))
}
