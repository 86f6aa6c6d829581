package rowdelta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// outerDiff returns the narrowest range of bytes that holds every difference of a and b, which have
// one length.
func outerDiff(a, b []byte) (start, end int, differ bool) {
	start = firstDiff(a, b, 0)
	if start == len(a) {
		return 0, 0, false
	}
	return start, lastDiff(a, b, start) + 1, true
}

// firstDiff returns the first differing byte at or after i, or the length.
func firstDiff(a, b []byte, i int) int {
	const stride = 256 // bytes.Equal is several times faster than a loop over words
	for i+stride <= len(a) && bytes.Equal(a[i:i+stride], b[i:i+stride]) {
		i += stride
	}
	for ; i+8 <= len(a); i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i
}

// lastDiff returns the last differing byte; there must be one at or after floor.
func lastDiff(a, b []byte, floor int) int {
	const stride = 256
	i := len(a)
	for i-stride > floor && bytes.Equal(a[i-stride:i], b[i-stride:i]) {
		i -= stride
	}
	for ; i-8 >= floor; i -= 8 {
		if x := binary.LittleEndian.Uint64(a[i-8:]) ^ binary.LittleEndian.Uint64(b[i-8:]); x != 0 {
			return i - 1 - bits.LeadingZeros64(x)/8
		}
	}
	i--
	for i > floor && a[i] == b[i] {
		i--
	}
	return i
}

// diffSpans returns the number of spans in which a and b differ, and stores the spans in out. At
// least minGap equal bytes separate them. Each starts and ends with a difference. When MaxSpans are
// reached, the last span covers the rest.
func diffSpans(a, b []byte, out *[MaxSpans]Span) int {
	start, end, differ := outerDiff(a, b)
	if !differ {
		return 0
	}
	n := 0
	for n < MaxSpans-1 {
		gapStart, gapEnd := nextGap(a[:end], b[:end], start)
		if gapStart == gapEnd {
			break
		}
		out[n] = Span{int32(start), int32(gapStart)}
		n++
		start = gapEnd
	}
	out[n] = Span{int32(start), int32(end)}
	return n + 1
}

// nextGap returns the first run of at least minGap equal bytes after i, else two equal numbers. A
// run that long contains two probes half of it apart. So a row of noise is read in one word of
// four.
func nextGap(a, b []byte, i int) (int, int) {
	const probe = minGap / 2
	for p := i + probe; p+8 <= len(a); p += probe {
		if binary.LittleEndian.Uint64(a[p:]) != binary.LittleEndian.Uint64(b[p:]) {
			continue
		}
		start := p
		for start > i && a[start-1] == b[start-1] {
			start--
		}
		end := firstDiff(a, b, p+8)
		if end == len(a) {
			return 0, 0
		}
		if end-start >= minGap {
			return start, end
		}
		p = end - end%8
	}
	return 0, 0
}
