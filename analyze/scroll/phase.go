package scroll

import (
	"math"
	"math/bits"
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Phase correlation
//
// The spectra of two signals, one displaced against the other, differ in phase only. The difference
// rises with frequency. So the cross-power spectrum is reduced to its phase. Its inverse transform
// has a peak at the displacement (Kuglin and Hines, 1975). Signals are windowed with Hann's window,
// since they end abruptly. Spectra of several lines, or tiles, are added before they are
// transformed back: so they vote.
//
// Three kinds are tried, each only if the earlier ones found no valid displacement. First come 16
// lines of up to 1024 pixels, then 16 columns of the same length. Then come up to three tiles of up
// to 256x256 pixels. The cost of a frame is bounded, whatever its size. A displacement is found up
// to half of the length.
type phase struct {
	of    map[int]*waves // by their length
	waves *waves         // of the length at hand
	in    []complex128   // both signals: the frame before is the real part, the frame itself the imaginary one
	spare []complex128   // spare is as large as in
	cross []complex128
	lines int // of the waves' block, which are not in cross yet
}

// waves are those of a transform of some length n.
type waves struct {
	hann  []float64
	turns []complex128 // e^(−2πik/n), half a circle
	from  []int        // 0 to n−1 with their bits reversed
	block []complex128 // n rows that are transformed together
}

const (
	phaseLines  = 16
	longestLine = 1024
	largestTile = 256
	minLength   = 32
	peaks       = 3

	// block is how many signals are transformed together. Those of a tile fit into the processor's
	// first cache.
	block = 8
)

// begin chooses a length, and clears the spectrum of some size.
func (p *phase) begin(n, size int) {
	if p.of == nil {
		p.of = map[int]*waves{}
	}
	if p.of[n] == nil {
		w := &waves{make([]float64, n), make([]complex128, n/2), make([]int, n), make([]complex128, n*block)}
		for i := range n {
			w.hann[i] = 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/float64(n))
			w.from[i] = int(bits.Reverse64(uint64(i)) >> (64 - bits.Len(uint(n-1))))
		}
		for k := range w.turns {
			y, x := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
			w.turns[k] = complex(x, y)
		}
		p.of[n] = w
	}
	p.waves, p.in, p.cross, p.lines = p.of[n], room(p.in, size), room(p.cross, size), 0
	p.spare = room(p.spare, size)
	clear(p.cross)
}

// transform transforms each column of a block in place (Cooley and Tukey, 1965). Its rows have
// the order of w.from. The length is a power of two.
func (w *waves) transform(data []complex128) {
	for half := 1; half < len(w.hann); half *= 2 {
		if hasVectors() {
			stageVectors(data, w.turns, half)
		} else {
			w.stage(data, half)
		}
	}
}

// stage joins transforms of half rows by two.
func (w *waves) stage(data []complex128, half int) {
	n := len(w.hann)
	for k := range half {
		turn := w.turns[k*(n/2/half)]
		for i := k; i < n; i += 2 * half {
			a, b := data[i*block:(i+1)*block], data[(i+half)*block:(i+half+1)*block]
			for x := range a {
				c := times(b[x], turn)
				a[x], b[x] = a[x]+c, a[x]-c
			}
		}
	}
}

// transformBoth transforms the columns of a tile, then its rows, and leaves them transposed. spare
// is as large.
func (w *waves) transformBoth(data, spare []complex128) {
	n := len(w.hann)
	for x := 0; x < n; x += block {
		w.transformBlock(data[x:])
		for c := range block {
			column := spare[(x+c)*n : (x+c+1)*n]
			for i := range column {
				column[i] = w.block[i*block+c]
			}
		}
	}
	for x := 0; x < n; x += block {
		w.transformBlock(spare[x:])
		for i := range n {
			copy(data[i*n+x:], w.block[i*block:(i+1)*block])
		}
	}
}

// transformBlock transforms the first columns of a tile.
func (w *waves) transformBlock(data []complex128) {
	for i, from := range w.from {
		copy(w.block[i*block:(i+1)*block], data[from*len(w.hann):])
	}
	w.transform(w.block)
}

// room returns memory for n values.
func room(b []complex128, n int) []complex128 {
	if cap(b) < n {
		b = make([]complex128, n)
	}
	return b[:n]
}

// power returns the greatest power of two up to n and most.
func power(n, most int) int {
	p := 1
	for 2*p <= min(n, most) {
		p *= 2
	}
	return p
}

// addPhase adds the phase of the cross-power spectrum of two real signals. Symmetry separates their
// spectra: c is that of a + ib. The phase is symmetric as well: cross[mirror] gets its conjugate.
func addPhase(cross []complex128, c, mirrored complex128, i, mirror int) {
	// Division of complex numbers takes much longer.
	a := complex((real(c)+real(mirrored))/2, (imag(c)-imag(mirrored))/2)  // (c + conj(mirrored)) / 2
	b := complex((imag(c)+imag(mirrored))/2, -(real(c)-real(mirrored))/2) // (c - conj(mirrored)) / 2i
	x := times(b, conj(a))
	if n := math.Sqrt(float64(real(x)*real(x)) + float64(imag(x)*imag(x))); n > 1e-9 {
		at := complex(real(x)/n, imag(x)/n)
		cross[i] += at
		if mirror != i {
			cross[mirror] += conj(at)
		}
	}
}

func conj(c complex128) complex128 { return complex(real(c), -imag(c)) }

// times returns a·b. Conversions forbid fused products, which differ from those of vectors.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)),
		float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}

// window prepares a line of two signals: their means are taken away, and they fade at both ends.
func window(dst []complex128, a, b []byte, hann []float64, fade float64) {
	ma, mb := mean(a), mean(b)
	b, hann, dst = b[:len(a)], hann[:len(a)], dst[:len(a)]
	for i := range a {
		w := hann[i] * fade
		dst[i] = complex((float64(a[i])-ma)*w, (float64(b[i])-mb)*w)
	}
}

func mean(line []byte) float64 {
	sum := 0
	for _, v := range line {
		sum += int(v)
	}
	return float64(sum) / float64(len(line))
}

// vote adds a line of both frames.
func (p *phase) vote(before, now []byte) {
	w, ma, mb := p.waves, mean(before), mean(now)
	for i, from := range w.from {
		h := w.hann[from]
		w.block[i*block+p.lines] = complex((float64(before[from])-ma)*h, (float64(now[from])-mb)*h)
	}
	if p.lines++; p.lines == block {
		p.count()
	}
}

// count transforms the lines of a block and adds their phases.
func (p *phase) count() {
	w, n := p.waves, len(p.waves.hann)
	w.transform(w.block)
	for k := range p.lines {
		for i := range n/2 + 1 {
			mirror := (n - i) % n
			addPhase(p.cross, w.block[i*block+k], w.block[mirror*block+k], i, mirror)
		}
	}
	p.lines = 0
}

// found returns the displacements at the highest peaks. A second transform is the inverse one,
// reversed.
func (p *phase) found() []int {
	if p.lines > 0 {
		p.count()
	}
	w := p.waves
	clear(w.block)
	for i, from := range w.from {
		w.block[i*block] = p.cross[from]
	}
	w.transform(w.block)
	for i := range p.cross {
		p.cross[i] = w.block[i*block]
	}
	at := highest(p.cross, 0)
	for i, k := range at {
		at[i] = shift(k, len(p.cross))
	}
	return at
}

// shift returns the displacement of a place in a reversed correlation of length n, up to n/2.
func shift(at, n int) int {
	if at > n/2 {
		return n - at
	}
	return -at
}

// highest returns where the greatest values but that of one place stand.
func highest(v []complex128, but int) []int {
	var at []int
	for i := range v {
		if i == but {
			continue
		}
		k := len(at)
		for k > 0 && real(v[at[k-1]]) < real(v[i]) {
			k--
		}
		if k < peaks {
			at = slices.Insert(at, k, i)
			at = at[:min(len(at), peaks)]
		}
	}
	return at
}

// alongRows finds horizontal displacements.
func (m *estimator) alongRows(b measure.Rect) (found []candidate) {
	n := power(b.X1-b.X0, longestLine)
	if n < minLength {
		return nil
	}
	p := &m.phase
	p.begin(n, n)
	x := b.X0 + (b.X1-b.X0-n)/2
	count := min(phaseLines, len(m.lines))
	for k := range count {
		at := &m.lines[(2*k+1)*len(m.lines)/(2*count)]
		p.vote(m.before.part(at.y, x, n), m.now.part(at.y, x, n))
	}
	for _, dx := range p.found() {
		found = append(found, candidate{dx: dx})
	}
	return found
}

// alongColumns finds vertical displacements. Columns are taken 8 at a time from two places, every
// fourth of 32.
func (m *estimator) alongColumns(b measure.Rect) (found []candidate) {
	n := power(b.Y1-b.Y0, longestLine)
	width := min(32, (b.X1-b.X0)/2)
	if n < minLength || width < 8 {
		return nil
	}
	p := &m.phase
	p.begin(n, n)
	y := b.Y0 + (b.Y1-b.Y0-n)/2
	before, now := make([]byte, n), make([]byte, n)
	for _, x := range [...]int{b.X0 + (b.X1-b.X0)/4 - width/2, b.X0 + (b.X1-b.X0)*3/4 - width/2} {
		for k := range phaseLines / 2 {
			at := x + k*width/(phaseLines/2) - m.Area.Region.X
			for i := range n {
				before[i], now[i] = m.before.line(y + i)[at], m.now.line(y + i)[at]
			}
			p.vote(before, now)
		}
	}
	for _, dy := range p.found() {
		found = append(found, candidate{dy: dy})
	}
	return found
}

// ofTiles finds displacements in both directions.
func (m *estimator) ofTiles(b measure.Rect) (found []candidate) {
	n := power(min(b.X1-b.X0, b.Y1-b.Y0), largestTile)
	if n < minLength {
		return nil
	}
	p := &m.phase
	p.begin(n, n*n)
	for _, quarter := range [...]int{2, 1, 3} { // the middle, and the middles of two quarters
		x, y := b.X0+(b.X1-b.X0-n)*quarter/4, b.Y0+(b.Y1-b.Y0-n)*quarter/4
		m.tile(x, y, n)
		if b.X1-b.X0 < 2*n && b.Y1-b.Y0 < 2*n {
			break // they would overlap
		}
	}
	p.waves.transformBoth(p.cross, p.in)
	for _, at := range highest(p.cross, 0) {
		found = append(found, candidate{dx: shift(at%n, n), dy: shift(at/n, n)})
	}
	return found
}

// tile adds the spectrum of a tile.
func (m *estimator) tile(x, y, n int) {
	p := &m.phase
	hann := p.waves.hann
	for i := range n {
		window(p.in[i*n:(i+1)*n], m.before.part(y+i, x, n), m.now.part(y+i, x, n), hann, hann[i])
	}
	p.waves.transformBoth(p.in, p.spare)
	for v := range n/2 + 1 {
		mirror := (n - v) % n
		end := n
		if mirror == v {
			end = n/2 + 1
		}
		for u := range end {
			at, other := v*n+u, mirror*n+(n-u)%n
			addPhase(p.cross, p.in[at], p.in[other], at, other)
		}
	}
}
