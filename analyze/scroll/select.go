package scroll

import (
	"slices"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// selector decides by changes, and a few frames, which frames of a window are worth to be tried:
// see the definition. It does not change afterwards.
type selector struct {
	*measure.Case
	alive      [classes]bool
	replaced   [classes]bool // most of the tried frames have other content than those before
	settled    [classes]bool // enough were tried to know that none moves
	covers     [classes]bool // its place holds that of a class that moves
	moving     []int         // frames in which rows moved, and those of classes that are alive
	unique     int           // frames that differ
	candidates int
	tried      int
	memory     [2][]byte // of the frames that are tried
}

// A class says where a change lies: its left, top, right and bottom in quarters of R.
const (
	classes     = 4 * 4 * 4 * 4
	sampleFrom  = 8 // frames of a class
	sampleCount = 4
)

func newSelector(c *measure.Case) (*selector, error) {
	s := &selector{Case: c}
	var members [classes][]int
	var moves [classes]bool
	for step, err := range c.Changes(c.Window.Start, c.Window.End+1) {
		if err != nil {
			return nil, err
		}
		if step.Number == c.Window.Start || len(step.Change.Spans) == 0 {
			continue
		}
		s.unique++
		class, ok := s.class(step.Change)
		if !ok {
			continue
		}
		s.candidates++
		if _, moved := rowsMoved(c, step.Change); moved {
			s.moving, moves[class] = append(s.moving, step.Number), true
			continue
		}
		members[class] = append(members[class], step.Number)
	}
	for class, frames := range members {
		frames = s.together(frames)
		tried := frames
		if len(frames) >= sampleFrom {
			tried, s.settled[class] = samples(frames), true
		}
		if s.alive[class], s.replaced[class] = s.try(tried); s.alive[class] {
			s.moving, moves[class] = append(s.moving, frames...), true
		}
	}
	for class := range moves {
		for inner, moves := range moves {
			s.covers[class] = s.covers[class] || moves && holdsClass(class, inner)
		}
	}
	slices.Sort(s.moving)
	s.memory = [2][]byte{} // it is large, and the selector stays
	return s, nil
}

func (s *selector) any() bool { return len(s.moving) > 0 }

// worth reports whether the change that became a frame may be motion.
func (s *selector) worth(number int, c *frame.Change) bool {
	class, ok := s.class(c)
	if !ok {
		return false
	}
	if s.alive[class] || !s.settled[class] && (s.covers[class] || s.amid(number)) {
		return true
	}
	_, moved := rowsMoved(s.Case, c)
	return moved
}

// amid reports whether a frame belongs to the time in which others move: content that moves further
// in one frame than it did before changes like no other frame, and moves nonetheless.
func (s *selector) amid(number int) bool {
	i, _ := slices.BinarySearch(s.moving, number)
	at := s.Times.At(number)
	return i > 0 && at.Sub(s.Times.At(s.moving[i-1])) <= runGap || i < len(s.moving) &&
		s.Times.At(s.moving[i]).Sub(at) <= runGap
}

// coversMotion reports whether a change holds a place at which content moves.
func (s *selector) coversMotion(c *frame.Change) bool {
	class, ok := s.class(c)
	return ok && s.covers[class]
}

// replaces reports whether a change belongs to many that put other content where content moves.
// They are not tried: none of the samples moved. Jumps past the frame look so.
func (s *selector) replaces(c *frame.Change) bool {
	class, ok := s.class(c)
	return ok && s.settled[class] && s.covers[class] && s.replaced[class]
}

// few reports whether a change that is not worth to be tried might be if it was one of more.
func (s *selector) few(c *frame.Change) bool {
	class, ok := s.class(c)
	return ok && !s.settled[class]
}

// class returns where a change lies, and whether it is large enough.
func (s *selector) class(c *frame.Change) (int, bool) {
	r := s.Area.Region
	b := aroundChange(s.Area, c)
	w, h := b.X1-b.X0, b.Y1-b.Y0
	if w <= 0 || 16*w*h < r.Width*r.Height || w < 16 || h < 16 {
		return 0, false
	}
	x0, y0 := 4*(b.X0-r.X)/r.Width, 4*(b.Y0-r.Y)/r.Height
	x1, y1 := 4*(b.X1-1-r.X)/r.Width, 4*(b.Y1-1-r.Y)/r.Height
	return x0<<6 | y0<<4 | x1<<2 | y1, true
}

// holdsClass reports whether the place of one class holds that of another.
func holdsClass(outer, inner int) bool {
	side := func(class, shift int) int { return class >> shift & 3 }
	return side(outer, 6) <= side(inner, 6) && side(outer, 4) <= side(inner, 4) && side(outer, 2) >= side(inner, 2) &&
		side(outer, 0) >= side(inner, 0)
}

// aroundChange is the rectangle of R that holds a change.
func aroundChange(a *measure.Area, c *frame.Change) measure.Rect {
	var b measure.Rect
	if len(c.Spans) == 0 {
		return b
	}
	r := a.Region
	// Rows of a plane follow each other, and so their bytes can be put together before they are
	// made pixels.
	at := 0
	for at < len(c.Spans) {
		first := c.Spans[at]
		plane := a.Layout.Rows[first.Row].Plane
		all, last := first, first
		for ; at < len(c.Spans) && a.Layout.Rows[c.Spans[at].Row].Plane == plane; at++ {
			s := &c.Spans[at]
			all.Start, all.End, last = min(all.Start, s.Start), max(all.End, s.End), *s
		}
		x0, y0, x1, _ := a.Layout.Rect(int(first.Row), int(all.Start), int(all.End))
		_, _, _, y1 := a.Layout.Rect(int(last.Row), int(all.Start), int(all.End))
		b.Add(measure.Box(max(x0, r.X), max(y0, r.Y), min(x1, r.X+r.Width), min(y1, r.Y+r.Height)))
	}
	return b
}

// together keeps the frames of groups of at least three. In a group each is at most runGap after
// the previous one.
func (s *selector) together(frames []int) (left []int) {
	from := 0
	for i := range frames {
		if i+1 < len(frames) && s.Times.At(frames[i+1]).Sub(s.Times.At(frames[i])) <= runGap {
			continue
		}
		if i+1-from >= minRun {
			left = append(left, frames[from:i+1]...)
		}
		from = i + 1
	}
	return left
}

// samples picks frames from the middles of the longest stretches of consecutive ones. With few
// stretches it also picks from their quarters.
func samples(frames []int) []int {
	type stretch struct{ from, to int } // indices
	var all []stretch
	for i := range frames {
		if i == 0 || frames[i] != frames[i-1]+1 {
			all = append(all, stretch{from: i})
		}
		all[len(all)-1].to = i + 1
	}
	slices.SortStableFunc(all, func(a, b stretch) int { return (b.to - b.from) - (a.to - a.from) })
	all = all[:min(len(all), sampleCount)]
	each := sampleCount / len(all)
	var picked []int
	for _, s := range all {
		n := min(each, s.to-s.from)
		for k := range n {
			picked = append(picked, frames[s.from+(2*k+1)*(s.to-s.from)/(2*n)])
		}
	}
	return picked
}

// try reports whether any of some frames moved. Otherwise it reports whether most of them have
// other content than the frame before.
func (s *selector) try(frames []int) (moved, replaced bool) {
	if len(frames) == 0 {
		return false, false // without what it takes to look, as most classes are empty
	}
	tried, others := 0, 0
	m := newEstimator(s.Case)
	d := measure.NewDiffer(s.Area, s.Tolerance)
	for _, n := range frames {
		before, err := s.ImageInto(s.Times.Before(n), &s.memory[0])
		if err != nil {
			continue
		}
		now, err := s.ImageInto(n, &s.memory[1])
		if err != nil {
			continue
		}
		s.tried++
		whole := s.Area.WholeChange()
		if _, ok := m.estimate(whole, d.Of(whole, before, now), before, now); ok {
			return true, false
		}
		tried++
		if m.replaces() {
			others++
		}
	}
	return false, 2*others > tried
}

// minRows is how many rows must have moved for a vertical displacement.
const minRows = 8

// rowsMoved returns the displacement of the most rows of R, if these are at least half of its
// changed rows. Rows are those of the first plane.
func rowsMoved(c *measure.Case, ch *frame.Change) (dy int, ok bool) {
	if len(ch.Moves) == 0 {
		return 0, false
	}
	r := c.Area.Region
	type vote struct{ dy, rows int }
	var votes [16]vote
	n := 0
	for _, m := range ch.Moves {
		if int(m.Dst) >= c.Layout.Format.Height || int(m.Src) >= c.Layout.Format.Height {
			continue // of chroma
		}
		d := int(m.Dst - m.Src)
		from, to := max(int(m.Dst), r.Y, r.Y+d), min(int(m.Dst+m.Rows), r.Y+r.Height, r.Y+r.Height+d)
		if from >= to || d == 0 {
			continue
		}
		i := slices.IndexFunc(votes[:n], func(v vote) bool { return v.dy == d })
		if i < 0 && n < len(votes) {
			i, n = n, n+1
			votes[i].dy = d
		}
		if i >= 0 {
			votes[i].rows += to - from
		}
	}
	best := slices.MaxFunc(votes[:], func(a, b vote) int { return a.rows - b.rows })
	changed, last := 0, int32(-1)
	for _, s := range ch.Spans {
		if y := int(s.Row); y >= r.Y && y < r.Y+r.Height && s.Row != last {
			changed++
			last = s.Row
		}
	}
	return best.dy, best.rows >= minRows && 2*best.rows >= changed
}
