package tearing

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/measure"
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

// possibleReach returns the reach by spans alone. The ends of a span differ. The bytes between may
// differ or not.
func possibleReach(a *measure.Area, c *frame.Change) reach {
	r := noReach()
	for _, s := range c.Spans {
		x0, y0, x1, y1 := a.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := a.Clip(y, x0, x1)
			switch {
			case !ok || y >= r.sure0 && y <= r.sure1:
			case a.EndsCount(s, y, x0, x1):
				r.sure0, r.sure1 = min(r.sure0, y), max(r.sure1, y)
				r.may0, r.may1 = min(r.may0, y), max(r.may1, y)
			case (y < r.may0 || y > r.may1) && a.Any(y, from, to):
				r.may0, r.may1 = min(r.may0, y), max(r.may1, y)
			}
		}
	}
	return r
}

// certainReach returns the reach by pixels.
func certainReach(d *measure.Diff) reach {
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
	*measure.Case
	differ *measure.Differ
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

func (s *suspects) add(f *measure.Frame) {
	j := judged{number: f.Number, lost: f.Lost > 0, reach: noReach()}
	if f.Unique {
		if f.Diff != nil {
			j.reach = certainReach(f.Diff)
		} else {
			j.reach = possibleReach(s.Area, f.Change)
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
		last.reach, next.reach = certainReach(s.look(last.number)), certainReach(s.look(next.number))
	}
	switch {
	case last.may1 < next.may0:
		s.found = append(s.found, Suspicion{Frame: last.number, Row: next.may0})
	case next.may1 < last.may0:
		s.found = append(s.found, Suspicion{Frame: last.number, Row: last.may0, Below: true})
	}
}

// look decodes frame n and the one before it, and returns how they differ.
func (s *suspects) look(n int) *measure.Diff {
	before, err := s.Recording.Image(n - 1)
	var now frame.Image
	if err == nil {
		now, err = s.Recording.Image(n)
	}
	if err != nil {
		s.err = fmt.Errorf("look at frame %d: %w", n, err)
		return new(measure.Diff)
	}
	if s.differ == nil {
		s.differ = measure.NewDiffer(s.Area, s.Tolerance)
	}
	return s.differ.Of(s.Area.WholeChange(), before, now)
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
func (s *suspects) report(r *measure.Result, lost float64, evidence bool) {
	var count [2]measure.Value
	for i, name := range []string{"suspected_frames", "suspected_below_first"} {
		count[i] = measure.Value{Name: name, Unit: "frames", Note: "suspected, not found: see the definition"}
	}
	const shown = 20
	for i, f := range s.found {
		v, order := &count[0], "above"
		if f.Below {
			v, order = &count[1], "below"
		}
		v.Frames = append(v.Frames, f.Frame)
		if evidence && i < shown {
			r.Evidence = append(r.Evidence, measure.Evidence{Kind: "suspected", Frame: f.Frame, Rows: []int{f.Row},
				Text: fmt.Sprintf("suspected tear: the part %s line %d changed first, the rest a frame later", order,
					f.Row)})
		}
	}
	for _, v := range count {
		n := float64(len(v.Frames))
		bounded := measure.Between(v.Name, v.Unit, n, n, n+lost+float64(s.open), measure.Lower, 0.1)
		bounded.Frames, bounded.Note, bounded.State = v.Frames, v.Note, measure.Suspected
		r.Add(bounded)
	}
}
