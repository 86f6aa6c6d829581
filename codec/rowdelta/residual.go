package rowdelta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// Packing says how a block's bytes are stored.
type Packing uint8

// The packings of blocks.
const (
	Plain      Packing = iota // as they are, or by LZ4
	Predicted                 // residuals of a prediction from the block itself
	Difference                // as Predicted, of the difference from the previous frame
	packings
)

// MaxChain is the most blocks of differences that one byte may be the sum of.
const MaxChain = 8

// Known reports whether p is known.
func (p Packing) Known() bool { return p < packings }

// predictor predicts a byte from the bytes to the left (a), above (b) and above left (c). All three
// are a step away: the same channel of the next pixel.
type predictor uint8

const (
	fromNothing predictor = iota
	fromLeft              // a
	fromAbove             // b
	fromMean              // (a+b)/2
	fromMedian            // the median of a, b and a+b-c
	predictors
)

const maxStep = 8 // bytes of a pixel, or of a group of pixels

// section is a run of a block's rows that have one length.
type section struct {
	pitch, rows int // bytes of a row, number of rows
	step        int // bytes from a sample to the next of its channel
	from        predictor
}

var errResidual = errors.New("decompress residuals")

// coding says how a block's residuals are stored.
type coding uint8

const (
	byZstd    coding = iota // one frame
	byHuffman               // channel by channel, each with a code of its own
	codings
)

// The first byte of a channel that is coded by Huffman.
const (
	channelRaw byte = iota
	channelConstant
	channelCoded // uvarint: length; huff0's table and four streams
	maxChannel   = 128 << 10
)

// Unpacker restores blocks of residuals. It may be used by several goroutines.
type Unpacker struct {
	zstd    *zstd.Decoder
	free    chan *unpacking // one for each goroutine that unpacks
	vectors bool
}

// unpacking is the memory for one block.
type unpacking struct {
	planes []byte
	table  *huff0.Scratch
}

// NewUnpacker returns an unpacker for blocks of up to maxRaw bytes and some goroutines.
func NewUnpacker(maxRaw, goroutines int) *Unpacker {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(goroutines), zstd.IgnoreChecksum(true),
		zstd.WithDecoderMaxMemory(uint64(max(maxRaw, 1<<20))), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true)) // a block has as many bytes as dst, whatever it claims
	if err != nil {
		panic(err) // only options can fail
	}
	return &Unpacker{d, make(chan *unpacking, goroutines), hasVectors()}
}

// Unpack restores a block of len(dst) bytes. A block of differences is still to be added to what it
// differs from.
func (u *Unpacker) Unpack(src, dst []byte) error {
	head, err := checkSections(src, len(dst))
	if err != nil {
		return err
	}
	var m *unpacking
	select {
	case m = <-u.free:
	default:
		m = &unpacking{}
	}
	const slack = 16 // the decoder copies so many bytes at once if there is room for them
	m.planes = grow(m.planes, len(dst)+slack)[:len(dst)]
	if coding(src[head-1]) == byZstd {
		var out []byte
		out, err = u.zstd.DecodeAll(src[head:], m.planes[:0:len(dst)+slack])
		if err == nil && len(out) != len(dst) {
			err = fmt.Errorf("got %d bytes, want %d", len(out), len(dst))
		}
		m.planes = out
	} else {
		err = m.huffman(src, head)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errResidual, err)
	}
	for in, from := src, m.planes; len(dst) > 0; {
		s, n := parseSection(in)
		size := s.pitch * s.rows
		join(dst[:size], from[:size], s.step, u.vectors)
		s.restore(dst[:size], u.vectors)
		dst, from, in = dst[size:], from[size:], in[n:]
	}
	select {
	case u.free <- m:
	default:
	}
	return nil
}

var errChannel = errors.New("bad channel")

// huffman fills m.planes with the channels that follow the sections of src.
func (m *unpacking) huffman(src []byte, head int) error {
	to, in, sections := m.planes, src[head:], src
	for len(to) > 0 {
		s, n := parseSection(sections)
		sections = sections[n:]
		for c := range s.step {
			n := s.channel(c)
			if n == 0 {
				continue
			}
			var err error
			if in, err = m.channel(to[:n:n], in); err != nil {
				return err
			}
			to = to[n:]
		}
	}
	if len(in) > 0 {
		return fmt.Errorf("%d bytes left over", len(in))
	}
	return nil
}

// channel fills dst with a channel and returns what follows it.
func (m *unpacking) channel(dst, in []byte) ([]byte, error) {
	if len(in) < 2 || len(dst) > maxChannel {
		return nil, errChannel
	}
	kind, in := in[0], in[1:]
	switch kind {
	case channelRaw:
		if len(in) < len(dst) {
			return nil, errChannel
		}
		return in[copy(dst, in):], nil
	case channelConstant:
		n := copy(dst, in[:1])
		for n < len(dst) { // twice as much each time, since copying is fast
			n += copy(dst[n:], dst[:n])
		}
		return in[1:], nil
	case channelCoded:
	default:
		return nil, errChannel
	}
	size, n := binary.Uvarint(in)
	if n <= 0 || size > uint64(len(in)-n) {
		return nil, errChannel
	}
	coded, rest := in[n:n+int(size)], in[n+int(size):]
	var err error
	if m.table, coded, err = huff0.ReadTable(coded, m.table); err != nil {
		return nil, err
	}
	out, err := m.table.Decoder().Decompress4X(dst[:0:len(dst)], coded)
	if err == nil && len(out) != len(dst) {
		err = errChannel
	}
	return rest, err
}

// channel returns how many bytes of a section belong to a channel.
func (s *section) channel(c int) int { return (s.pitch*s.rows - c + s.step - 1) / s.step }

// checkSections returns the length of the sections that make up raw bytes, and of the coding.
func checkSections(src []byte, raw int) (int, error) {
	at := 0
	for left := raw; left > 0; {
		s, n := parseSection(src[at:])
		if n == 0 || s.pitch < 1 || s.rows < 1 || s.pitch > left || s.rows > left/s.pitch || s.from >= predictors ||
			s.step > maxStep {
			return 0, fmt.Errorf("%w: bad section at byte %d", errResidual, at)
		}
		left -= s.pitch * s.rows
		at += n
	}
	if at >= len(src) || coding(src[at]) >= codings {
		return 0, fmt.Errorf("%w: unknown coding", errResidual)
	}
	return at + 1, nil
}

// parseSection reads a section and returns how many bytes it takes, 0 for none.
func parseSection(src []byte) (s section, n int) {
	pitch, a := binary.Uvarint(src)
	if a <= 0 {
		return s, 0
	}
	rows, b := binary.Uvarint(src[a:])
	if b <= 0 || a+b >= len(src) {
		return s, 0
	}
	const most = 1 << 30 // more than any block has bytes
	how := src[a+b]
	return section{int(min(pitch, most)), int(min(rows, most)), int(how>>4) + 1, predictor(how & 15)}, a + b + 1
}

func (s *section) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.pitch))
	dst = binary.AppendUvarint(dst, uint64(s.rows))
	return append(dst, byte(s.step-1)<<4|byte(s.from))
}

// split sorts the bytes of src by channel.
func split(dst, src []byte, step int) {
	if n := len(src) / 4; step == 4 && len(src) == 4*n {
		p0, p1, p2, p3 := dst[:n], dst[n:2*n], dst[2*n:3*n], dst[3*n:4*n]
		for i := range p0 {
			v := binary.LittleEndian.Uint32(src[4*i : 4*i+4])
			p0[i], p1[i], p2[i], p3[i] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
		}
		return
	}
	if step == 1 {
		copy(dst, src)
		return
	}
	at := 0
	for c := range step {
		for i := c; i < len(src); i += step {
			dst[at] = src[i]
			at++
		}
	}
}

// join is the inverse of split.
func join(dst, src []byte, step int, vectors bool) {
	if n := len(dst) / 4; step == 4 && len(dst) == 4*n {
		p0, p1, p2, p3 := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
		i := 0
		if vectors {
			i = joinVectors(dst, src[:4*n])
		}
		for ; i < n; i++ {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(p0[i])|uint32(p1[i])<<8|uint32(p2[i])<<16|uint32(p3[i])<<24)
		}
		return
	}
	at := 0
	for c := range step {
		for i := c; i < len(dst); i += step {
			dst[i] = src[at]
			at++
		}
	}
}

// median returns the median of a, b and a+b-c.
func median(a, b, c int) int {
	low, high := min(a, b), max(a, b)
	return max(low, min(high, a+b-c))
}

// row returns the row above and row y of a section's bytes.
func (s *section) row(b []byte, y int) (above, row []byte) {
	return b[(y-1)*s.pitch : y*s.pitch : y*s.pitch], b[y*s.pitch : (y+1)*s.pitch : (y+1)*s.pitch]
}

// restore replaces a section's residuals by its bytes. The first row has no row above. The first
// pixel of the others has nothing to the left.
func (s *section) restore(b []byte, vectors bool) {
	if s.from == fromNothing {
		return
	}
	vectors = vectors && s.step == 4
	edge := min(s.step, s.pitch)
	restoreRow(b[:s.pitch], b, fromLeft, edge, vectors)
	for y := 1; y < s.rows; y++ {
		up, row := s.row(b, y)
		if s.from == fromAbove {
			Add(row, up)
			continue
		}
		Add(row[:edge], up)
		if vectors && s.from == fromMean && y+1 < s.rows && s.pitch >= 20 {
			y++
			s.restorePair(b, y)
			continue
		}
		restoreRow(row, up, s.from, edge, vectors)
	}
}

// restorePair restores the rows above y and y by means. The first pixel of the upper one is
// restored.
func (s *section) restorePair(b []byte, y int) {
	up, row := s.row(b, y-1)
	_, below := s.row(b, y)
	Add(below[:4], row)
	i := restorePairVectors(row, up, below) - 4
	restoreMean(row[i:], up[i:], 4)
	restoreMean(below[i:], row[i:], 4)
}

// restoreRow restores a row whose first bytes, a step, are restored.
func restoreRow(row, up []byte, from predictor, step int, vectors bool) {
	i := step
	if vectors && len(row) > step {
		i = restoreVectors(row, up, from)
	}
	switch from {
	case fromLeft:
		for ; i < len(row); i++ {
			row[i] += row[i-step]
		}
	case fromMean:
		restoreMean(row[i-step:], up[i-step:], step)
	case fromMedian:
		restoreMedian(row[i-step:], up[i-step:], step)
	}
}

// restoreMean adds means to residuals. Four channels are added at once.
func restoreMean(row, up []byte, step int) {
	i := step
	if step == 4 && len(row) >= 4 {
		const high = uint32(0x80808080)
		up = up[:len(row)]
		a := binary.LittleEndian.Uint32(row)
		for ; i <= len(row)-4; i += 4 {
			b, r := binary.LittleEndian.Uint32(up[i:i+4]), binary.LittleEndian.Uint32(row[i:i+4])
			p := a&b + (a^b)>>1&^high
			a = (p&^high + r&^high) ^ (p^r)&high
			binary.LittleEndian.PutUint32(row[i:i+4], a)
		}
	}
	for ; i < len(row); i++ {
		row[i] += byte((int(row[i-step]) + int(up[i])) >> 1)
	}
}

// restoreMedian is the hot loop of restore. Four channels at once do not wait for each other.
func restoreMedian(row, up []byte, step int) {
	i := step
	if step == 4 && len(row) >= 4 {
		up = up[:len(row)]
		a0, a1, a2, a3 := int(row[0]), int(row[1]), int(row[2]), int(row[3])
		c0, c1, c2, c3 := int(up[0]), int(up[1]), int(up[2]), int(up[3])
		for ; i+4 <= len(row); i += 4 {
			u, r := up[i:i+4:i+4], row[i:i+4:i+4]
			b0, b1, b2, b3 := int(u[0]), int(u[1]), int(u[2]), int(u[3])
			a0 = (int(r[0]) + median(a0, b0, c0)) & 255
			a1 = (int(r[1]) + median(a1, b1, c1)) & 255
			a2 = (int(r[2]) + median(a2, b2, c2)) & 255
			a3 = (int(r[3]) + median(a3, b3, c3)) & 255
			r[0], r[1], r[2], r[3] = byte(a0), byte(a1), byte(a2), byte(a3)
			c0, c1, c2, c3 = b0, b1, b2, b3
		}
	}
	for ; i < len(row); i++ {
		row[i] += byte(median(int(row[i-step]), int(up[i]), int(up[i-step])))
	}
}

// residuals fills dst with the residuals of src, a section's bytes.
func (s *section) residuals(dst, src []byte) {
	if s.from == fromNothing {
		copy(dst, src)
		return
	}
	edge := min(s.step, s.pitch)
	copy(dst, src[:edge])
	subtract(dst[edge:s.pitch], src[edge:], src)
	for y := 1; y < s.rows; y++ {
		up, row := s.row(src, y)
		_, out := s.row(dst, y)
		subtract(out[:edge], row, up)
		out, a, b, c, row := out[edge:], row, up[edge:], up, row[edge:]
		switch s.from {
		case fromLeft:
			subtract(out, row, a)
		case fromAbove:
			subtract(out, row, b)
		case fromMean:
			subtractMean(out, row, a, b)
		case fromMedian:
			subtractMedian(out, row, a, b, c)
		}
	}
}

const high = 0x8080808080808080 // bits of eight bytes

func load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8]) }

// sub8 subtracts eight bytes.
func sub8(x, y uint64) uint64 { return ((x | high) - (y &^ high)) ^ ((x ^ ^y) & high) }

// reach8 returns 255 for each byte of x that is not less than that of y, else 0.
func reach8(x, y uint64) uint64 {
	m := (x&^y | ^(x^y)&((x|high)-(y&^high))) & high
	return m<<1 - m>>7
}

// subtract fills dst with x-y.
func subtract(dst, x, y []byte) {
	x, y = x[:len(dst)], y[:len(dst)]
	i := 0
	for ; i <= len(dst)-8; i += 8 {
		binary.LittleEndian.PutUint64(dst[i:i+8], sub8(load(x, i), load(y, i)))
	}
	for ; i < len(dst); i++ {
		dst[i] = x[i] - y[i]
	}
}

// subtractMean fills dst with x-(a+b)/2.
func subtractMean(dst, x, a, b []byte) {
	x, a, b = x[:len(dst)], a[:len(dst)], b[:len(dst)]
	i := 0
	for ; i <= len(dst)-8; i += 8 {
		l, u := load(a, i), load(b, i)
		binary.LittleEndian.PutUint64(dst[i:i+8], sub8(load(x, i), l&u+(l^u)>>1&^high))
	}
	for ; i < len(dst); i++ {
		dst[i] = x[i] - byte((int(a[i])+int(b[i]))>>1)
	}
}

// subtractMedian fills dst with the differences of x from the median of a, b and a+b-c.
func subtractMedian(dst, x, a, b, c []byte) {
	x, a, b, c = x[:len(dst)], a[:len(dst)], b[:len(dst)], c[:len(dst)]
	i := 0
	for ; i <= len(dst)-8; i += 8 {
		l, u, d := load(a, i), load(b, i), load(c, i)
		m := (l ^ u) & reach8(l, u)
		low, most := l^m, u^m
		above, below := reach8(d, most), reach8(low, d)
		p := sub8(l, d)
		p = (p&^high + u&^high) ^ (p^u)&high
		p = above&low | below&^above&most | p&^(above|below)
		binary.LittleEndian.PutUint64(dst[i:i+8], sub8(load(x, i), p))
	}
	for ; i < len(dst); i++ {
		dst[i] = x[i] - byte(median(int(a[i]), int(b[i]), int(c[i])))
	}
}

// Add adds src to dst, byte by byte, as far as dst reaches.
func Add(dst, src []byte) {
	src = src[:len(dst)]
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		a, b := binary.LittleEndian.Uint64(dst[i:]), binary.LittleEndian.Uint64(src[i:])
		binary.LittleEndian.PutUint64(dst[i:], (a&^high+b&^high)^(a^b)&high)
	}
	for ; i < len(dst); i++ {
		dst[i] += src[i]
	}
}
