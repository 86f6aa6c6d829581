package rowdelta

import "github.com/eideticker/eideticker/capture/frame"

// BlockSize is how many bytes of stored spans one block holds at the most, unless a single span is
// longer. Small blocks keep a fetched row cheap; LZ4 looks back 64 KiB only.
const BlockSize = 128 << 10

// Walker visits the stored spans of a delta in order and says in which block each lies. The cut
// into blocks follows from the spans alone, so that reader and writer agree without storing it.
type Walker struct {
	Row   int32 // the row
	Span        // the bytes of the row
	Block int32 // number of the block within the frame
	Off   int32 // where in the block's bytes the span starts

	d     *Delta
	run   int
	next  int32 // row within the run that comes next
	spans []Span
	from  int32 // Off of the next span, if the block takes it
}

// Walk starts before the first stored span.
func (d *Delta) Walk() Walker { return Walker{d: d, run: -1} }

// Next moves to the next span, and reports whether there is one.
func (w *Walker) Next() bool {
	for len(w.spans) == 0 {
		if w.run >= 0 && w.next < w.d.Runs[w.run].Rows {
			w.spans = w.d.spans(w.d.Runs[w.run].Stored)
			w.next++
			continue
		}
		w.run++
		if w.run >= len(w.d.Runs) {
			return false
		}
		w.next = 0
		if w.d.Runs[w.run].Kind != New {
			w.next = w.d.Runs[w.run].Rows
		}
	}
	w.Span, w.spans = w.spans[0], w.spans[1:]
	w.Row = w.d.Runs[w.run].Row + w.next - 1
	n := w.End - w.Start
	if w.from > 0 && w.from+n > BlockSize {
		w.Block++
		w.from = 0
	}
	w.Off = w.from
	w.from += n
	return true
}

// Block is one block's share of a delta's stored spans.
type Block struct {
	Raw int // bytes

	first Walker // stands on the block's first span
	spans int
}

// Blocks appends the delta's blocks to dst.
func (d *Delta) Blocks(dst []Block) []Block {
	if d.Raw == 0 {
		return dst
	}
	base := len(dst)
	for w := d.Walk(); w.Next(); {
		if int(w.Block) == len(dst)-base {
			dst = append(dst, Block{first: w})
		}
		b := &dst[len(dst)-1]
		b.Raw += int(w.End - w.Start)
		b.spans++
	}
	return dst
}

// Gather returns the block's bytes out of a frame. It is a part of pix itself if they are
// contiguous. Otherwise it is a copy in buf, whose capacity must be at least Raw.
func (b *Block) Gather(l *frame.Layout, pix, buf []byte) []byte {
	w := b.first
	start := l.Rows[w.Row].Offset + int(w.Start)
	end := start
	i := 0
	for ; i < b.spans; i++ {
		at := l.Rows[w.Row].Offset + int(w.Start)
		if at != end {
			break
		}
		end += int(w.End - w.Start)
		if i+1 < b.spans {
			w.Next()
		}
	}
	if i == b.spans {
		return pix[start:end]
	}
	buf = buf[:0]
	w = b.first
	for i := range b.spans {
		at := l.Rows[w.Row].Offset
		buf = append(buf, pix[at+int(w.Start):at+int(w.End)]...)
		if i+1 < b.spans {
			w.Next()
		}
	}
	return buf
}
