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
//	form 3, new:    list of stored spans, list of seen spans
//
// A list is its length and then the spans. Each span is the bytes since the previous span's end and
// its own length.
const (
	formSame = iota
	formCopied
	formNew
	formNewHidden
)

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
		case r.Seen == r.Stored:
			dst = binary.AppendUvarint(dst, tag|formNew)
			dst = appendSpans(dst, d.spans(r.Stored))
		default:
			dst = binary.AppendUvarint(dst, tag|formNewHidden)
			dst = appendSpans(dst, d.spans(r.Stored))
			dst = appendSpans(dst, d.spans(r.Seen))
		}
	}
	return dst
}

func appendSpans(dst []byte, spans []Span) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(spans)))
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
	if err := d.parseSpans(p, &r.Stored, length, MaxSpans); err != nil {
		return err
	}
	for _, s := range d.spans(r.Stored) {
		d.Raw += int(s.End-s.Start) * int(r.Rows)
	}
	r.Seen = r.Stored
	if form == formNewHidden {
		return d.parseSpans(p, &r.Seen, length, MaxSpans)
	}
	return nil
}

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
	*r = spanRange{int32(len(d.Spans)), int32(n)}
	end := uint64(0)
	for range n {
		gap, size := p.uvarint(), p.uvarint()
		if p.bad || gap > uint64(length) || size < 1 || size > uint64(length) || end+gap+size > uint64(length) {
			return p.fail("span of %d bytes %d after byte %d of a row of %d", size, gap, end, length)
		}
		d.Spans = append(d.Spans, Span{int32(end + gap), int32(end + gap + size)})
		end += gap + size
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
	if p.at < len(p.src) && p.src[p.at] < 0x80 { // nearly always one byte
		p.at++
		return uint64(p.src[p.at-1])
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

func (p *parser) fail(format string, args ...any) error {
	if p.bad {
		return fmt.Errorf("%w: ends within a number at byte %d", errDelta, p.at)
	}
	return fmt.Errorf("%w: "+format+" (byte %d)", append(append([]any{errDelta}, args...), p.at)...)
}
