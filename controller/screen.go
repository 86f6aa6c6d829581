package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
)

// Screen is what a device shows now, as the capture sees it.
type Screen interface {
	// Await returns when one of the conditions holds, which one, and the frame that shows it. If
	// ctx ends before, the error wraps its cause, and seen is the change that a Still met last.
	// looking, if it is not nil, is called once no frame that comes is missed any more. It may be
	// called again, by one goroutine at a time.
	Await(ctx context.Context, looking func(), any ...Condition) (which int, seen Seen, err error)
}

// Condition is an awaited condition. Frames that were sampled before Since do not count.
type Condition struct {
	Kind   Kind
	Region frame.Region  // of the screen; zero: all of it
	Colour suite.Colour  // of Filled
	For    time.Duration // of Still
	Frames int           // of Red: how many in a row show it; 0: one
	Since  timeline.Time
}

// Kind is a kind of condition.
type Kind uint8

// The conditions. Green and red are those of the sync markers, by chroma. They are full if at least
// 99 % of the region has the colour.
const (
	Green   Kind = iota + 1 // a green is held, wherever it is; Seen.Region says where
	NoGreen                 // the region is not full of green any more
	Red                     // the region is full of red
	Filled                  // the region is full of a colour
	Changed                 // a frame differs from the one before in the region
	Still                   // no frame differs from the one before in the region for so long
)

// String returns the text of the condition after "waited for".
func (c Condition) String() string {
	where := ""
	if c.Region != (frame.Region{}) {
		where = fmt.Sprintf(" in %v", c.Region)
	}
	switch c.Kind {
	case Green:
		return "green"
	case NoGreen:
		return "the green to go"
	case Red:
		return "red" + where
	case Filled:
		return fmt.Sprintf("the colour #%02x%02x%02x%s", c.Colour.R, c.Colour.G, c.Colour.B, where)
	case Changed:
		return "a change" + where
	case Still:
		return fmt.Sprintf("a stillness of %v%s", c.For, where)
	}
	return fmt.Sprintf("condition %d", c.Kind)
}

// Seen is the frame in which a condition held.
type Seen struct {
	Frame  int // its number in the recording
	At     timeline.Interval
	Region frame.Region // of Green: its box; of Still: that of the last change
}
