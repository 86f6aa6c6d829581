package rowdelta

import (
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
)

// Kind says how a run of rows relates to the frame before.
type Kind uint8

const (
	Same   Kind = iota // equal to the same rows
	Copied             // equal to other rows
	New                // stored, as far as it changed
)

// Limits that keep a row's description small. An encoder keeps them and Parse insists on them.
const (
	MaxSpans = 3 // stored or seen spans of one row
	maxMoves = 3 // moved spans of one row
	minGap   = 64
)

// Span is a run of bytes [Start, End) within a row.
type Span struct {
	Start, End int32
}

// Moved is a run of bytes of a row that the previous frame had elsewhere.
type Moved struct {
	Span
	Row, Byte int32 // where the source lies, relative to the row and to Start
}

// Run is a run of rows that are described alike.
type Run struct {
	Kind      Kind
	Row, Rows int32 // first row and number of rows
	Src       int32 // Copied: the row of the frame before that equals Row; further rows follow it
	// Stored are the bytes of each row that are kept (New). Seen are those that look different:
	// of each row (New), or of all rows together (Copied). Both index Delta.Spans.
	Stored, Seen spanRange
	// Moved are the bytes of each row that lay elsewhere (New). It indexes Delta.Moved. Stored
	// bytes replace them.
	Moved spanRange
}

type spanRange struct{ from, n int32 }

// Delta is the difference between two frames of one layout. Its zero value is an empty difference
// for a frame without rows.
type Delta struct {
	Runs  []Run
	Spans []Span
	Moved []Moved
	// Raw is how many bytes are stored: the sum of all stored spans of all rows.
	Raw int

	cut bool // the next row starts a run of its own: it has another length than the one before
}

// reset empties the delta and keeps its memory.
func (d *Delta) reset() {
	d.Runs, d.Spans, d.Moved, d.Raw = d.Runs[:0], d.Spans[:0], d.Moved[:0], 0
}

func (d *Delta) spans(r spanRange) []Span { return d.Spans[r.from : r.from+r.n] }

// Changed reports whether anything looks different.
func (d *Delta) Changed() bool {
	for i := range d.Runs {
		if d.Runs[i].Seen.n > 0 {
			return true
		}
	}
	return false
}

// Still reports whether every byte is the same.
func (d *Delta) Still() bool {
	return len(d.Runs) == 0 || len(d.Runs) == 1 && d.Runs[0].Kind == Same
}

// Change fills c with what looks different, reusing its memory.
func (d *Delta) Change(c *frame.Change) {
	spans, moves := c.Spans[:0], c.Moves[:0]
	for i := range d.Runs {
		r := &d.Runs[i]
		if r.Seen.n > 0 {
			spans = appendRows(spans, r, d.spans(r.Seen))
		}
		if r.Kind == Copied {
			moves = append(moves, frame.Move{Dst: r.Row, Src: r.Src, Rows: r.Rows})
		}
	}
	c.Spans, c.Moves = spans, moves
}

// appendRows appends the spans of each row of a run.
func appendRows(to []frame.Span, r *Run, seen []Span) []frame.Span {
	at, n := len(to), len(seen)
	to = slices.Grow(to, n*int(r.Rows))[:at+n*int(r.Rows)]
	if n == 1 { // nearly all runs
		s := frame.Span{Row: r.Row, Start: seen[0].Start, End: seen[0].End}
		for i := range to[at:] {
			to[at+i] = s
			s.Row++
		}
		return to
	}
	for y := r.Row; y < r.Row+r.Rows; y++ {
		for _, s := range seen {
			to[at] = frame.Span{Row: y, Start: s.Start, End: s.End}
			at++
		}
	}
	return to
}

// addSame extends the delta by rows that did not change.
func (d *Delta) addSame(row, rows int32) {
	if n := len(d.Runs); n > 0 && d.Runs[n-1].Kind == Same {
		d.Runs[n-1].Rows += rows
		return
	}
	d.Runs = append(d.Runs, Run{Kind: Same, Row: row, Rows: rows})
}

// addCopied extends the delta by one row. The row equals row src of the previous frame and differs
// visibly in seen, which may be empty.
func (d *Delta) addCopied(row, src int32, seen Span) {
	if n := len(d.Runs); n > 0 && !d.cut {
		last := &d.Runs[n-1]
		if last.Kind == Copied && last.Src+last.Rows == src {
			last.Rows++
			d.widen(last, seen)
			return
		}
	}
	d.Runs = append(d.Runs, Run{Kind: Copied, Row: row, Rows: 1, Src: src})
	d.widen(&d.Runs[len(d.Runs)-1], seen)
}

func (d *Delta) widen(r *Run, seen Span) {
	switch {
	case seen.Start >= seen.End:
	case r.Seen.n == 0:
		r.Seen = d.push(seen)
	default:
		s := &d.Spans[r.Seen.from]
		s.Start, s.End = min(s.Start, seen.Start), max(s.End, seen.End)
	}
}

func (d *Delta) push(spans ...Span) spanRange {
	r := spanRange{int32(len(d.Spans)), int32(len(spans))}
	d.Spans = append(d.Spans, spans...)
	return r
}

// addNew extends the delta by one row. Its moved spans lay elsewhere and its stored spans are kept.
// The seen ones look different.
func (d *Delta) addNew(row int32, moved []Moved, stored, seen []Span) {
	for _, s := range stored {
		d.Raw += int(s.End - s.Start)
	}
	r := Run{Kind: New, Row: row, Rows: 1}
	if n := len(d.Runs); n > 0 && !d.cut && d.Runs[n-1].Kind == New {
		last := &d.Runs[n-1]
		if slices.Equal(d.spans(last.Stored), stored) && slices.Equal(d.MovedSpans(last), moved) {
			if slices.Equal(d.spans(last.Seen), seen) {
				last.Rows++
				return
			}
			r.Stored, r.Moved = last.Stored, last.Moved
		}
	}
	if r.Stored.n != int32(len(stored)) || r.Moved.n != int32(len(moved)) {
		r.Stored = d.push(stored...)
		r.Moved = spanRange{int32(len(d.Moved)), int32(len(moved))}
		d.Moved = append(d.Moved, moved...)
	}
	r.Seen = r.Stored
	if !slices.Equal(stored, seen) {
		r.Seen = d.push(seen...)
	}
	d.Runs = append(d.Runs, r)
}

// StoredSpans returns the bytes that are stored of each row of a run of this delta.
func (d *Delta) StoredSpans(r *Run) []Span { return d.spans(r.Stored) }

// MovedSpans returns the bytes of each row of a run of this delta that lay elsewhere.
func (d *Delta) MovedSpans(r *Run) []Moved { return d.Moved[r.Moved.from : r.Moved.from+r.Moved.n] }
