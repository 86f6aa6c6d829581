package analyze

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/eideticker/eideticker/capture/frame"
)

// # Damage
//
// An unreadable frame is treated like a lost one. The next frame is compared with the last readable
// one, and bounds widen. Unreadable frames are found only when they are read. So a window is
// measured as if all frames were readable. If that fails, the unreadable frames around the fault
// are noted, and the measurement starts again. The result does not depend on how the window is
// split.
//
// Without g, s or e the window cannot be measured.

// unreadable says that going through frames came to an end at one of them.
type unreadable struct {
	frame int
	err   error
}

func (e *unreadable) Error() string { return fmt.Sprintf("read frame %d: %v", e.frame, e.err) }
func (e *unreadable) Unwrap() error { return e.err }

// maxDamage is how many places of a window may be damaged before it is given up.
const maxDamage = 64

// damage is which frames of a window cannot be read.
type damage struct {
	broken []bool // by frame number; nil: all can
	runs   [][2]int
}

// note adds the frames around a fault. Its error says why the window cannot be measured without
// them.
func (d *damage) note(ctx context.Context, c *Case, fault *unreadable) error {
	fails := func(n int) bool { _, err := c.Recording.Image(n); return err != nil }
	w := &c.Window
	n := fault.frame
	if n > w.first() && !fails(n) {
		n-- // what this one builds on
	}
	if !fails(n) {
		return fault
	}
	from, to := n, n+1
	for from > w.first() && fails(from-1) {
		if err := ctx.Err(); err != nil {
			return err
		}
		from--
	}
	for to <= w.End && fails(to) {
		if err := ctx.Err(); err != nil {
			return err
		}
		to++
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case from <= w.Start || to > w.End:
		return fmt.Errorf("%w: %s cannot be read, with which it begins or ends; choose others, before or behind, with --frames A:B: %w", ErrWindow, framesText(from, to), fault.err)
	case len(d.runs) == maxDamage:
		return fmt.Errorf("%w: it is damaged in more than %d places, the last one at %s; choose frames between them with --frames A:B: %w",
			ErrWindow, maxDamage, framesText(from, to), fault.err)
	}
	if d.broken == nil {
		d.broken = make([]bool, c.Recording.Frames())
	}
	for i := from; i < to; i++ {
		d.broken[i] = true
	}
	d.runs = append(d.runs, [2]int{from, to})
	return nil
}

func framesText(from, to int) string {
	if to == from+1 {
		return fmt.Sprintf("frame %d", from)
	}
	return fmt.Sprintf("frames %d to %d", from, to-1)
}

// beside notes which frames between g and s, and between e and r, cannot be read. No measure comes
// by them, and all count them as lost.
func (d *damage) beside(rec Recording, w *Window) {
	if w.Kind != ByMarkers {
		return
	}
	for _, between := range [...][2]int{{w.Green + 1, w.Start}, {w.End + 1, w.Red}} {
		from := None
		for n := max(0, between[0]); n < min(between[1], rec.Frames()); n++ {
			if _, err := rec.Image(n); err == nil {
				from = None
				continue
			}
			if d.broken == nil {
				d.broken = make([]bool, rec.Frames())
			}
			d.broken[n] = true
			if from == None {
				from = n
				d.runs = append(d.runs, [2]int{n, n})
			}
			d.runs[len(d.runs)-1][1] = n + 1
		}
	}
}

// Unreadable returns the frames of the window that were stored and cannot be read, ascending. The
// measures took them for lost.
func (o *Outcome) Unreadable() (frames []int) {
	for n := range o.Times.broken {
		if o.Times.broken[n] {
			frames = append(frames, n)
		}
	}
	return frames
}

// walk calls do with each readable frame from ≤ n < to. After unreadable frames, a step has the
// difference from the last frame before these, and always has pixels. For steps with pixels, call
// Fill.
func (c *Case) walk(from, to int, pixels bool, do func(*frame.Step) error) error {
	for from < to {
		if c.Times.isBroken(from) {
			from++
			continue
		}
		if c.Times.isBroken(from - 1) {
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
		for end < to && !c.Times.isBroken(end) {
			end++
		}
		steps := c.Recording.Changes
		if pixels {
			steps = c.Recording.Steps
			if u, ok := c.Recording.(unfolder); ok {
				steps = u.Unfold
			}
		}
		for step, err := range steps(from, end) {
			if err != nil {
				return &unreadable{from, err}
			}
			if err := do(step); err != nil {
				return err
			}
			from++
		}
		if from < end {
			return &unreadable{from, errors.New("the recording ends there")}
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
	if s.Previous, err = c.Recording.Image(c.Times.before(n)); err != nil {
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

// changes iterates over the changes of readable frames from ≤ n < to.
func (c *Case) changes(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		enough := errors.New("enough")
		err := c.walk(from, to, false, func(s *frame.Step) error {
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

// lostBehind returns how many frames are missing between e and r, which may have been content.
// first is the first stored frame after such a gap: r, or one with a half-drawn red.
func (c *Case) lostBehind() (lost, first int) {
	first = None
	for n := c.Window.End + 1; n <= c.Window.Red; n++ {
		l := c.Times.Lost(n)
		if lost += l; l > 0 && first == None {
			first = n
		}
	}
	return lost, first
}
