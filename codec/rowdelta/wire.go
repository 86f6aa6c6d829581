package rowdelta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/capture/frame"
)

// The bytes of a delta. Numbers are uvarint unless another form is given. Runs follow each other
// until every row is covered:
//
//	tag = rows<<2 | form
//	form 0, same
//	form 1, copied: zigzag(src - row), then one list of 0 or 1 seen spans
//	form 2, new:    list of stored spans; they are the seen spans too
//	form 3, new:    parts, list of seen spans
//
// A list is its length and then the spans. Each span is the bytes since the previous span's end and
// its own length. Parts are the number of stored spans plus 4 times the number of moved ones. The
// moved spans follow, then the stored ones. A moved span ends with the relative row and byte of its
// source, both zigzag. Number 16 repeats the parts of the previous run.
const (
	formSame = iota
	formCopied
	formNew
	formParts
)

const sameParts = 16 // in place of numbers of spans: those of the run before

// errDelta is wrapped by every error about bytes that are not a delta.
var errDelta = errors.New("bad row delta")

// Append appends the delta's bytes to dst.
func (d *Delta) Append(dst []byte) []byte {
	for i := range d.Runs {
		r := &d.Runs[i]
		tag := uint64(r.Rows) << 2
		switch {
		case r.Kind == Same:
			dst = binary.AppendUvarint(dst, tag) // formSame is 0
		case r.Kind == Copied:
			dst = binary.AppendUvarint(dst, tag|formCopied)
			dst = binary.AppendVarint(dst, int64(r.Src-r.Row))
			dst = appendSpans(dst, d.spans(r.Seen))
		case r.Seen == r.Stored && r.Moved.n == 0:
			dst = binary.AppendUvarint(dst, tag|formNew)
			dst = appendSpans(dst, d.spans(r.Stored))
		default:
			dst = binary.AppendUvarint(dst, tag|formParts)
			if i > 0 && r.Moved.n > 0 && d.Runs[i-1].Moved == r.Moved && d.Runs[i-1].Stored == r.Stored {
				dst = append(dst, sameParts)
			} else {
				dst = d.appendParts(dst, r)
			}
			dst = appendSpans(dst, d.spans(r.Seen))
		}
	}
	return dst
}

func (d *Delta) appendParts(dst []byte, r *Run) []byte {
	dst = append(dst, byte(r.Moved.n<<2|r.Stored.n))
	end := int32(0)
	for _, m := range d.MovedSpans(r) {
		dst = binary.AppendUvarint(dst, uint64(m.Start-end))
		dst = binary.AppendUvarint(dst, uint64(m.End-m.Start))
		dst = binary.AppendVarint(dst, int64(m.Row))
		dst = binary.AppendVarint(dst, int64(m.Byte))
		end = m.End
	}
	return appendBare(dst, d.spans(r.Stored))
}

func appendSpans(dst []byte, spans []Span) []byte {
	return appendBare(binary.AppendUvarint(dst, uint64(len(spans))), spans)
}

// appendBare appends spans without their number.
func appendBare(dst []byte, spans []Span) []byte {
	end := int32(0)
	for _, s := range spans {
		dst = binary.AppendUvarint(dst, uint64(s.Start-end))
		dst = binary.AppendUvarint(dst, uint64(s.End-s.Start))
		end = s.End
	}
	return dst
}

// Parse reads a delta for frames of the layout and checks all of it; src must hold nothing else.
// Memory stays bounded by the layout's rows, whatever src says.
func (d *Delta) Parse(src []byte, l *frame.Layout) error {
	d.reset()
	p := parser{src: src}
	for row, rows := 0, len(l.Rows); row < rows; {
		tag := p.uvarint()
		n := int(min(tag>>2, uint64(rows)+1))
		if p.bad || n < 1 || n > rows-row {
			return p.fail("run of %d rows at row %d of %d", tag>>2, row, rows)
		}
		r := Run{Row: int32(row), Rows: int32(n)}
		if err := d.parseRun(&p, &r, tag&3, l); err != nil {
			return err
		}
		d.Runs = append(d.Runs, r)
		row += n
	}
	if len(p.src) != p.at {
		return p.fail("%d bytes left over", len(p.src)-p.at)
	}
	return nil
}

func (d *Delta) parseRun(p *parser, r *Run, form uint64, l *frame.Layout) error {
	length, uniform := rowLength(l, int(r.Row), int(r.Rows))
	if form == formSame {
		return nil
	}
	if !uniform {
		return p.fail("run of %d rows at row %d spans planes", r.Rows, r.Row)
	}
	if form == formCopied {
		r.Kind = Copied
		src := int64(r.Row) + p.varint()
		if p.bad || src < 0 || src+int64(r.Rows) > int64(len(l.Rows)) {
			return p.fail("rows at %d copied from row %d", r.Row, src)
		}
		r.Src = int32(src)
		if n, ok := rowLength(l, int(r.Src), int(r.Rows)); !ok || n != length {
			return p.fail("rows at %d copied from rows of another length at %d", r.Row, src)
		}
		return d.parseSpans(p, &r.Seen, length, 1)
	}
	r.Kind = New
	var err error
	if form == formNew {
		err = d.parseSpans(p, &r.Stored, length, MaxSpans)
	} else {
		err = d.parseParts(p, r, length, l)
	}
	if err != nil {
		return err
	}
	for _, s := range d.spans(r.Stored) {
		d.Raw += int(s.End-s.Start) * int(r.Rows)
	}
	r.Seen = r.Stored
	if form == formParts {
		return d.parseSpans(p, &r.Seen, length, MaxSpans)
	}
	return nil
}

// parseParts reads the moved and the stored spans of a run.
func (d *Delta) parseParts(p *parser, r *Run, length int, l *frame.Layout) error {
	n := p.uvarint()
	switch {
	case n == sameParts && len(d.Runs) > 0 && d.Runs[len(d.Runs)-1].Moved.n > 0:
		last := &d.Runs[len(d.Runs)-1]
		if was := l.Rows[last.Row].Bytes; was != length {
			return p.fail("rows of %d bytes made like rows of %d", length, was)
		}
		r.Stored, r.Moved = last.Stored, last.Moved
	case p.bad || n>>2 > maxMoves:
		return p.fail("%d moved spans in a row, at most %d", n>>2, maxMoves)
	default:
		r.Moved = spanRange{int32(len(d.Moved)), int32(n >> 2)}
		end := 0
		for range n >> 2 {
			s, err := p.span(end, length)
			if err != nil {
				return err
			}
			m := Moved{Span: s, Row: clamp(p.varint()), Byte: clamp(p.varint())}
			d.Moved = append(d.Moved, m)
			end = int(m.End)
		}
		if err := d.parseBare(p, &r.Stored, length, n&3); err != nil {
			return err
		}
	}
	for _, m := range d.MovedSpans(r) {
		src, from := int(r.Row)+int(m.Row), int(m.Start)+int(m.Byte)
		if p.bad || src < 0 || src+int(r.Rows) > len(l.Rows) || from < 0 || int(m.End)+int(m.Byte) > length {
			return p.fail("bytes %d to %d of row %d moved from row %d, byte %d", m.Start, m.End, r.Row, src, from)
		}
		if n, ok := rowLength(l, src, int(r.Rows)); !ok || n != length {
			return p.fail("bytes of row %d moved from rows of another length at %d", r.Row, src)
		}
	}
	return nil
}

// clamp keeps a distance within numbers that can be added to a row or a byte.
func clamp(v int64) int32 { return int32(min(max(v, -1<<30), 1<<30)) }

// rowLength returns how many bytes each of the rows has, and whether they agree on it.
func rowLength(l *frame.Layout, row, rows int) (int, bool) {
	n := l.Rows[row].Bytes
	return n, l.Rows[row+rows-1].Bytes == n &&
		(l.Rows[row].Plane == l.Rows[row+rows-1].Plane || sameBytes(l, row, rows, n))
}

func sameBytes(l *frame.Layout, row, rows, n int) bool {
	for _, r := range l.Rows[row : row+rows] {
		if r.Bytes != n {
			return false
		}
	}
	return true
}

func (d *Delta) parseSpans(p *parser, r *spanRange, length, most int) error {
	n := p.uvarint()
	if p.bad || n > uint64(most) {
		return p.fail("%d spans in a row, at most %d", n, most)
	}
	return d.parseBare(p, r, length, n)
}

// parseBare reads n spans.
func (d *Delta) parseBare(p *parser, r *spanRange, length int, n uint64) error {
	*r = spanRange{int32(len(d.Spans)), int32(n)}
	end := 0
	for range n {
		s, err := p.span(end, length)
		if err != nil {
			return err
		}
		d.Spans = append(d.Spans, s)
		end = int(s.End)
	}
	return nil
}

// parser reads varints and remembers whether one was broken.
type parser struct {
	src []byte
	at  int
	bad bool
}

func (p *parser) uvarint() uint64 {
	if b := p.src[p.at:]; len(b) > 1 { // nearly always one or two bytes
		if b[0] < 0x80 {
			p.at++
			return uint64(b[0])
		}
		if b[1] < 0x80 {
			p.at += 2
			return uint64(b[0]&0x7f) | uint64(b[1])<<7
		}
	}
	v, n := binary.Uvarint(p.src[p.at:])
	if n <= 0 {
		p.bad = true
		return 0
	}
	p.at += n
	return v
}

func (p *parser) varint() int64 {
	v := p.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// span reads a span of a row of the given length that starts at or after byte end.
func (p *parser) span(end, length int) (Span, error) {
	gap, size := p.uvarint(), p.uvarint()
	if p.bad || gap > uint64(length) || size < 1 || size > uint64(length) || uint64(end)+gap+size > uint64(length) {
		return Span{}, p.fail("span of %d bytes %d after byte %d of a row of %d", size, gap, end, length)
	}
	start := int32(end) + int32(gap)
	return Span{start, start + int32(size)}, nil
}

func (p *parser) fail(format string, args ...any) error {
	if p.bad {
		return fmt.Errorf("%w: ends within a number at byte %d", errDelta, p.at)
	}
	return fmt.Errorf("%w: "+format+" (byte %d)", append(append([]any{errDelta}, args...), p.at)...)
}
