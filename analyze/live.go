package analyze

import (
	"context"
	"reflect"
	"slices"

	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/capture/frame"
)

// LiveOptions say what is measured while frames come. MinPixels is that of the windows.
type LiveOptions struct {
	Options
	Markers   marker.Options
	MinPixels int
	// Masks is asked, with the first frame of content and the green's box, for masks beside those
	// of Options. Nil is none.
	Masks func(first frame.Image, region frame.Region) []frame.Region
}

// Live measures what lies between markers while its frames come. It belongs to one goroutine and
// starts none.
//
// A measure whose part needs no more than what is known when the green ends (see early) is fed
// frame by frame, and has its result as soon as the red is held. The others need to have seen the
// whole window, or its last frame, before they begin: [Taken.Outcome] takes them from the
// recording, which may still grow. Results are those of [Analyze] on the finished recording,
// whatever way they came: what was fed counts only where it was fed with exactly the window's
// frames, area and options, and is else thrown away.
//
// Frames that may be part of a torn red, or of a red that is not held, are not content and are held
// back until that is known. There are never more than [marker.Undecided]. They are copied, since a
// step is not valid for so long: up to that many frames and the one before them, once around each
// red, and where a page shows full-width red, when that appears. A frame that did not change is not
// copied. Elsewhere no byte is touched that did not change.
type Live struct {
	o        LiveOptions
	early    []measure
	tearing  bool // is asked for
	detector *marker.Detector

	window *liveWindow // content in the making; nil: there is none
	held   heldFrames
	last   frame.Meta // of the frame before
	told   int        // s of the last window that was returned
}

// early are the measures that begin with no more than what is known with the first frame of
// content, and that look at frames only when they are fed.
func early(name string) bool { return name == "fps" || name == "heatmap" }

// NewLive prepares to measure frames that will come.
func NewLive(o LiveOptions) (*Live, error) {
	chosen, err := choose(o.Measures)
	if err != nil {
		return nil, err
	}
	tearing := slices.ContainsFunc(chosen, func(m measure) bool { return m.name == "tearing" })
	chosen = slices.DeleteFunc(chosen, func(m measure) bool { return !early(m.name) })
	return &Live{o: o, early: chosen, tearing: tearing, detector: marker.New(o.Markers), told: None}, nil
}

// Add takes the next frame, with its pixels and those of the frame before it. It returns a window
// that is complete with this frame, and nil elsewhere: with the third frame of its red, or later
// where it was not sure until then which red ends it.
func (l *Live) Add(step *frame.Step) (*Taken, error) {
	before := l.last
	l.last = step.Meta
	if err := l.detector.Add(step, nil); err != nil {
		return nil, err
	}
	w, certain, ok := l.detector.Content()
	if !ok {
		return l.complete(), nil
	}
	if l.window == nil || l.window.Window.Start != w.Start {
		l.held.clear()
		l.window = l.begin(w, step, before)
	}
	if len(l.window.parts) == 0 && l.window.late == nil {
		return nil, nil
	}
	if err := l.held.feed(certain, l.window.add); err != nil {
		return nil, err
	}
	if step.Number <= certain {
		return nil, l.window.add(step)
	}
	l.held.keep(step)
	return nil, nil
}

// complete ends the content in the making, and returns its window if it became one.
func (l *Live) complete() *Taken {
	now := l.window
	l.window = nil
	l.held.clear()
	w, ok := l.detector.Newest()
	if !ok || w.Start <= l.told {
		return nil
	}
	l.told = w.Start
	if now != nil && (now.Window.Start != w.Start || now.fed != w.End) {
		now = nil // the red that ends it stood beside a bar, before what was fed last
	}
	return &Taken{Marker: w, options: &l.o.Options, window: now}
}

// Taken is a window that is complete, and what was measured of it on the way. It belongs to one
// goroutine, which need not be that of the Live that made it and goes on meanwhile.
type Taken struct {
	Marker  marker.Window
	options *Options
	window  *liveWindow  // nil: nothing
	early   []Result     // of what was fed, once it is known
	late    *lateTearing // nil: it was not fed
}

// MarkerWindow is the window between markers that were found.
func MarkerWindow(m marker.Window) Window {
	return Window{
		Kind: ByMarkers, Green: m.Green, Held: m.Green - m.GreenFrom, Start: m.Start, End: m.End, Red: m.Red,
		Region: frame.Region{X: m.Region.Min.X, Y: m.Region.Min.Y, Width: m.Region.Dx(), Height: m.Region.Dy()},
	}
}

// Early returns the results of measures that were fed while their frames came, in no time. The
// recording must hold all frames until the window's r by now. Where nothing of what was asked for
// was fed, or it does not count after all, there are no results.
func (t *Taken) Early(rec Recording, w Window, o Options) (*Outcome, error) {
	chosen, err := choose(o.Measures)
	if err != nil {
		return nil, err
	}
	c, err := newCase(rec, w, &o, new(damage))
	if err != nil {
		return nil, err
	}
	if t.window != nil && t.window.fits(c, t.options) {
		*t.window.Case = *c // which all its parts share
		for i := range t.window.names {
			r := t.window.parts[i].result()
			r.Measure, r.Version = t.window.names[i].name, t.window.names[i].version
			t.early = append(t.early, r.complete())
		}
		t.late = t.window.late
	}
	t.window = nil // results are asked for once
	found := &Outcome{Window: c.Window, Times: c.Times}
	for _, r := range t.early {
		if slices.ContainsFunc(chosen, func(m measure) bool { return m.name == r.Measure }) {
			found.Results = append(found.Results, r)
		}
	}
	return found, nil
}

// Outcome is Analyze, but that what Early returns is not measured anew.
func (t *Taken) Outcome(ctx context.Context, rec Recording, w Window, o Options) (*Outcome, error) {
	found, err := t.Early(rec, w, o)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(o.Measures)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(chosen, func(m measure) bool { return m.name == "tearing" }) {
		r, ok, err := t.late.result(ctx)
		if t.late = nil; err != nil {
			return nil, err
		} else if ok {
			found.Results = append(found.Results, r)
		}
	}
	rest := o
	rest.Measures, rest.any = nil, len(o.Measures) == 0
	for _, m := range chosen {
		if _, done := found.Find(m.name); !done {
			rest.Measures = append(rest.Measures, m.name)
		}
	}
	later := new(Outcome)
	if len(rest.Measures) > 0 {
		if later, err = Analyze(ctx, rec, w, rest); err != nil {
			return nil, err
		}
	}
	var all []Result
	for _, m := range chosen {
		r, ok := found.Find(m.name)
		if !ok {
			r, ok = later.Find(m.name)
		}
		if ok { // else there is nothing to measure
			all = append(all, *r)
		}
	}
	found.Results = all
	return found, nil
}

// liveWindow is content on its way through the measures.
type liveWindow struct {
	*Case // Times grows with the frames; what is known only at the end is not there
	feed  feed
	names []*measure
	parts []part       // one for each
	late  *lateTearing // nil: not asked for
	fed   int          // the last frame
}

// begin prepares for content whose first frame this is. What cannot be prepared is left to the end.
func (l *Live) begin(w marker.Window, step *frame.Step, before frame.Meta) *liveWindow {
	now := &liveWindow{fed: None}
	o := l.o.Options
	now.Case = &Case{Window: MarkerWindow(w), Options: &o, Layout: step.Image.Layout, Times: &Times{first: w.Green}}
	now.Times.stamps.add(before.Sequence, before.Sampled)
	now.Window.End, now.Window.Red, now.Window.MinPixels = w.Start, None, l.o.MinPixels
	if step.Number != w.Start || step.Previous.Rows == nil || w.Start != w.Green+1 {
		return now
	}
	region := o.Region
	if region == (frame.Region{}) {
		region = now.Window.Region
	}
	o.Masks = slices.Clone(o.Masks)
	if l.o.Masks != nil {
		o.Masks = append(o.Masks, l.o.Masks(step.Image, now.Window.Region)...)
	}
	area, err := NewArea(now.Layout, region, o.Masks)
	if err != nil {
		return now
	}
	now.Area, now.Window.Region = area, area.Region
	first := &firstFrame{step: step}
	now.Recording = first
	now.start = func() (frame.Image, error) { return first.Image(now.Window.Start) }
	now.final = func() (frame.Image, error) { return frame.Image{}, errNotYet }
	now.load = func() (*load, error) { return nil, errNotYet }
	pixels := o.Tolerance > 0 || l.o.MinPixels > 0
	for i := range l.early {
		m := &l.early[i]
		p, err := m.begin(now.Case)
		if err != nil {
			continue // it says so again when all is known
		}
		now.names, now.parts = append(now.names, m), append(now.parts, p)
		looks, depends := p.(looker)
		pixels = pixels || m.pixels || depends && looks.needsPixels()
	}
	first.step = nil
	if l.tearing {
		now.late = newLateTearing(now.Case)
	}
	now.feed = feed{Case: now.Case, pixels: pixels, early: followers(now.parts)}
	return now
}

// add takes the next frame.
func (w *liveWindow) add(step *frame.Step) error {
	w.Times.stamps.add(step.Meta.Sequence, step.Meta.Sampled)
	f, err := w.frame(step)
	if err != nil {
		return err
	}
	for _, p := range w.parts {
		p.add(f)
	}
	if w.late.add(f) {
		w.feed.pixels = true
	}
	w.fed = step.Number
	return nil
}

// frame is feed.frame, with pixels at hand where changes leave it open whether a frame is unique.
func (w *liveWindow) frame(step *frame.Step) (*Frame, error) {
	if w.feed.pixels || w.Area.judge(step.Change) != unsure {
		return w.feed.frame(step)
	}
	f := &w.feed.now
	*f = Frame{Step: step, Lost: w.Times.Lost(step.Number)}
	f.Unique = w.feed.diff(step.Change, step.Previous, step.Image).Pixels > 0
	return f, nil
}

// fits reports whether what was fed is just what a case asks for.
func (w *liveWindow) fits(c *Case, o *Options) bool {
	a, b := w.Area, c.Area
	if a == nil || w.Layout.Format != c.Layout.Format || a.Region != b.Region || !slices.Equal(a.bits, b.bits) ||
		w.Window.Green != c.Window.Green || w.Window.Start != c.Window.Start || w.fed != c.Window.End ||
		w.Window.MinPixels != c.Window.MinPixels || !alike(o, c.Options) {
		return false
	}
	for i := range w.Times.stamps.len() {
		if w.Times.stamps.at(i) != c.Times.stamps.at(i) {
			return false
		}
	}
	return true
}

// alike reports whether two options ask for the same, apart from the measures, the area, the clock
// and how the work is done, and from what is asked of response, which no part that is fed early
// looks at.
func alike(a, b *Options) bool {
	x, y := *a, *b
	for _, o := range []*Options{&x, &y} {
		o.Measures, o.Region, o.Masks, o.OwnClock, o.Progress, o.Workers, o.share = nil, frame.Region{}, nil, false,
			nil, 0, 0
		o.Response = ResponseOptions{}
	}
	return reflect.DeepEqual(x, y)
}
