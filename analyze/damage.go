package analyze

import (
	"context"
	"fmt"

	"github.com/eideticker/eideticker/analyze/measure"
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

// maxDamage is how many places of a window may be damaged before it is given up.
const maxDamage = 64

// damage is which frames of a window cannot be read.
type damage struct {
	broken []bool // by frame number; nil: all can
	runs   [][2]int
}

// note adds the frames around a fault. Its error says why the window cannot be measured without
// them.
func (d *damage) note(ctx context.Context, c *measure.Case, fault *measure.UnreadableError) error {
	fails := func(n int) bool { _, err := c.Recording.Image(n); return err != nil }
	w := &c.Window
	n := fault.Frame
	if n > w.First() && !fails(n) {
		n-- // what this one builds on
	}
	if !fails(n) {
		return fault
	}
	from, to := n, n+1
	for from > w.First() && fails(from-1) {
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
		return fmt.Errorf("%w: %s cannot be read, with which it begins or ends; choose others, before or behind, "+
			"with --frames A:B: %w", measure.ErrWindow, framesText(from, to), fault.Err)
	case len(d.runs) == maxDamage:
		return fmt.Errorf("%w: it is damaged in more than %d places, the last one at %s; choose frames between them "+
			"with --frames A:B: %w",
			measure.ErrWindow, maxDamage, framesText(from, to), fault.Err)
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
func (d *damage) beside(rec measure.Recording, w *measure.Window) {
	if w.Kind != measure.ByMarkers {
		return
	}
	for _, between := range [...][2]int{{w.Green + 1, w.Start}, {w.End + 1, w.Red}} {
		from := measure.None
		for n := max(0, between[0]); n < min(between[1], rec.Frames()); n++ {
			if _, err := rec.Image(n); err == nil {
				from = measure.None
				continue
			}
			if d.broken == nil {
				d.broken = make([]bool, rec.Frames())
			}
			d.broken[n] = true
			if from == measure.None {
				from = n
				d.runs = append(d.runs, [2]int{n, n})
			}
			d.runs[len(d.runs)-1][1] = n + 1
		}
	}
}

// Unreadable returns the frames of the window that were stored and cannot be read, ascending. The
// measures took them for lost.
func (o *Outcome) Unreadable() []int {
	return o.Times.Unreadable()
}
