package measure

import (
	"slices"
	"sync"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Case is everything that a measure gets about a window. It does not change while frames are added.
type Case struct {
	Recording Recording
	Window    Window
	Options
	Layout *frame.Layout
	Area   *Area
	Times  *Times

	start func() (frame.Image, error)
	final func() (frame.Image, error)

	mu    sync.Mutex
	parts map[string]func() (Part, error)
}

// Options are the options that all measures have.
type Options struct {
	Measures  []string       // that were asked for; empty: all that apply
	Region    frame.Region   // in place of the window's; empty: the window's
	Masks     []frame.Region // pixels that do not count
	Tolerance int            // τ: pixels differ if the greatest difference among R, G and B exceeds it
	OwnClock  bool           // the recording's times are its source's own
}

// FrameMemory is the largest size of the frames that one analysis holds at once, in bytes.
const FrameMemory = 2 << 30

// NewCase prepares a window. broken has the frames of the recording that cannot be read; nil: none.
func NewCase(rec Recording, w Window, o Options, broken []bool) (*Case, error) {
	segment, err := w.check(rec)
	if err != nil {
		return nil, err
	}
	if w.Red != None && w.Kind == byFrames {
		if _, err := rec.Meta(w.Red); err != nil {
			w.Red = None // it was destroyed, and tells no time
		}
	}
	c := &Case{Recording: rec, Window: w, Options: o, Layout: segment.Layout, parts: map[string]func() (Part, error){}}
	region := o.Region
	if region == (frame.Region{}) {
		region = w.Region
	}
	if c.Area, err = NewArea(segment.Layout, region, o.Masks); err != nil {
		return nil, err
	}
	c.Window.Region = c.Area.Region
	c.Times = NewTimes(rec, knownAtRed(rec, segment, &w), w.First(), max(w.End, c.Window.Red)+1, o.OwnClock)
	c.Times.broken = broken
	c.start = sync.OnceValues(func() (frame.Image, error) { return rec.Image(w.Start) })
	c.final = sync.OnceValues(func() (frame.Image, error) { return rec.Image(w.End) })
	return c, nil
}

// Once calls do with the first of some equal names. All of them get what it returns.
func (c *Case) Once(name string, do func() (Part, error)) (Part, error) {
	c.mu.Lock()
	first := c.parts[name]
	if first == nil {
		first = sync.OnceValues(do)
		c.parts[name] = first
	}
	c.mu.Unlock()
	return first()
}

// Wants reports whether a measure was asked for.
func (c *Case) Wants(measure string) bool {
	return len(c.Measures) == 0 || slices.Contains(c.Measures, measure)
}

// Image returns a frame. Those at both ends, which several measures ask for when they begin, are
// decoded once; their bytes must not be changed.
func (c *Case) Image(n int) (frame.Image, error) {
	switch n {
	case c.Window.Start:
		return c.start()
	case c.Window.End:
		return c.final()
	}
	return c.Recording.Image(n)
}

// Lost returns how many frames are missing within the window, from behind its first frame to its
// end.
func (c *Case) Lost() (n int) {
	for i := c.Window.First() + 1; i <= max(c.Window.End, c.Window.Red); i++ {
		n += c.Times.Lost(i)
	}
	return n
}

// Origin returns T0, and true, or the time of s where T0 is not known.
func (c *Case) Origin() (timeline.Interval, bool) {
	if t := c.Window.T0; t != nil {
		return timeline.Interval{Earliest: t.At.Add(-t.Uncertainty), Latest: t.At.Add(t.Uncertainty)}, true
	}
	return c.Times.Since(c.Window.Start), false
}
