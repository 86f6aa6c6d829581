package scroll

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # Phase correlation
//
// The spectra of two signals, one displaced against the other, differ in phase only. The difference
// rises with frequency. So the inverse transform of the cross-power spectrum, reduced to its phase,
// has a peak at the displacement (Kuglin and Hines, 1975). Signals are windowed with Hann's window,
// since they end abruptly. Spectra of several lines, or tiles, are added before they are
// transformed back: so they vote.
//
// Three kinds are tried, each only if the earlier ones found no valid displacement. First come 16
// lines of up to 1024 pixels, then 16 columns as long, then up to three tiles of up to 256x256
// pixels. The cost of a frame is bounded, whatever its size. A displacement is found up to half of
// the length.
type phase struct {
	ffts  map[int]*fourier.CmplxFFT
	hann  map[int][]float64
	in    []complex128 // both signals: the frame before is the real part, the frame itself the imaginary one
	freq  []complex128
	cross []complex128
	col   []complex128
}

const (
	phaseLines  = 16
	longestLine = 1024
	largestTile = 256
	minLength   = 32
	peaks       = 3
)

func (p *phase) fft(n int) *fourier.CmplxFFT {
	if p.ffts == nil {
		p.ffts, p.hann = map[int]*fourier.CmplxFFT{}, map[int][]float64{}
	}
	if p.ffts[n] == nil {
		p.ffts[n] = fourier.NewCmplxFFT(n)
		w := make([]float64, n)
		for i := range w {
			w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/float64(n))
		}
		p.hann[n] = w
	}
	return p.ffts[n]
}

// room returns memory for n values.
func room(b *[]complex128, n int) []complex128 {
	if cap(*b) < n {
		*b = make([]complex128, n)
	}
	return (*b)[:n]
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
// spectra: c is that of a + ib.
func addPhase(cross []complex128, c, mirrored complex128, i int) {
	// Division of complex numbers takes much longer.
	a := complex((real(c)+real(mirrored))/2, (imag(c)-imag(mirrored))/2)  // (c + conj(mirrored)) / 2
	b := complex((imag(c)+imag(mirrored))/2, -(real(c)-real(mirrored))/2) // (c - conj(mirrored)) / 2i
	x := b * conj(a)
	if n := math.Hypot(real(x), imag(x)); n > 1e-9 {
		cross[i] += complex(real(x)/n, imag(x)/n)
	}
}

func conj(c complex128) complex128 { return complex(real(c), -imag(c)) }

// window prepares a line of two signals: their means are taken away, and they fade at both ends.
func window(dst []complex128, a, b []byte, hann []float64, fade float64) {
	var ma, mb float64
	for i := range a {
		ma, mb = ma+float64(a[i]), mb+float64(b[i])
	}
	ma, mb = ma/float64(len(a)), mb/float64(len(a))
	for i := range a {
		w := hann[i] * fade
		dst[i] = complex((float64(a[i])-ma)*w, (float64(b[i])-mb)*w)
	}
}

// begin clears the spectrum of some size that lines of n are added to.
func (p *phase) begin(n, size int) {
	p.fft(n)
	p.cross = room(&p.cross, size)
	clear(p.cross)
}

// vote adds a line of both frames.
func (p *phase) vote(before, now []byte) {
	n := len(before)
	in, freq := room(&p.in, n), room(&p.freq, n)
	window(in, before, now, p.hann[n], 1)
	p.ffts[n].Coefficients(freq, in)
	for i := range freq {
		addPhase(p.cross, freq[i], freq[(n-i)%n], i)
	}
}

// found returns the displacements at the highest peaks.
func (p *phase) found(n int) []int {
	out := room(&p.in, n)
	p.ffts[n].Sequence(out, p.cross[:n])
	at := highest(out, 0)
	for i, k := range at {
		if k >= n/2 {
			at[i] = k - n
		}
	}
	return at
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
	for _, dx := range p.found(n) {
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
	for _, dy := range p.found(n) {
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
	p.turn(p.cross, n, func(out, in []complex128) { p.ffts[n].Sequence(out, in) })
	for _, at := range highest(p.cross[:n*n], 0) {
		dx, dy := at%n, at/n
		if dx >= n/2 {
			dx -= n
		}
		if dy >= n/2 {
			dy -= n
		}
		found = append(found, candidate{dx: dx, dy: dy})
	}
	return found
}

// tile adds the spectrum of a tile.
func (m *estimator) tile(x, y, n int) {
	p := &m.phase
	in := room(&p.in, n*n)
	hann := p.hann[n]
	for i := range n {
		window(in[i*n:(i+1)*n], m.before.part(y+i, x, n), m.now.part(y+i, x, n), hann, hann[i])
	}
	p.turn(in, n, func(out, in []complex128) { p.ffts[n].Coefficients(out, in) })
	for v := range n {
		for u := range n {
			addPhase(p.cross, in[v*n+u], in[(n-v)%n*n+(n-u)%n], v*n+u)
		}
	}
}

// turn transforms rows, then columns, in place.
func (p *phase) turn(data []complex128, n int, transform func(out, in []complex128)) {
	out, col := room(&p.freq, n), room(&p.col, n)
	for y := range n {
		transform(out, data[y*n:(y+1)*n])
		copy(data[y*n:], out)
	}
	for x := range n {
		for y := range n {
			col[y] = data[y*n+x]
		}
		transform(out, col)
		for y := range n {
			data[y*n+x] = out[y]
		}
	}
}
