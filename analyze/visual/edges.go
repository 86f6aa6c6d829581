package visual

import "github.com/eideticker/eideticker/capture/frame"

// Edges counts the samples of a plane of luma that are on an edge, as the script does with OpenCV:
// its contentful value. It is updated while the picture changes.
//
// The definition uses integer arithmetic, except for the thresholds:
//
//  1. Blur. OpenCV's GaussianBlur of 13x13, σ = 1, on 8 bits uses weights of whole 256ths. Rounding
//     errors are passed on from the outermost to the middle. The weights are: 1, 14, 62; 102; 62,
//     14, 1; and 0 farther out. Both directions together are rounded once, to the nearest (halves
//     up). Beyond an edge the picture is mirrored about the edge's sample (… c b | a b c …).
//  2. Gradient. Sobel's 3x3 derivatives dx and dy; beyond an edge its sample repeats. Magnitude
//     |dx| + |dy|.
//  3. Peaks. Neighbours are those along the gradient. A sample's magnitude is larger than that on
//     one side, and at least that on the other. Steps are 45°. Horizontal if |dy| <
//     tan(22.5°)·|dx|: larger than left, not smaller than right. Vertical if |dy| >
//     tan(67.5°)·|dx|: larger than above, not smaller than below. Otherwise diagonal, and larger
//     than both. The tangents have 15 bits after the point. Outside of the picture magnitudes are
//     0.
//  4. Thresholds. With the smallest and largest blurred sample: low = ⌊0.1·(max − min) + min⌋, high
//     = ⌊0.3·(max − min) + min⌋, in float64. So they depend on all of the picture.
//  5. Edges. Peaks above high, and peaks above low that touch an edge, also by a corner.
//
// Without a reference, the value is a number of samples. Contentfulness is that divided by the
// largest of all frames.
//
// The old script counted edges with ImageMagick ("canny 2x2+8%+8%"). That is another algorithm,
// which this package does not have.
type Edges struct {
	width, height int
	blurred       []byte
	levels        [256]int32 // how many blurred samples have each value
	peaks         []uint16   // a peak's magnitude, else 0; a line and a column around
	pw            int        // width of peaks
	tops          []uint16   // the largest of peaks in blocks of edgeBlock samples of a line
	blocks        int        // how many of them in a line
	low, high     int
	count         int
	seen          []bool // as peaks
	stack         []int32
	lines         [3]edgeLine
	tall          []uint16 // one line, blurred from top to bottom only
}

// edgeLine is a line's gradient; sample x is at x + 1, and mag is 0 at both ends.
type edgeLine struct {
	mag    []uint16
	dx, dy []int16
}

const edgeBlock = 64

// NewEdges returns the edges of a plane that is all black: none.
func NewEdges(width, height int) (*Edges, error) {
	if err := checkSize(width, height, 1); err != nil {
		return nil, err
	}
	e := &Edges{
		width: width, height: height, pw: width + 2,
		blurred: make([]byte, width*height),
		blocks:  (width + edgeBlock - 1) / edgeBlock,
		tall:    make([]uint16, width+2*blurReach),
	}
	e.peaks = make([]uint16, e.pw*(height+2))
	e.seen = make([]bool, len(e.peaks))
	e.tops = make([]uint16, e.blocks*height)
	e.levels[0] = int32(width * height)
	for i := range e.lines {
		e.lines[i] = edgeLine{make([]uint16, e.pw), make([]int16, e.pw), make([]int16, e.pw)}
	}
	return e, nil
}

// Count returns how many samples of the picture as it was last told lie on edges.
func (e *Edges) Count() int { return e.count }

// Update recomputes the edges after the picture, a plane of luma, changed within the rectangle. It
// returns how many samples are on edges. Samples outside of the rectangle must be unchanged (black,
// before the first update). Parts of the rectangle outside of the picture are ignored. Blur and
// peaks are computed for the rectangle, grown by 5 samples. Edges are followed again through the
// whole picture only if a peak or a threshold changed.
func (e *Edges) Update(luma []byte, stride int, dirty frame.Region) (int, error) {
	if err := checkPlane(luma, stride, e.width, e.height); err != nil {
		return 0, err
	}
	x0, y0, x1, y1, some := clipRegion(dirty, e.width, e.height)
	if !some {
		return e.count, nil
	}
	x0, y0, x1, y1 = e.grow(x0, y0, x1, y1, blurReach)
	for y := y0; y < y1; y++ {
		e.blur(luma, stride, y, x0, x1)
	}
	x0, y0, x1, y1 = e.grow(x0, y0, x1, y1, 2)
	changed := e.findPeaks(x0, y0, x1, y1)
	low, high := cannyThresholds(e.span())
	if changed || low != e.low || high != e.high {
		e.low, e.high = low, high
		e.follow()
	}
	return e.count, nil
}

func (e *Edges) grow(x0, y0, x1, y1, by int) (int, int, int, int) {
	return max(x0-by, 0), max(y0-by, 0), min(x1+by, e.width), min(y1+by, e.height)
}

const blurReach = 3 // samples to each side that a blurred sample is made of

// blur computes the blurred samples x0 ≤ x < x1 of a line.
func (e *Edges) blur(luma []byte, stride, y, x0, x1 int) {
	var rows [2*blurReach + 1][]byte
	for i := range rows {
		rows[i] = luma[mirrorAt(y+i-blurReach, e.height)*stride:][:e.width]
	}
	// tall[i] stands for column x0 - blurReach + i.
	tall := e.tall[:x1-x0+2*blurReach]
	a, b := max(x0-blurReach, 0), min(x1+blurReach, e.width)
	in := tall[a-x0+blurReach:][:b-a]
	r0, r1, r2, r3, r4, r5, r6 := rows[0][a:b], rows[1][a:b], rows[2][a:b], rows[3][a:b], rows[4][a:b], rows[5][a:b],
		rows[6][a:b]
	for i := range in {
		in[i] = uint16(r0[i]) + uint16(r6[i]) + 14*(uint16(r1[i])+uint16(r5[i])) + 62*(uint16(r2[i])+uint16(r4[i])) +
			102*uint16(r3[i])
	}
	for x := x0 - blurReach; x < a; x++ {
		tall[x-x0+blurReach] = e.tallAt(rows, x)
	}
	for x := b; x < x1+blurReach; x++ {
		tall[x-x0+blurReach] = e.tallAt(rows, x)
	}
	out := e.blurred[y*e.width+x0 : y*e.width+x1]
	for i, old := range out {
		t := tall[i : i+7]
		sum := uint32(t[0]) + uint32(t[6]) + 14*(uint32(t[1])+uint32(t[5])) + 62*(uint32(t[2])+uint32(t[4])) +
			102*uint32(t[3])
		if v := byte((sum + 1<<15) >> 16); v != old {
			e.levels[old]--
			e.levels[v]++
			out[i] = v
		}
	}
}

// tallAt blurs a column that is beyond the picture's edge.
func (e *Edges) tallAt(rows [2*blurReach + 1][]byte, x int) (sum uint16) {
	x = mirrorAt(x, e.width)
	for i, w := range [...]uint16{1, 14, 62, 102, 62, 14, 1} {
		sum += w * uint16(rows[i][x])
	}
	return sum
}

// mirrorAt returns which of n samples stands at i: beyond an edge they come back, the edge's sample
// once.
func mirrorAt(i, n int) int {
	if n == 1 {
		return 0
	}
	i %= 2 * (n - 1)
	if i < 0 {
		i += 2 * (n - 1)
	}
	return min(i, 2*(n-1)-i)
}

// span returns the least and the largest blurred sample.
func (e *Edges) span() (least, largest int) {
	for e.levels[least] == 0 {
		least++
	}
	largest = 255
	for e.levels[largest] == 0 {
		largest--
	}
	return least, largest
}

// cannyThresholds returns what a peak must exceed to be on an edge that exists (low), or to begin
// one (high). Products are rounded before they are added, as Python does it.
func cannyThresholds(least, largest int) (low, high int) {
	span, base := float64(largest-least), float64(least)
	return int(float64(0.1*span) + base), int(float64(0.3*span) + base)
}

// findPeaks computes the peaks of the rectangle, and reports whether one has changed.
func (e *Edges) findPeaks(x0, y0, x1, y1 int) (changed bool) {
	above, here, below := &e.lines[0], &e.lines[1], &e.lines[2]
	e.gradient(above, y0-1, x0, x1)
	e.gradient(here, y0, x0, x1)
	for y := y0; y < y1; y++ {
		e.gradient(below, y+1, x0, x1)
		if e.peaksOf(above, here, below, y, x0, x1) {
			e.top(y, x0, x1)
			changed = true
		}
		above, here, below = here, below, above
	}
	return changed
}

// gradient fills the line's gradient at x0-1 ≤ x < x1+1, as far as there is one.
func (e *Edges) gradient(l *edgeLine, y, x0, x1 int) {
	if y < 0 || y >= e.height {
		clear(l.mag[x0 : x1+2])
		return
	}
	up, mid, down := e.line(y-1), e.line(y), e.line(y+1)
	l.mag[0], l.mag[e.pw-1] = 0, 0
	for x := max(x0-1, 0); x < min(x1+1, e.width); x++ {
		a, b := max(x-1, 0), min(x+1, e.width-1)
		ul, ur, dl, dr := int(up[a]), int(up[b]), int(down[a]), int(down[b])
		dx := ur + dr - ul - dl + 2*(int(mid[b])-int(mid[a]))
		dy := dl + dr - ul - ur + 2*(int(down[x])-int(up[x]))
		l.dx[x+1], l.dy[x+1] = int16(dx), int16(dy)
		l.mag[x+1] = uint16(max(dx, -dx) + max(dy, -dy))
	}
}

// line returns a blurred line; beyond the picture's edge, the edge's.
func (e *Edges) line(y int) []byte {
	y = min(max(y, 0), e.height-1)
	return e.blurred[y*e.width : (y+1)*e.width]
}

// peaksOf computes a line's peaks, and reports whether one has changed.
func (e *Edges) peaksOf(above, here, below *edgeLine, y, x0, x1 int) (changed bool) {
	peaks := e.peaks[(y+1)*e.pw:][:e.pw]
	mag := here.mag
	for x := x0 + 1; x < x1+1; x++ {
		m := mag[x]
		if m > 0 && !isPeak(m, x, above.mag, mag, below.mag, here.dx[x], here.dy[x]) {
			m = 0
		}
		if peaks[x] != m {
			peaks[x] = m
			changed = true
		}
	}
	return changed
}

func isPeak(m uint16, x int, above, here, below []uint16, dx, dy int16) bool {
	const shift, tan22 = 15, 13573 // tan(22.5°)·2^15, rounded; tan(67.5°) is that plus 2
	ax, ay := max(int(dx), -int(dx)), max(int(dy), -int(dy))<<shift
	flat := ax * tan22
	switch {
	case ay < flat:
		return m > here[x-1] && m >= here[x+1]
	case ay > flat+ax<<(shift+1):
		return m > above[x] && m >= below[x]
	case dx^dy < 0:
		return m > above[x+1] && m > below[x-1]
	}
	return m > above[x-1] && m > below[x+1]
}

// top notes the largest peaks of the blocks that hold samples x0 ≤ x < x1 of a line.
func (e *Edges) top(y, x0, x1 int) {
	for b := x0 / edgeBlock; b <= (x1-1)/edgeBlock; b++ {
		most := uint16(0)
		for _, p := range e.peaks[(y+1)*e.pw+1:][b*edgeBlock : min((b+1)*edgeBlock, e.width)] {
			most = max(most, p)
		}
		e.tops[y*e.blocks+b] = most
	}
}

// follow counts the edges: from each peak above the high threshold to all that are connected with
// it.
func (e *Edges) follow() {
	clear(e.seen)
	e.count = 0
	for y := range e.height {
		for b, top := range e.tops[y*e.blocks : (y+1)*e.blocks] {
			if int(top) <= e.high {
				continue
			}
			start := (y+1)*e.pw + 1 + b*edgeBlock
			for i := start; i < start+min(edgeBlock, e.width-b*edgeBlock); i++ {
				if int(e.peaks[i]) > e.high && !e.seen[i] {
					e.spread(i)
				}
			}
		}
	}
}

// spread counts the edge that holds peak i.
func (e *Edges) spread(i int) {
	around := [...]int{-e.pw - 1, -e.pw, -e.pw + 1, -1, 1, e.pw - 1, e.pw, e.pw + 1}
	e.seen[i] = true
	e.stack = append(e.stack[:0], int32(i))
	for len(e.stack) > 0 {
		at := int(e.stack[len(e.stack)-1])
		e.stack = e.stack[:len(e.stack)-1]
		e.count++
		for _, d := range around {
			if n := at + d; int(e.peaks[n]) > e.low && !e.seen[n] {
				e.seen[n] = true
				e.stack = append(e.stack, int32(n))
			}
		}
	}
}
