package marker

import (
	"fmt"
	"slices"
	"strings"
)

// Problem kinds.
const (
	Missing  = "missing"  // no marker at all, or none after the previous one
	TooShort = "short"    // a marker that was not held
	Returned = "returned" // a marker that came again where content or the other one was due
	Stale    = "stale"    // a marker of another run
	Unread   = "unread"   // frames that cannot be read, which may have shown any marker
)

// Problem is a marker that is not as it should be.
type Problem struct {
	Kind string `json:"kind"`
	// first frame that shows the problem, to Last; Last is -1 if the recording has no frames
	First int `json:"first"`
	Last  int `json:"last"`
	// Frames are a few of them and of their neighbours that are worth looking at, ascending.
	Frames []int  `json:"frames"`
	Text   string `json:"text"` // what the frames show instead
}

// maxProblems are kept; the rest is counted.
const maxProblems = 20

// Error is everything that was wrong with the markers of a recording.
type Error struct {
	Problems []Problem
	More     int // problems that were not kept
	// Open is the content that was going on when the frames ended, without a red: a page that
	// cannot draw one. It ends with the last frame. Nil where there is none.
	Open *Window
}

func (e *Error) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Text
	}
	s := "sync markers: " + strings.Join(texts, "; ")
	if e.More > 0 {
		s += fmt.Sprintf("; and %d more", e.More)
	}
	return s
}

// add keeps a problem; frames below 0 stand for none.
func (e *Error) add(p Problem, frames ...int) {
	if len(e.Problems) >= maxProblems {
		e.More++
		return
	}
	frames = append(frames, p.First, p.Last)
	slices.Sort(frames)
	p.Frames = slices.Compact(frames)
	p.Frames = slices.DeleteFunc(p.Frames, func(n int) bool { return n < 0 })
	if p.Last < p.First {
		p.Frames = []int{}
	}
	e.Problems = append(e.Problems, p)
}

// frames says "frame 7" or "frames 7–9".
func frames(first, last int) string {
	if first == last {
		return fmt.Sprintf("frame %d", first)
	}
	return fmt.Sprintf("frames %d–%d", first, last)
}
