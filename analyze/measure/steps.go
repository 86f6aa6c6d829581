package measure

import (
	"errors"
	"fmt"
	"iter"

	"github.com/eideticker/eideticker/capture/frame"
)

// UnreadableError says that going through frames came to an end at one of them.
type UnreadableError struct {
	Frame int
	Err   error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("read frame %d: %v", e.Frame, e.Err) }

func (e *UnreadableError) Unwrap() error { return e.Err }

// Walk calls do with each readable frame from ≤ n < to. After unreadable frames, a step has the
// difference from the last frame before these, and always has pixels. For steps with pixels, call
// Fill.
func (c *Case) Walk(from, to int, pixels bool, do func(*frame.Step) error) error {
	for from < to {
		if c.Times.IsUnreadable(from) {
			from++
			continue
		}
		if c.Times.IsUnreadable(from - 1) {
			step, err := c.bridge(from)
			if err == nil {
				err = do(step)
			}
			if err != nil {
				return err
			}
			from++
			continue
		}
		end := from
		for end < to && !c.Times.IsUnreadable(end) {
			end++
		}
		steps := c.Recording.Changes
		if pixels {
			steps = c.Recording.Steps
			if u, ok := c.Recording.(Unfolder); ok {
				steps = u.Unfold
			}
		}
		for step, err := range steps(from, end) {
			if err != nil {
				return &UnreadableError{from, err}
			}
			if err := do(step); err != nil {
				return err
			}
			from++
		}
		if from < end {
			return &UnreadableError{from, errors.New("the recording ends there")}
		}
	}
	return nil
}

// bridge is the step over frames that cannot be read.
func (c *Case) bridge(n int) (*frame.Step, error) {
	s := &frame.Step{Number: n, Change: new(frame.Change)}
	var err error
	if s.Meta, err = c.Recording.Meta(n); err != nil {
		return nil, err
	}
	if s.Previous, err = c.Recording.Image(c.Times.Before(n)); err != nil {
		return nil, err
	}
	if s.Image, err = c.Recording.Image(n); err != nil {
		return nil, err
	}
	l := c.Layout
	for y, r := range l.Rows {
		if start, end, ok := l.Tighten(y, s.Previous.Rows[y], s.Image.Rows[y], 0, r.Bytes); ok {
			s.Change.Spans = append(s.Change.Spans, frame.Span{Row: int32(y), Start: int32(start), End: int32(end)})
		}
	}
	return s, nil
}

// Changes iterates over the changes of readable frames from ≤ n < to.
func (c *Case) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		enough := errors.New("enough")
		err := c.Walk(from, to, false, func(s *frame.Step) error {
			if !yield(s, nil) {
				return enough
			}
			return nil
		})
		if err != nil && err != enough {
			yield(nil, err)
		}
	}
}

// LostAtEnd returns how many frames are missing between e and r, which may have been content.
// first is the first stored frame after such a gap: r, or one with a half-drawn red.
func (c *Case) LostAtEnd() (lost, first int) {
	first = None
	for n := c.Window.End + 1; n <= c.Window.Red; n++ {
		l := c.Times.Lost(n)
		if lost += l; l > 0 && first == None {
			first = n
		}
	}
	return lost, first
}
