package rowdelta

import (
	"math"

	"github.com/klauspost/compress/huff0"

	"github.com/eideticker/eideticker/capture/frame"
)

// LivePacker packs blocks while they are recorded. A small sample of a block decides how. One
// belongs to one goroutine.
type LivePacker struct {
	Packer
	residualMemory
	layout *frame.Layout
	steps  [maxPlanes]int

	counts [predictors][maxStep][256]uint16
	clog   [sampleBytes + 1]float32 // n·log2(n)
}

// residualMemory is what a packer needs for residuals.
type residualMemory struct {
	sections          []section
	residuals, planes []byte
	tried             []byte
	table             huff0.Scratch
}

const (
	maxPlanes   = 4
	sampleRow   = 512 // bytes of a row that are tried
	sampleRows  = 4
	sampleBytes = sampleRow * sampleRows
	leastLive   = 2 << 10 // smaller blocks are not tried
	liveSection = 2 << 10 // bytes that a section must have on average
	cheapLZ     = 5       // LZ4 stays if the block becomes so many times smaller
	liveGain    = 4       // residuals must seem to save this part of LZ4's bytes
	codeBytes   = 64      // of a Huffman code
)

// NewLivePacker returns a packer.
func NewLivePacker() *LivePacker {
	p := &LivePacker{}
	for n := 2; n < len(p.clog); n++ {
		p.clog[n] = float32(n) * float32(math.Log2(float64(n)))
	}
	return p
}

// PackBlock packs block b of bytes src into dst, and returns the number of bytes written. It
// returns 0 if src is better stored as it is.
func (p *LivePacker) PackBlock(l *frame.Layout, b *Block, src, dst []byte, acceleration int) (int, Packing, error) {
	if acceleration > Thorough || len(src) < leastLive {
		n, err := p.Pack(src, dst, max(acceleration, Smallest))
		return n, Plain, err
	}
	part, err := p.probe(src, dst, Smallest)
	if err != nil {
		return 0, Plain, err
	}
	if part >= littleLZ {
		if n := p.predict(l, b, src, len(src)); n > 0 {
			return copy(dst, p.tried), Predicted, nil
		}
		return 0, Plain, nil
	}
	n, err := p.compress(src, dst)
	if err != nil || n > 0 && n <= len(src)/cheapLZ {
		return n, Plain, err
	}
	other := n
	if n == 0 {
		other = len(src)
	}
	if n := p.predict(l, b, src, other); n > 0 {
		return copy(dst, p.tried), Predicted, nil
	}
	return n, Plain, nil
}

// predict packs src as residuals into p.tried and returns their bytes. It returns 0 unless they
// seem to save a part of the bytes of another packing.
func (p *LivePacker) predict(l *frame.Layout, b *Block, src []byte, other int) int {
	p.setLayout(l)
	p.sections = b.appendSections(p.sections[:0], func(y int32) int { return p.steps[l.Rows[y].Plane] })
	if len(p.sections) > 1+len(src)/liveSection {
		return 0
	}
	from, bytes := p.choose(src)
	if bytes >= other-other/liveGain {
		return 0
	}
	p.predicted(src, from)
	p.tried = p.tried[:0]
	for _, s := range p.sections {
		s.from = from
		p.tried = s.append(p.tried)
	}
	p.tried = p.huffman(append(p.tried, byte(byHuffman)))
	if len(p.tried) >= min(other, len(src)-len(src)/worthIt) || len(p.tried)*unpackedLimit < len(src) {
		return 0
	}
	return len(p.tried)
}

func (p *LivePacker) setLayout(l *frame.Layout) {
	if p.layout == l {
		return
	}
	p.layout = l
	clear(p.steps[:])
	for y := range l.Rows {
		if plane := l.Rows[y].Plane; p.steps[plane] == 0 {
			p.steps[plane] = sampleStep(l, y)
		}
	}
}

// choose returns the best predictor and how many bytes it would need, as far as a sample tells.
func (p *LivePacker) choose(src []byte) (predictor, int) {
	clear(p.counts[fromLeft:])
	taken, at := 0, 0
	k := 0
	for i := range p.sections {
		s := &p.sections[i]
		size := s.pitch * s.rows
		for ; k < sampleRows; k++ {
			target := (2*k + 1) * len(src) / (2 * sampleRows)
			if target >= at+size {
				break
			}
			taken += p.sample(s, src[at:at+size], (target-at)/s.pitch)
		}
		at += size
	}
	best, least := fromLeft, float32(math.MaxFloat32)
	for from := fromLeft; from < predictors; from++ {
		bits := float32(0)
		for c := range p.counts[from] {
			bits += p.bits(&p.counts[from][c])
		}
		if from == fromMedian {
			bits += bits / 32 // it takes longer to read
		}
		if bits < least {
			best, least = from, bits
		}
	}
	bytes := float64(least) / 8 * float64(len(src)) / float64(max(taken, 1))
	return best, int(bytes) + codeBytes*p.sections[0].step*len(p.sections)
}

// bits returns how many bits a Huffman code takes for counted values.
func (p *LivePacker) bits(counts *[256]uint16) float32 {
	n, sum, values := 0, float32(0), 0
	for _, c := range counts {
		if c > 0 {
			n += int(c)
			values++
			sum += p.clog[c]
		}
	}
	if values < 2 {
		return 0
	}
	const unseen = 0.72 // bits that a value adds which is seldom in the sample
	return max(p.clog[n]-sum+unseen*float32(values), float32(n))
}

// sample counts the residuals of a part of row y. It returns the bytes of that part.
func (p *LivePacker) sample(s *section, b []byte, y int) int {
	step := s.step
	if y == 0 && s.rows > 1 {
		y = 1
	}
	row := b[y*s.pitch:][:s.pitch]
	up := row
	if y > 0 {
		up = b[(y-1)*s.pitch:][:s.pitch]
	}
	from, to := step, s.pitch
	if to-from > sampleRow {
		from = (to - sampleRow) / 2 / step * step
		from = max(from, step)
		to = from + sampleRow
	}
	if to <= from {
		return 0
	}
	n := to - from
	row, left, up, corner := row[from:to], row[from-step:][:n], up[from:to], up[from-step:][:n]
	if y == 0 {
		up, corner = left, left
	}
	for channel := range step {
		l, u := &p.counts[fromLeft][channel], &p.counts[fromAbove][channel]
		m, d := &p.counts[fromMean][channel], &p.counts[fromMedian][channel]
		for i := channel; i < len(row); i += step {
			v, a, b := row[i], left[i], up[i]
			l[v-a]++
			u[v-b]++
			m[v-byte((int(a)+int(b))>>1)]++
			d[v-byte(median(int(a), int(b), int(corner[i])))]++
		}
	}
	return n
}
