package main

import (
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/site"
)

// demoTruth is what is known of a page without measuring: which picture each of its recorded frames shows, from the strip,
// and what the page drew in that picture, from its report.
type demoTruth struct {
	report  site.Report
	outcome *analyze.Outcome
	views   []demoView // of the frames from s to e
}

// demoView is what the strip says of a frame.
type demoView struct {
	frame int
	ids   [strip.Copies]int // from top to bottom; unreadable where a copy cannot be read
}

const unreadable = -1

func (t *demoTruth) add(n int, r strip.Reading) {
	v := demoView{frame: n}
	for k := range v.ids {
		v.ids[k] = unreadable
		if k < len(r.Copies) && r.Copies[k].OK && r.Copies[k].Code.Page() == t.report.Number {
			v.ids[k] = int(r.Copies[k].Code.ID)
		}
	}
	t.views = append(t.views, v)
}

// shows is what a frame shows, from top to bottom: pictures, or images where pictures come round again.
func (t *demoTruth) shows(v *demoView) [strip.Copies]int {
	ids := v.ids
	if flip := t.report.Page.Flip; flip != nil {
		for k, id := range ids {
			if id != unreadable {
				ids[k] = id % flip.Images
			}
		}
	}
	return ids
}

// torn reports whether parts of a frame show different things.
func (t *demoTruth) torn(v *demoView) bool {
	shown := t.shows(v)
	return shown != [strip.Copies]int{shown[0], shown[0], shown[0], shown[0], shown[0]} && !slices.Contains(shown[:], unreadable)
}

// whole returns the picture that a frame shows, if it shows one picture and nothing else.
func (v *demoView) whole() (id int, ok bool) {
	id = v.ids[0]
	for _, other := range v.ids {
		if other != id {
			return id, false
		}
	}
	return id, id != unreadable
}

// changes lists the frames that, by their strip, show something else than the frame before; the first frame is one of them.
func (t *demoTruth) changes() (frames []int) {
	for i := range t.views {
		if i == 0 || t.shows(&t.views[i]) != t.shows(&t.views[i-1]) {
			frames = append(frames, t.views[i].frame)
		}
	}
	return frames
}

// unique lists the frames that were measured to differ from the frame before, and the first.
func (t *demoTruth) unique() []int {
	s := t.series("fps", "frame_time")
	if s == nil {
		return nil
	}
	return s.Frames
}

// disagreements lists the frames that differ from the frame before while the strip does not, or the reverse.
func (t *demoTruth) disagreements() []int { return difference(t.unique(), t.changes()) }

// difference returns what is in one of two ascending lists only.
func difference(a, b []int) (only []int) {
	for _, n := range a {
		if _, ok := slices.BinarySearch(b, n); !ok {
			only = append(only, n)
		}
	}
	for _, n := range b {
		if _, ok := slices.BinarySearch(a, n); !ok {
			only = append(only, n)
		}
	}
	slices.Sort(only)
	return only
}

// result returns what a measure says, or nil if it was not taken.
func (t *demoTruth) result(measure string) *analyze.Result {
	r, ok := t.outcome.Find(measure)
	if !ok || r.State == analyze.Refused {
		return nil
	}
	return r
}

func (t *demoTruth) series(measure, name string) *analyze.Series {
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
func (t *demoTruth) count(id int) (int, bool) {
	i, ok := t.place(id)
	if !ok || i >= len(t.report.Truth.Counts) {
		return 0, false
	}
	return t.report.Truth.Counts[i], true
}

// lasted is how long a page was seen, by its own times: from its first picture that was seen until its red, which is taken to reach the
// screen no sooner and no later than its pictures did.
func (t *demoTruth) lasted() (low, mid, high time.Duration) {
	soonest, latest := t.delays()
	begin := t.outcome.Times.Since(t.outcome.Window.Start)
	red := t.report.RedFrom
	low = red.Earliest.Add(soonest).Sub(begin.Latest)
	high = red.Latest.Add(latest).Sub(begin.Earliest)
	return max(0, low), (low + high) / 2, high
}

// delays returns how long, at least and at most, the page's pictures were on their way from its callback to the first recorded
// frame with them.
func (t *demoTruth) delays() (soonest, latest time.Duration) {
	soonest = time.Hour
	seen := -1
	for i := range t.views {
		id, ok := t.views[i].whole()
		if !ok || id <= seen {
			continue
		}
		seen = id
		at, ok := t.drawnAt(id)
		if !ok {
			continue
		}
		since := t.outcome.Times.Since(t.views[i].frame)
		soonest = min(soonest, since.Earliest.Sub(at.Latest))
		latest = max(latest, since.Latest.Sub(at.Earliest))
	}
	return min(soonest, latest), latest
}

// drawnAt returns when the page drew a picture, by its own report.
func (t *demoTruth) drawnAt(id int) (timeline.Interval, bool) {
	i, ok := t.place(id)
	if !ok {
		return timeline.Interval{}, false
	}
	return t.report.Drawn[i].At, true
}

// place returns where in the report's lists a picture stands.
func (t *demoTruth) place(id int) (int, bool) {
	return slices.BinarySearchFunc(t.report.Drawn, id, func(d site.Drawn, id int) int { return int(d.ID) - id })
}
