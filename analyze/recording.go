package analyze

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
	Events() []timeline.Event
	Meta(n int) (frame.Meta, error)
	Image(n int) (frame.Image, error) // the caller's own
	// Changes goes through frames from up to, and not including, to, without pixels; Steps with them.
	Changes(from, to int) iter.Seq2[*frame.Step, error]
	Steps(from, to int) iter.Seq2[*frame.Step, error]
}
