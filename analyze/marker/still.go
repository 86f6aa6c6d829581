package marker

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"math/bits"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// StillOptions say what counts as still.
type StillOptions struct {
	// For is how long nothing may change, at least.
	For time.Duration
	// FemtoPeriod is the time from frame to frame, as the segment has it; 0 where it is not known:
	// then the sampling intervals count, and only what surely lies between two of them.
	FemtoPeriod int64
	// Region is where changes count, in pixels of the frame; empty for all of it.
	Region image.Rectangle
	// Ignore is where they don't: masks, the code strip.
	Ignore []image.Rectangle
	// Until is a frame that the stillness must last to, at least.
	Until int
}

// Still is the end of content that no red follows: the last frame before a stillness.
type Still struct {
	End  int           // e: the last frame that changed, or the first frame if none did
	Seen int           // the frame in which the stillness had lasted long enough
	For  time.Duration // how long it had lasted then
	// frames that are missing within it; what they showed is not known, and their time does not
	// count
	Lost int
}

// errNeverStill is wrapped where nothing is still for long enough.
var errNeverStill = errors.New("never still")

// FindStill finds the end of content that begins with frame from and that no red follows, in frames
// below to. It needs no pixels. As in every exact difference, one sample is a change. A noisy
// capture is never still.
//
// Frame k is still if no frame after End, up to k, changed. The time from End to k is the distance
// of their sequence numbers, in periods, without the frames lost between. A span that reaches into
// the region counts. A span inside a rectangle to be ignored does not, nor does a caret's: see
// [Blink].
//
// FindStill returns the cause of ctx's end at the next frame.
func FindStill(ctx context.Context, seq Sequence, from, to int, o StillOptions) (Still, error) {
	if o.For <= 0 {
		return Still{}, fmt.Errorf("find the end of the content: it must be still for some time, not for %v", o.For)
	}
	w := stillness{o: o}
	longest := Still{End: from}
	for step, err := range seq.Changes(from, to) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return Still{}, fmt.Errorf("find the end of the content: %w", err)
		}
		w.add(step)
		if w.now.For > longest.For {
			longest = w.now
		}
		if w.now.For >= o.For && step.Number >= o.Until {
			return w.now, nil
		}
	}
	return Still{}, fmt.Errorf(
		"%w for %v in frames %d to %d: the longest stillness is %v from frame %d on; ask for less, an event or a limit",
		errNeverStill, o.For, from, to-1, longest.For.Round(time.Millisecond), longest.End)
}

// stillness watches how long nothing has changed.
type stillness struct {
	o      StillOptions
	begun  bool
	last   frame.Meta // of the frame before
	layout *frame.Layout
	blink  Blink
	stretch
	before stretch // the stretch before a change that may be a caret's
}

// stretch is a time in which nothing changes.
type stretch struct {
	since  frame.Meta // of now.End
	now    Still
	unseen time.Duration // of it, at most, in which frames are missing
}

func (w *stillness) add(s *frame.Step) {
	if !w.begun || s.Image.Layout != w.layout {
		w.begun, w.last, w.layout, w.blink, w.before = true, s.Meta, s.Image.Layout, Blink{}, stretch{}
		w.restart(s)
		return
	}
	w.longer(s)
	box, changed := w.changed(s)
	if !changed {
		return
	}
	switch maybe, caret := w.blink.Add(box, s.Meta.Sampled); {
	case caret && w.before.now.Seen > 0:
		w.before.now.Lost += w.now.Lost
		w.before.unseen += w.unseen
		w.stretch, w.before = w.before, stretch{}
		w.longer(s)
	case caret:
	case maybe:
		w.before = w.stretch
		w.restart(s)
	default:
		w.before = stretch{}
		w.restart(s)
	}
}

// restart begins a stretch at a frame that changed.
func (w *stillness) restart(s *frame.Step) {
	w.stretch = stretch{since: s.Meta, now: Still{End: s.Number, Seen: s.Number}}
}

// longer adds a frame to the stretch.
func (w *stillness) longer(s *frame.Step) {
	lost := 0
	if s.Meta.Sequence > w.last.Sequence {
		lost = int(min(s.Meta.Sequence-w.last.Sequence-1, 1<<30))
	}
	w.now.Lost += lost
	w.now.Seen = s.Number
	w.now.For = w.lasted(s, lost)
	w.last = s.Meta
}

// lasted returns how long it has been still when a frame is seen before which so many are missing.
func (w *stillness) lasted(s *frame.Step, lost int) time.Duration {
	if p := w.o.FemtoPeriod; p > 0 {
		return periods(s.Meta.Sequence-w.since.Sequence-uint64(w.now.Lost), p)
	}
	if lost > 0 {
		w.unseen += max(0, s.Meta.Sampled.Latest.Sub(w.last.Sampled.Earliest))
	}
	return max(0, s.Meta.Sampled.Earliest.Sub(w.since.Sampled.Latest)-w.unseen)
}

// periods returns n periods of p femtoseconds, rounded down to nanoseconds, or the longest time
// there is.
func periods(n uint64, p int64) time.Duration {
	const femto = 1_000_000 // in a nanosecond
	hi, lo := bits.Mul64(n, uint64(p))
	if hi >= femto {
		return math.MaxInt64
	}
	ns, _ := bits.Div64(hi, lo, femto)
	return time.Duration(min(ns, math.MaxInt64))
}

// changed reports whether a frame differs where it counts from the one before, and the rectangle of
// its change; an empty one is unknown.
func (w *stillness) changed(s *frame.Step) (box image.Rectangle, changed bool) {
	if s.Change == nil {
		return image.Rectangle{}, true
	}
	l := s.Image.Layout
	for i := range s.Change.Spans {
		if r := rectOf(l, &s.Change.Spans[i]); !r.Empty() && (w.o.Region.Empty() || r.Overlaps(w.o.Region)) &&
			!w.ignored(r) {
			box = box.Union(r)
		}
	}
	return box, !box.Empty()
}

// ignored reports whether a rectangle's part in the region is inside an ignored rectangle.
func (w *stillness) ignored(r image.Rectangle) bool {
	if !w.o.Region.Empty() {
		r = r.Intersect(w.o.Region)
	}
	for _, i := range w.o.Ignore {
		if r.In(i) {
			return true
		}
	}
	return false
}
