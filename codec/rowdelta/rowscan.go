package rowdelta

import (
	"bytes"

	"github.com/eideticker/eideticker/capture/frame"
)

// Scan has the properties of each row of a frame that depend on the previous frame alone. It is
// most of the work of encoding and touches most of the memory. Several goroutines may compare
// different rows at once. The scans of several frames may be made side by side, a few rows of each
// at a time. A row is then still in a processor's cache when the next frame's row is compared with
// it.
type Scan struct {
	layout *frame.Layout
	shift  int32
	rows   []scanned
}

type scanned struct {
	found scanResult
	seen  Span // moved: the bytes that look different
}

type scanResult uint8

const (
	differs scanResult = iota // from the same row, and from the one that lies a shift away
	same
	moved // by the shift
)

// NewScan returns a scan for frames of one layout.
func NewScan(l *frame.Layout) *Scan { return &Scan{layout: l, rows: make([]scanned, len(l.Rows))} }

// Begin starts on another frame. Rows that are not what they were are looked for shift rows away;
// see [Encoder.Shift].
func (s *Scan) Begin(shift int32) { s.shift = shift }

// Rows compares rows from up to, and not including, to of frame cur with the frame before.
func (s *Scan) Rows(prev, cur []byte, from, to int) {
	l := s.layout
	for y := from; y < to; y++ {
		r := &l.Rows[y]
		a, b := prev[r.Offset:r.Offset+r.Bytes], cur[r.Offset:r.Offset+r.Bytes]
		out := &s.rows[y]
		switch {
		case bytes.Equal(a, b):
			out.found = same
		case equals(l, prev, y+int(s.shift), b):
			start, end, _ := outerDiff(a, b)
			start, end, _ = l.Tighten(y, a, b, start, end)
			*out = scanned{moved, Span{int32(start), int32(end)}}
		default:
			out.found = differs
		}
	}
}
