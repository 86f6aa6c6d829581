package rowdelta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"

	"github.com/eideticker/eideticker/capture/frame"
)

// ResidualPacker packs blocks as small as it can. One belongs to one goroutine.
type ResidualPacker struct {
	lz          Packer
	quick, best *zstd.Encoder
	residualMemory

	gathered, before, difference, out []byte
}

// NewResidualPacker returns a packer.
func NewResidualPacker() *ResidualPacker {
	return &ResidualPacker{quick: newEncoder(zstd.SpeedDefault), best: newEncoder(zstd.SpeedBetterCompression)}
}

func newEncoder(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // only options can fail
	}
	return e
}

const (
	unpackedLimit = 256 // times its stored bytes a block may have
	chainGain     = 16  // a block of differences must save this part of another packing
	minGain       = 64  // and so many bytes
)

// Pack returns the stored bytes of a block of frame pix and how they are packed. They are valid
// until the next call. A block is packed as the difference from the previous frame only if prev is
// not nil. Without a gain the result is the block's bytes.
func (p *ResidualPacker) Pack(l *frame.Layout, b *Block, pix, prev []byte) ([]byte, Packing, error) {
	p.gathered = grow(p.gathered, b.Raw)
	src := b.Gather(l, pix, p.gathered)
	p.keep(src)
	p.tried = grow(p.tried, PackBound(len(src)))
	n, err := p.lz.Pack(src, p.tried, Smallest)
	if err != nil {
		return nil, Plain, err
	}
	if n > 0 {
		p.keep(p.tried[:n])
	}
	if len(p.out) <= minGain {
		return p.out, Plain, nil
	}
	kind := Plain
	p.sections = b.appendSections(p.sections[:0], func(y int32) int { return sampleStep(l, int(y)) })
	if p.predict(src, len(p.out)-len(p.out)/worthIt) {
		p.keep(p.tried)
		kind = Predicted
	}
	if prev != nil && len(p.out) > minGain {
		p.before, p.difference = grow(p.before, b.Raw), grow(p.difference, b.Raw)
		before := b.Gather(l, prev, p.before)
		for i := range src {
			p.difference[i] = src[i] - before[i]
		}
		if p.predict(p.difference, len(p.out)-len(p.out)/chainGain-minGain) {
			p.keep(p.tried)
			kind = Difference
		}
	}
	return p.out, kind, nil
}

func (p *ResidualPacker) keep(b []byte) { p.out = append(p.out[:0], b...) }

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// predict packs src with the best predictor and coding into p.tried. It reports whether the result
// has fewer bytes than the limit.
func (p *ResidualPacker) predict(src []byte, limit int) bool {
	best, by, least := fromNothing, byZstd, len(src)
	for from := range predictors {
		p.predicted(src, from)
		whole := p.planes
		if len(p.sections) == 1 && len(src) >= 16*probeSize { // the first channels are enough
			p.planes = p.planes[:len(src)/4]
		}
		if n := len(p.quick.EncodeAll(p.planes, p.tried[:0])); n < least {
			best, by, least = from, byZstd, n
		}
		if p.tried = p.huffman(p.tried[:0]); len(p.tried) < least {
			best, by, least = from, byHuffman, len(p.tried)
		}
		p.planes = whole
	}
	p.predicted(src, best)
	p.tried = p.tried[:0]
	for _, s := range p.sections {
		s.from = best
		p.tried = s.append(p.tried)
	}
	p.tried = append(p.tried, byte(by))
	if by == byHuffman {
		p.tried = p.huffman(p.tried)
		return len(p.tried) < limit && len(p.tried)*unpackedLimit >= len(src)
	}
	p.tried = p.best.EncodeAll(p.planes, p.tried)
	if need := (len(src) + unpackedLimit - 1) / unpackedLimit; len(p.tried) < need { // a skippable frame fills it
		p.tried = append(p.tried, 0x50, 0x2a, 0x4d, 0x18)
		n := max(need-len(p.tried)-4, 0)
		p.tried = binary.LittleEndian.AppendUint32(p.tried, uint32(n))
		p.tried = append(p.tried, make([]byte, n)...)
	}
	return len(p.tried) < limit
}

// huffman appends the coded channels of p.planes to dst. It appends more bytes than there are if a
// channel is too long.
func (p *residualMemory) huffman(dst []byte) []byte {
	at := 0
	for _, s := range p.sections {
		for c := range s.step {
			n := s.channel(c)
			if n == 0 {
				continue
			}
			if at == len(p.planes) { // only a part is tried
				return dst
			}
			in := p.planes[at:min(at+n, len(p.planes))]
			at += len(in)
			if n > maxChannel {
				return append(dst, p.planes...)
			}
			p.table.Reuse = huff0.ReusePolicyNone
			out, _, err := huff0.Compress4X(in, &p.table)
			switch {
			case err == nil:
				dst = binary.AppendUvarint(append(dst, channelCoded), uint64(len(out)))
				dst = append(dst, out...)
			case errors.Is(err, huff0.ErrUseRLE) || bytes.Count(in, in[:1]) == len(in):
				dst = append(dst, channelConstant, in[0])
			default:
				dst = append(append(dst, channelRaw), in...)
			}
		}
	}
	return dst
}

// predicted fills p.planes with the residuals of src.
func (p *residualMemory) predicted(src []byte, from predictor) {
	p.residuals, p.planes = grow(p.residuals, len(src)), grow(p.planes, len(src))
	at := 0
	for _, s := range p.sections {
		s.from = from
		end := at + s.pitch*s.rows
		s.residuals(p.residuals[at:end], src[at:end])
		split(p.planes[at:end], p.residuals[at:end], s.step)
		at = end
	}
}

// appendSections appends the sections of the block's bytes to dst. step returns the step of a row.
func (b *Block) appendSections(dst []section, step func(y int32) int) []section {
	w := b.first
	base := len(dst)
	var spans [2][MaxSpans]Span
	var n [2]int // of the last row and this one
	for i, k := 0, 0; i < b.spans; k ^= 1 {
		y, row, pitch := w.Row, &spans[k], 0
		n[k] = 0
		for ; i < b.spans && w.Row == y; i++ {
			row[n[k]] = w.Span
			n[k]++
			pitch += int(w.End - w.Start)
			if i+1 < b.spans {
				w.Next()
			}
		}
		step := step(y)
		if at := len(dst); at > base && dst[at-1].step == step && slices.Equal(row[:n[k]], spans[k^1][:n[k^1]]) {
			dst[at-1].rows++
		} else {
			dst = append(dst, section{pitch: pitch, rows: 1, step: step})
		}
	}
	return dst
}

// sampleStep returns the bytes from a sample of row y to the next of its channel.
func sampleStep(l *frame.Layout, y int) int {
	x0, _, _, _ := l.Rect(y, 0, 1)
	for step := 1; step < maxStep; step++ {
		if x, _, _, _ := l.Rect(y, step, step+1); x > x0 {
			return step
		}
	}
	return maxStep
}
