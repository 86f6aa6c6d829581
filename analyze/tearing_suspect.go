package analyze

import (
	"fmt"
	"math/bits"

	"github.com/eideticker/eideticker/capture/frame"
)

// reach is how far down and up a change goes: the first and last line in which a pixel that counts
// differs for certain, and may differ. Where there is none the first lies below the last.
type reach struct{ sure0, sure1, may0, may1 int }

func noReach() reach {
	const far = frame.MaxSide + 1
	return reach{far, -1, far, -1}
}

func (r *reach) certain() bool { return r.sure0 == r.may0 && r.sure1 == r.may1 }

// reach derives the reach from spans alone: a span's ends differ, and the bytes between may or may
// not.
func (a *Area) reach(c *frame.Change) reach {
	r := noReach()
	for _, s := range c.Spans {
		x0, y0, x1, y1 := a.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := a.clip(y, x0, x1)
			switch {
			case !ok || y >= r.sure0 && y <= r.sure1:
			case a.endsCount(s, y, x0, x1):
				r.sure0, r.sure1 = min(r.sure0, y), max(r.sure1, y)
				r.may0, r.may1 = min(r.may0, y), max(r.may1, y)
			case (y < r.may0 || y > r.may1) && a.any(y, from, to):
				r.may0, r.may1 = min(r.may0, y), max(r.may1, y)
			}
		}
	}
	return r
}

// reach tells from pixels.
func (d *diff) reach() reach {
	r := noReach()
	for i := range d.Lines {
		for _, w := range d.Lines[i].Bits {
			if w != 0 {
				y := d.Lines[i].Y
				r.sure0, r.sure1 = min(r.sure0, y), y
				break
			}
		}
	}
	r.may0, r.may1 = r.sure0, r.sure1
	return r
}

// suspects finds frames that look torn, by their changes. A frame is judged when the one behind it
// is known.
type suspects struct {
	*Case
	differ *differ
	err    error
	open   int // frames that cannot be judged, since one is missing beside them

	begun       bool
	first, last judged // of the frames so far
	found       []Suspicion
}

// judged is a frame and what it changed.
type judged struct {
	number int
	lost   bool // frames are missing just before it
	reach
}

func (s *suspects) add(f *Frame) {
	j := judged{number: f.Number, lost: f.Lost > 0, reach: noReach()}
	if f.Unique {
		if f.Diff != nil {
			j.reach = f.Diff.reach()
		} else {
			j.reach = s.Area.reach(f.Change)
		}
	}
	if !s.begun {
		s.begun, s.first = true, j
	} else {
		s.judge(j)
	}
	s.last = j
}

// judge judges the last frame by the one behind it.
func (s *suspects) judge(next judged) {
	last := &s.last
	switch {
	case last.number == s.Window.Start:
		return
	case last.lost || next.lost:
		s.open++
		return
	case last.may1 < 0 || next.may1 < 0:
		return
	}
	overlap := func() bool { return last.sure1 >= next.sure0 && next.sure1 >= last.sure0 }
	if !overlap() && (!last.certain() || !next.certain()) {
		last.reach, next.reach = s.look(last.number).reach(), s.look(next.number).reach()
	}
	switch {
	case last.may1 < next.may0:
		s.found = append(s.found, Suspicion{Frame: last.number, Row: next.may0})
	case next.may1 < last.may0:
		s.found = append(s.found, Suspicion{Frame: last.number, Row: last.may0, Below: true})
	}
}

// look decodes frame n and the one before it, and returns how they differ.
func (s *suspects) look(n int) *diff {
	before, err := s.Recording.Image(n - 1)
	var now frame.Image
	if err == nil {
		now, err = s.Recording.Image(n)
	}
	if err != nil {
		s.err = fmt.Errorf("look at frame %d: %w", n, err)
		return new(diff)
	}
	if s.differ == nil {
		s.differ = newDiffer(s.Area, s.Options.Tolerance)
	}
	all := &frame.Change{}
	for y, row := range s.Layout.Rows {
		all.Spans = append(all.Spans, frame.Span{Row: int32(y), End: int32(row.Seen)})
	}
	return s.differ.of(all, before, now)
}

func (s *suspects) merge(n *suspects) {
	if s.err == nil {
		s.err = n.err
	}
	if !n.begun {
		return
	}
	s.judge(n.first)
	s.last = n.last
	s.open += n.open
	s.found = append(s.found, n.found...)
}

// report adds the suspected tears, with evidence unless better evidence exists.
func (s *suspects) report(r *Result, lost float64, evidence bool) {
	var count [2]Value
	for i, name := range []string{"suspected_frames", "suspected_below_first"} {
		count[i] = Value{Name: name, Unit: "frames", Note: "suspected, not found: see the definition"}
	}
	const shown = 20
	for i, f := range s.found {
		v, order := &count[0], "above"
		if f.Below {
			v, order = &count[1], "below"
		}
		v.Frames = append(v.Frames, f.Frame)
		if evidence && i < shown {
			r.Evidence = append(r.Evidence, Evidence{Kind: "suspected", Frame: f.Frame, Rows: []int{f.Row},
				Text: fmt.Sprintf("suspected tear: the part %s line %d changed first, the rest a frame later", order,
					f.Row)})
		}
	}
	for _, v := range count {
		n := float64(len(v.Frames))
		bounded := between(v.Name, v.Unit, n, n, n+lost+float64(s.open), Lower, 0.1)
		bounded.Frames, bounded.Note, bounded.State = v.Frames, v.Note, Suspected
		r.Values = append(r.Values, bounded)
	}
}

// cover is the pixels that no change has reached yet.
type cover struct {
	area   *Area
	bits   []uint64
	pixels int
	done   []extent // of each line: the extent known to be reached
}

type extent struct{ from, to int }

func newCover(a *Area) *cover {
	return &cover{area: a, bits: append([]uint64(nil), a.bits...), pixels: a.Pixels,
		done: make([]extent, a.Layout.Format.Height)}
}

func (v *cover) take(c *frame.Change) {
	for _, s := range c.Spans {
		if v.pixels == 0 {
			return
		}
		x0, y0, x1, y1 := v.area.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := v.area.clip(y, x0, x1)
			if d := &v.done[y]; !ok || from >= d.from && to <= d.to {
				continue
			} else if to-from > d.to-d.from {
				*d = extent{from, to}
			}
			line := v.bits[y*v.area.words : (y+1)*v.area.words]
			eachWord(from, to, func(w int, mask uint64) {
				v.pixels -= bits.OnesCount64(line[w] & mask)
				line[w] &^= mask
			})
		}
	}
}

// covers reports whether spans reach over every pixel that counts. Where they do not, the two
// frames share an equal pixel.
func (a *Area) covers(c *frame.Change) bool {
	reached := 0
	for _, s := range c.Spans {
		x0, y0, x1, y1 := a.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			if from, to, ok := a.clip(y, x0, x1); ok {
				reached += to - from
			}
		}
	}
	if reached < a.Pixels {
		return false
	}
	left := newCover(a)
	left.take(c)
	return left.pixels == 0
}

// restart resets the reached extents.
func (v *cover) restart() {
	copy(v.bits, v.area.bits)
	v.pixels = v.area.Pixels
	clear(v.done)
}
