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

// FrameReader is a recording that can read a frame into memory that is used again. pix must have
// room for the frame.
type FrameReader interface {
	ReadFrame(n int, pix []byte) error
}

// ImageInto is Recording.Image for frames of the window. The image may be in *pix, which is made at
// first, and is valid until that is used again.
func (c *Case) ImageInto(n int, pix *[]byte) (frame.Image, error) {
	r, ok := c.Recording.(FrameReader)
	if !ok {
		return c.Recording.Image(n)
	}
	if *pix == nil {
		*pix = make([]byte, c.Layout.Size)
	}
	return c.Layout.View(*pix), r.ReadFrame(n, *pix)
}

// Unfolder is a recording that can decode frames a few rows at a time: a frame is larger than a
// processor's own cache. See [frame.Step].Fill.
type Unfolder interface {
	Unfold(from, to int) iter.Seq2[*frame.Step, error]
}
