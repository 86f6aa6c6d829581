package frame

// Span is a run of bytes of one row that looks different from the frame before.
type Span struct {
	Row        int32 // as in Layout.Rows
	Start, End int32 // bytes within the row, End not included
}

// AppendUnion appends the spans that a or b covers. All three are in order; spans that touch become
// one.
func AppendUnion(to, a, b []Span) []Span {
	for from := len(to); len(a)+len(b) > 0; {
		next := &a
		if len(a) == 0 || len(b) > 0 && (b[0].Row < a[0].Row || b[0].Row == a[0].Row && b[0].Start < a[0].Start) {
			next = &b
		}
		s := (*next)[0]
		*next = (*next)[1:]
		if n := len(to); n > from && to[n-1].Row == s.Row && s.Start <= to[n-1].End {
			to[n-1].End = max(to[n-1].End, s.End)
		} else {
			to = append(to, s)
		}
	}
	return to
}

// Move says that rows [Dst, Dst+Rows) hold what rows [Src, Src+Rows) held in the frame before:
// a scroll, a pan, a flip.
type Move struct {
	Dst, Src, Rows int32
}

// Change is how a frame differs from the frame before it.
type Change struct {
	// Spans cover every sample that looks different, and little else: a span starts and ends with
	// a difference. In order of rows, then bytes; empty where the two look the same.
	Spans []Span
	// Moves are rows that were found elsewhere in the previous frame. Spans also covers their
	// differences.
	Moves []Move
}

// Image is a frame given by its rows, which may lie anywhere in memory.
type Image struct {
	Layout *Layout
	Rows   [][]byte // one per Layout.Rows, each of its Bytes
}

// View returns an image over the bytes of one frame, without copying them.
func (l *Layout) View(pix []byte) Image {
	rows := make([][]byte, len(l.Rows))
	for y := range rows {
		rows[y] = l.Row(pix, y)
	}
	return Image{l, rows}
}

// CopyTo writes the image's bytes to dst, padding included. dst must hold Layout.Size bytes.
func (m Image) CopyTo(dst []byte) {
	for y, row := range m.Rows {
		copy(dst[m.Layout.Rows[y].Offset:], row)
	}
}
