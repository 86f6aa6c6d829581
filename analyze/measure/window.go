package measure

import (
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Kind says how a window was found.
type Kind string

const (
	ByMarkers Kind = "markers" // between green and red
	byFrames  Kind = "frames"  // a range of frames
	ByEnd     Kind = "end"     // from a green to a stillness, an event or a time limit
)

// None stands for a frame that there is not.
const None = -1

// Window says which frames are measured. Numbers are frame numbers; g, s, e and r are those of the
// definitions.
type Window struct {
	Name  string // of the page or test; may be empty
	Kind  Kind
	Green int // g: last frame of the held green; None without markers
	Held  int // frames of the held green before g, down to the first; 0 where it is not known
	Start int // s: first frame that differs from the green; without markers the first frame
	End   int // e: last content frame
	Red   int // r: first full red frame; None where nothing ends the last frame's time
	// Region is R; empty for all of the frame.
	Region frame.Region
	// MinPixels is m: a frame is unique if more pixels than that differ from the frame before.
	MinPixels int
	T0        *Moment // the command that began it; nil where it is not known
}

// Moment is when something happened beside the frames, and who says so.
type Moment struct {
	At          timeline.Time
	Uncertainty time.Duration
	Source      string
}

// FramesWindow is the window of frames from to to, to not included, of a recording.
func FramesWindow(rec Recording, from, to int) Window {
	w := Window{Kind: byFrames, Green: None, Start: from, End: to - 1, Red: None}
	if to < rec.Frames() {
		w.Red = to
	}
	return w
}

// First is the frame whose pixels the window's first change is held against.
func (w *Window) First() int {
	if w.Green != None {
		return w.Green
	}
	return w.Start
}

// ErrWindow is wrapped by every error about a window that cannot be measured.
var ErrWindow = errors.New("cannot measure this window")

// check returns the window's segment, or an error if the window cannot be measured.
func (w *Window) check(rec Recording) (frame.Segment, error) {
	n := rec.Frames()
	last := max(w.End, w.Red)
	switch {
	case n == 0:
		return frame.Segment{}, fmt.Errorf("%w: the recording has no frames", ErrWindow)
	case w.End < w.Start:
		return frame.Segment{}, fmt.Errorf("%w: no frame between %d and %d; choose others with --frames A:B",
			ErrWindow, w.Start, w.End+1)
	case w.First() < 0 || last >= n:
		return frame.Segment{}, fmt.Errorf("%w: frames %d to %d are asked for and the recording has 0 to %d", ErrWindow,
			w.First(), last, n-1)
	}
	segments := rec.Segments()
	i := sort.Search(len(segments), func(i int) bool { return segments[i].First > w.First() }) - 1
	s := segments[i]
	if w.Red == s.First+s.Frames && w.Kind == byFrames {
		w.Red = None // the frame after the range is of another format, and tells no time of this one
	}
	if last := max(w.End, w.Red); last >= s.First+s.Frames {
		next := segments[i+1]
		return s, fmt.Errorf("%w: it begins in %v and frame %d is %v; measure each format alone, with --frames %d:%d "+
			"or from %d on",
			ErrWindow, s.Layout.Format, next.First, next.Layout.Format, w.First(), next.First, next.First)
	}
	return s, nil
}
