package export

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/frames"
)

// maxBars limits the bars that a chart collects before it selects the longest.
const maxBars = 1_000_000

// Bar is a time with a function on a thread's stack, or one in which the thread did not run.
// Times are those of the recording.
type Bar struct {
	Name, Module string
	From, To     int64
}

// Track has the bars of a thread, each list in the order of their begins. Those of calls are
// nested, and those of samples too.
type Track struct {
	Thread  activity.Thread
	Bars    []Bar
	Samples []Bar
	States  []Bar // waiting, and ready while others ran
}

// Chart returns tracks for a span of the recording. They have at most so many bars, the longest
// ones; it counts those that are left out. Samples in sequence with a common function are one bar.
func Chart(t *activity.Trace, from, to int64, most int) (tracks []*Track, left int, err error) {
	c := &chart{of: frames.NewSource(t), threads: map[uint32]*charted{}}
	begin, end := c.of.Between(from, to)
	if t.Info().Clock.None {
		return nil, 0, nil
	}
	err = t.Walk(begin, end, activity.Visitor{Piece: c.piece, Event: c.event})
	for _, th := range c.threads {
		c.change(&th.samples, nil, th.last, 0)
		th.Bars, th.Samples = th.calls.bars, th.samples.bars
		tracks = append(tracks, &th.Track)
	}
	slices.SortFunc(tracks, func(a, b *Track) int {
		return cmp.Or(cmp.Compare(a.Thread.Process, b.Thread.Process), cmp.Compare(a.Thread.ID, b.Thread.ID),
			cmp.Compare(a.Thread.Start, b.Thread.Start))
	})
	return tracks, c.left + shorten(tracks, most), err
}

type chart struct {
	of      *frames.Source
	threads map[uint32]*charted
	count   int
	left    int
}

// charted is a track with the bars that have no end yet.
type charted struct {
	Track
	calls, samples row
	last           int64 // time of the last sample
	path           []int32
}

// row has bars, and the functions whose bars have no end yet, outermost first.
type row struct {
	bars []Bar
	open []open
}

type open struct {
	group int32
	bar   int // its place in bars; -1: left out
}

func (c *chart) thread(number uint32) *charted {
	th := c.threads[number]
	if th == nil {
		th = &charted{Track: Track{Thread: c.of.Threads()[number]}}
		c.threads[number] = th
	}
	return th
}

// begin adds a bar and returns its place.
func (c *chart) begin(r *row, g int32, at int64) int {
	if c.count++; c.count > maxBars {
		c.left++
		return -1
	}
	f := c.of.Group(g)
	r.bars = append(r.bars, Bar{Name: cmp.Or(f.Name, "(unnamed)"), Module: f.Module, From: at, To: at})
	return len(r.bars) - 1
}

// change ends the open bars that a stack does not have, and begins those that it has in addition.
func (c *chart) change(r *row, path []int32, ends, begins int64) {
	k := 0
	for k < len(r.open) && k < len(path) && r.open[k].group == path[k] {
		k++
	}
	for _, o := range r.open[k:] {
		if o.bar >= 0 {
			r.bars[o.bar].To = max(ends, r.bars[o.bar].From)
		}
	}
	r.open = r.open[:k]
	for _, g := range path[k:] {
		r.open = append(r.open, open{g, c.begin(r, g, begins)})
	}
}

// sampled adds a sample of a stack, outermost first.
func (c *chart) sampled(th *charted, path []int32, at, period int64) {
	begin := c.of.When(at - period)
	if begin > th.last+c.of.When(at)-begin { // the thread did not run meanwhile
		c.change(&th.samples, nil, th.last, 0)
	}
	c.change(&th.samples, path, th.last, max(begin, th.last))
	th.last = c.of.When(at)
}

func (c *chart) piece(st *activity.State, from, to int64) {
	if len(st.Calls) == 0 && st.On != activity.OffCPU && c.threads[st.Thread] == nil {
		return
	}
	th := c.thread(st.Thread)
	if n := len(st.Calls); n > 0 || len(th.calls.open) > 0 {
		th.path = th.path[:0]
		for _, call := range st.Calls {
			th.path = append(th.path, c.of.GroupOf(call.Function))
		}
		begin := c.of.When(from)
		c.change(&th.calls, th.path, begin, begin)
		for _, o := range th.calls.open { // the end as far as it is known
			if o.bar >= 0 {
				th.calls.bars[o.bar].To = c.of.When(to)
			}
		}
	}
	if st.On != activity.OffCPU {
		return
	}
	name := "waiting"
	if st.Woken != activity.Unended {
		name = "ready"
	}
	begin, end := c.of.When(from), c.of.When(to)
	if n := len(th.States); n > 0 && th.States[n-1].Name == name && th.States[n-1].To == begin {
		th.States[n-1].To = end
	} else if c.count++; c.count <= maxBars {
		th.States = append(th.States, Bar{Name: name, From: begin, To: end})
	} else {
		c.left++
	}
}

func (c *chart) event(e activity.Event, st *activity.State) {
	if st == nil || e.Kind != activity.Sample || e.Ref == 0 {
		return
	}
	th := c.thread(e.Thread)
	th.path = th.path[:0]
	for stack := e.Ref; stack != 0; {
		callers, f := c.of.Stack(stack)
		th.path = append(th.path, c.of.GroupOf(f))
		stack = callers
	}
	slices.Reverse(th.path)
	c.sampled(th, th.path, e.At, e.Value)
}

// shorten keeps the longest bars. Outer bars last at least as long as inner ones.
func shorten(tracks []*Track, most int) (left int) {
	var lasts []int64
	for _, t := range tracks {
		for _, all := range [][]Bar{t.Bars, t.Samples, t.States} {
			for _, b := range all {
				lasts = append(lasts, b.To-b.From)
			}
		}
	}
	if len(lasts) <= most {
		return 0
	}
	slices.Sort(lasts)
	limit := lasts[len(lasts)-most]
	short := func(b Bar) bool {
		if b.To-b.From <= limit {
			left++
			return true
		}
		return false
	}
	for _, t := range tracks {
		for _, all := range []*[]Bar{&t.Bars, &t.Samples, &t.States} {
			*all = slices.DeleteFunc(*all, short)
		}
	}
	return left
}
