// Package measure is the contract between an analysis and its measures. It has their shared input:
// frames with differences, times and the pixels that count. A measure sees each frame of a window
// once. Its bounds cover everything that lost frames may have shown, and it refuses before it
// guesses.
package measure

import (
	"errors"

	"github.com/eideticker/eideticker/capture/frame"
)

// Measure is one row of the table of measures.
type Measure struct {
	Name    string
	Version int  // of the definition
	Pixels  bool // changes are not enough for it
	// Values names all values that a result may have.
	Values []string
	// Begin prepares to measure a window. Its error is the sentence with which the measure is
	// refused.
	Begin func(*Case) (Part, error)
}

// Part is a measure at work on consecutive frames of a window. It belongs to one goroutine.
type Part interface {
	// Add takes the next frame. The first one of a window is s.
	Add(*Frame)
	// Fork returns an empty part for frames that follow; it may share with its origin what neither
	// changes.
	Fork() Part
	// Merge takes what the part behind this one has found, which is not used afterwards.
	Merge(next Part)
	// Result is called once, after all frames of the window and all merges.
	Result() Result
}

// Frame is a frame of a window on its way through the measures. It is valid during Add.
type Frame struct {
	*frame.Step
	Lost   int  // frames that are missing just before it
	Unique bool // it differs from the stored frame before it in more than m pixels of the area
	// Diff is where it differs. Nil where no measure needs pixels, and in the first frame of a
	// segment, which has none before it.
	Diff *Diff
}

// ErrAbsent is wrapped by a measure that does not apply to a window: it is refused only if it was
// asked for.
var ErrAbsent = errors.New("there is nothing to measure")
