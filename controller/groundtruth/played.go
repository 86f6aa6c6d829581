package groundtruth

import (
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/site"
)

// played has the facts about a page that need no measure. The strip gives the picture of each
// recorded frame. The report gives the content of that picture.
type played struct {
	Input
	looks map[int]int // of pictures that look like an earlier one: that one
	views []view      // of the frames from s to e
	sum   strip.Summary
}

// view is what the strip says of a frame.
type view struct {
	frame int
	ids   [strip.Copies]int // from top to bottom; unreadable where a copy cannot be read
}

const unreadable = -1

func newPlayed(in Input) *played {
	t := &played{Input: in, looks: map[int]int{}}
	places := map[site.Place]int{}
	for i, d := range in.Report.Drawn {
		id := int(d.ID)
		switch truth := &in.Report.Truth; {
		case len(truth.Looks) > 0:
			t.looks[id] = truth.Looks[i]
		case len(truth.Places) > 0:
			if _, ok := places[truth.Places[i]]; !ok {
				places[truth.Places[i]] = id
			}
			t.looks[id] = places[truth.Places[i]]
		}
	}
	return t
}

func (t *played) add(n int, r strip.Reading) {
	v := view{frame: n}
	for k := range v.ids {
		v.ids[k] = unreadable
		if k < len(r.Copies) && r.Copies[k].OK && r.Copies[k].Code.Page() == t.Report.Number {
			v.ids[k] = int(r.Copies[k].Code.ID)
		}
	}
	t.views = append(t.views, v)
}

// look is what a picture looks like: two pictures of one look are the same to see.
func (t *played) look(id int) int {
	if flip := t.Report.Page.Flip; flip != nil && id != unreadable {
		return id % flip.Images
	}
	if look, ok := t.looks[id]; ok {
		return look
	}
	return id
}

// shows is what a frame shows, from top to bottom.
func (t *played) shows(v *view) [strip.Copies]int {
	looks := v.ids
	for k, id := range looks {
		if id != unreadable {
			looks[k] = t.look(id)
		}
	}
	return looks
}

// torn reports whether parts of a frame show different things.
func (t *played) torn(v *view) bool {
	shown := t.shows(v)
	return shown != [strip.Copies]int{shown[0], shown[0], shown[0], shown[0], shown[0]} &&
		!slices.Contains(shown[:], unreadable)
}

// whole returns the picture that a frame shows, if it shows one picture and nothing else.
func (v *view) whole() (id int, ok bool) {
	id = v.ids[0]
	for _, other := range v.ids {
		if other != id {
			return id, false
		}
	}
	return id, id != unreadable
}

// newest is the newest picture that a frame shows a part of.
func (v *view) newest() int { return slices.Max(v.ids[:]) }

// differ reports whether two frames show different things, as far as both can be read.
func (t *played) differ(a, b *view) (differ, known bool) {
	x, y := t.shows(a), t.shows(b)
	known = true
	for k := range x {
		switch {
		case x[k] == unreadable || y[k] == unreadable:
			known = false
		case x[k] != y[k]:
			return true, true
		}
	}
	return false, known
}

// changes lists the frames whose strip differs from the previous frame's, including the first
// frame. unsure are those whose strip cannot decide this.
func (t *played) changes() (frames, unsure []int) {
	for i := range t.views {
		if i == 0 {
			frames = append(frames, t.views[i].frame)
			continue
		}
		switch differ, known := t.differ(&t.views[i-1], &t.views[i]); {
		case !known:
			unsure = append(unsure, t.views[i].frame)
		case differ:
			frames = append(frames, t.views[i].frame)
		}
	}
	return frames, unsure
}

// repeatable says that nothing of the page changes but with its strip. Browsers scroll on a thread
// of their own.
func (t *played) repeatable() bool { return t.Report.Page.Name != scrollPage }

// unique lists the frames that were measured to differ from the frame before, and the first.
func (t *played) unique() []int {
	s := t.series("fps", "frame_time")
	if s == nil {
		return nil
	}
	return s.Frames
}

// disagreements lists the frames that differ from the frame before while the strip does not, or the
// reverse.
func (t *played) disagreements() []int {
	if t.result("fps") == nil {
		return nil
	}
	drawn, unsure := t.changes()
	return without(difference(t.unique(), drawn), unsure)
}

// difference returns the elements that only one of two ascending lists has.
func difference(a, b []int) (only []int) {
	only = append(without(a, b), without(b, a)...)
	slices.Sort(only)
	return only
}

// without returns the elements that only the first of two ascending lists has.
func without(a, b []int) (only []int) {
	for _, n := range a {
		if _, ok := slices.BinarySearch(b, n); !ok {
			only = append(only, n)
		}
	}
	return only
}

// result returns what a measure says, or nil if it was not taken.
func (t *played) result(measure string) *analyze.Result {
	r, ok := t.Outcome.Find(measure)
	if !ok || r.State == analyze.Refused {
		return nil
	}
	return r
}

func (t *played) value(measure, name string) (analyze.Value, bool) {
	r := t.result(measure)
	if r == nil {
		return analyze.Value{}, false
	}
	return r.Find(name)
}

func (t *played) series(measure, name string) *analyze.Series {
	r := t.result(measure)
	if r == nil {
		return nil
	}
	for i := range r.Series {
		if r.Series[i].Name == name {
			return &r.Series[i]
		}
	}
	return nil
}

// heldAt returns a series' value in a frame, where values hold until the next.
func heldAt(s *analyze.Series, frame int) (float64, bool) {
	i, ok := slices.BinarySearch(s.Frames, frame)
	if !ok {
		i--
	}
	if i < 0 || i >= len(s.Values) || !ok && !s.Holds {
		return 0, false
	}
	return s.Values[i], true
}

// count returns what the page says it counted in a picture.
func (t *played) count(id int) (int, bool) {
	i, ok := t.place(id)
	if !ok || i >= len(t.Report.Truth.Counts) {
		return 0, false
	}
	return t.Report.Truth.Counts[i], true
}

// shareOf returns the page's counted share of all pixels in a frame's picture, if the frame shows
// one picture.
func (t *played) shareOf(v *view) (share float64, ok bool) {
	id, ok := v.whole()
	if !ok {
		return 0, false
	}
	n, ok := t.count(id)
	if !ok || t.Report.Truth.Pixels == 0 {
		return 0, false
	}
	return float64(n) / float64(t.Report.Truth.Pixels), true
}

// drawnAt returns when the page was called to draw a picture, by its own report.
func (t *played) drawnAt(id int) (timeline.Interval, bool) {
	i, ok := t.place(id)
	if !ok {
		return timeline.Interval{}, false
	}
	return t.Report.Drawn[i].At, true
}

// place returns where in the report's lists a picture stands.
func (t *played) place(id int) (int, bool) {
	return slices.BinarySearchFunc(t.Report.Drawn, id, func(d site.Drawn, id int) int { return int(d.ID) - id })
}

// lastDrawn is the last picture that the page drew.
func (t *played) lastDrawn() int { return int(t.Report.Drawn[len(t.Report.Drawn)-1].ID) }

// endsWithLast reports whether the last content frame shows the last picture that the page drew.
func (t *played) endsWithLast() bool {
	id, ok := t.views[len(t.views)-1].whole()
	return ok && id == t.lastDrawn()
}
