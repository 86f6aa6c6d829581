package marker

import (
	"fmt"
	"iter"

	"github.com/eideticker/eideticker/capture/frame"
)

// Sequence is where [Find] takes frames from.
type Sequence interface {
	// Changes goes through frames from up to, and not including, to. Their images have a layout,
	// and need no rows.
	Changes(from, to int) iter.Seq2[*frame.Step, error]
	// Image returns a frame's pixels.
	Image(n int) (frame.Image, error)
}

// player is a [Sequence] that decodes frames in turn for less than one by one.
type player interface {
	Steps(from, to int) iter.Seq2[*frame.Step, error]
}

const (
	playAfter = 3  // frames in a row whose pixels were needed, after which the next are played
	skimAfter = 12 // frames in a row that were played for nothing, after which pixels are asked for one by one
)

// Find looks for markers in frames from up to, and not including, to. It goes through the changes
// and asks for the pixels of frames that may be part of a marker; where many in a row are needed,
// and the sequence is a player, it plays them.
//
// Frames that cannot be read are stepped over, as if they had been lost; unread.go tells how that
// is reported.
//
// The windows that are complete are returned with an error, too: an *Error if something is wrong
// with markers, or what kept all frames from being read, wrapped.
func Find(seq Sequence, from, to int, o Options) ([]Window, error) {
	return New(o).find(seq, from, to)
}

func (d *Detector) find(seq Sequence, from, to int) ([]Window, error) {
	player, _ := seq.(player)
	for at := from; at < to; {
		next, err := d.skim(seq, at, to, player != nil)
		if next < to && err == nil {
			next, err = d.play(player, next, to)
		}
		if err != nil {
			next, err = d.stepOver(seq, next, to, err)
		}
		if err != nil {
			return d.windows(), fmt.Errorf("look for sync markers: %w", err)
		}
		if next == at { // an iterator without frames
			break
		}
		at = next
	}
	return d.close()
}

// skim iterates over changes. It returns the frame from which playing is better, or the first
// unreadable frame.
func (d *Detector) skim(seq Sequence, from, to int, mayPlay bool) (next int, err error) {
	next, row := from, 0
	pixels := func() (frame.Image, error) { return seq.Image(next) }
	for step, err := range seq.Changes(from, to) {
		if err := d.mayGoOn(err); err != nil {
			return next, err
		}
		before := d.asked
		next = step.Number
		if err := d.tryAdd(step, pixels); err != nil {
			return next, err
		}
		next++
		if row++; d.asked == before {
			row = 0
		}
		if mayPlay && row >= playAfter {
			return next, nil
		}
	}
	return to, nil
}

// mayGoOn returns what keeps a frame from being looked at: that it could not be read, or that
// nobody wants to know any more.
func (d *Detector) mayGoOn(err error) error {
	if err == nil && d.o.Stop != nil {
		if why := d.o.Stop(); why != nil {
			return stopped{why}
		}
	}
	return err
}

// play decodes frames in turn. It returns the frame from which skimming is better, or the first
// unreadable frame.
func (d *Detector) play(p player, from, to int) (next int, err error) {
	next, row := from, 0
	for step, err := range p.Steps(from, to) {
		if err := d.mayGoOn(err); err != nil {
			return next, err
		}
		before := d.asked
		next = step.Number
		if err := d.tryAdd(step, nil); err != nil {
			return next, err
		}
		next++
		if row++; d.asked != before {
			row = 0
		}
		if row >= skimAfter {
			return next, nil
		}
	}
	return to, nil
}
