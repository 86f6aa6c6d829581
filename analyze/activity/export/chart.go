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
	Sampled      bool
}

// Track has the bars of a thread: nested functions in the order of their begins, and states.
type Track struct {
	Thread activity.Thread
	Bars   []Bar
	States []Bar // waiting, and ready while others ran
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
		th.change(c, th.samples, nil, th.last, 0, true)
		th.Bars = th.bars
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
	bars    []Bar
	samples []open // outermost first
	last    int64  // time of the last sample
	calls   []open
	path    []int32
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
func (th *charted) begin(c *chart, g int32, at int64, sampled bool) int {
	if c.count++; c.count > maxBars {
		c.left++
		return -1
	}
	f := c.of.Group(g)
	th.bars = append(th.bars, Bar{Name: cmp.Or(f.Name, "(unnamed)"), Module: f.Module, From: at, To: at,
		Sampled: sampled})
	return len(th.bars) - 1
}

// change ends the open bars that a stack does not have, and begins those that it has in addition.
func (th *charted) change(c *chart, all []open, path []int32, ends, begins int64, sampled bool) []open {
	k := 0
	for k < len(all) && k < len(path) && all[k].group == path[k] {
		k++
	}
	for _, o := range all[k:] {
		if o.bar >= 0 {
			th.bars[o.bar].To = max(ends, th.bars[o.bar].From)
		}
	}
	all = all[:k]
	for _, g := range path[k:] {
		all = append(all, open{g, th.begin(c, g, begins, sampled)})
	}
	return all
}

// sampled adds a sample of a stack, outermost first.
func (th *charted) sampled(c *chart, path []int32, at, period int64) {
	begin := c.of.When(at - period)
	if begin > th.last+c.of.When(at)-begin { // the thread did not run meanwhile
		th.samples = th.change(c, th.samples, nil, th.last, 0, true)
	}
	th.samples = th.change(c, th.samples, path, th.last, max(begin, th.last), true)
	th.last = c.of.When(at)
}

// called states that a stack of calls is open from a time on.
func (th *charted) called(c *chart, path []int32, at int64) {
	th.calls = th.change(c, th.calls, path, at, at, false)
}

func (c *chart) piece(st *activity.State, from, to int64) {
	if len(st.Calls) == 0 && st.On != activity.OffCPU && c.threads[st.Thread] == nil {
		return
	}
	th := c.thread(st.Thread)
	if n := len(st.Calls); n > 0 || len(th.calls) > 0 {
		th.path = th.path[:0]
		for _, call := range st.Calls {
			th.path = append(th.path, c.of.GroupOf(call.Function))
		}
		th.called(c, th.path, c.of.When(from))
		for _, o := range th.calls { // the end as far as it is known
			if o.bar >= 0 {
				th.bars[o.bar].To = c.of.When(to)
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
	th.sampled(c, th.path, e.At, e.Value)
}

// shorten keeps the longest bars. Outer bars last at least as long as inner ones.
func shorten(tracks []*Track, most int) (left int) {
	var lasts []int64
	for _, t := range tracks {
		for _, all := range [][]Bar{t.Bars, t.States} {
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
		t.Bars, t.States = slices.DeleteFunc(t.Bars, short), slices.DeleteFunc(t.States, short)
	}
	return left
}
