package measure

import (
	"iter"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Recording is the sequence that measures read. Its methods may be called from several goroutines.
type Recording interface {
	Frames() int
	Segments() []frame.Segment // runs of frames of one format, in order
	Gaps() []frame.Hole        // in order
	Events() []timeline.EventHead
	Event(n int) (timeline.Event, error) // event n of Events, with its data
	Meta(n int) (frame.Meta, error)
	Image(n int) (frame.Image, error) // the caller's own
	// Changes iterates over frames from ≤ n < to without pixels; Steps with them.
	Changes(from, to int) iter.Seq2[*frame.Step, error]
	Steps(from, to int) iter.Seq2[*frame.Step, error]
}

// rowReader is a recording that can return a few rows of a frame, which costs less than all of it.
// The image has nil in place of the others.
type rowReader interface {
	Rows(n int, rows []int) (frame.Image, error)
}

// Rows returns at least these rows of frame n, ascending.
func Rows(rec Recording, n int, rows []int) (frame.Image, error) {
	if r, ok := rec.(rowReader); ok {
		return r.Rows(n, rows)
	}
	return rec.Image(n)
}

// Unfolder is a recording that can decode frames a few rows at a time: a frame is larger than a
// processor's own cache. See [frame.Step].Fill.
type Unfolder interface {
	Unfold(from, to int) iter.Seq2[*frame.Step, error]
}
