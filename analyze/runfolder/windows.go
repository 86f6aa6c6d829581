package runfolder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/noise"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// window is a window to be measured, and the findings about it.
type window struct {
	analyze.Window
	kind  string
	masks []frame.Region // the code strip, where there is one
	// tolerance is τ; greenFrom is the first frame of the held green, on which it can be
	// calibrated.
	tolerance, greenFrom int
	noise                *noise.Calibration // nil where nothing was calibrated
	warnings             []string
	number, of           int              // the first is 1, of so many
	channel              *payload.Account // of the page's messages; nil: without a payload block
	described            *result.Channel  // the same for results
}

// windows returns the windows to be measured, and notes about the search.
func (a *analysis) windows(ctx context.Context) (found []window, notes []string, err error) {
	switch {
	case a.reader.Frames() == 0:
		return nil, nil, errors.New(
			"the recording has no frames to measure: see the measure quality")
	case a.To > 0:
		found = []window{{Window: measure.FramesWindow(a.reader, a.From, a.To), kind: result.Frames}}
	default:
		if found, notes, err = a.byMarkers(ctx); err != nil {
			return nil, nil, err
		}
	}
	if len(found) == 0 {
		found = a.everything()
	}
	whole := found[:0]
	for _, w := range found {
		err := a.complete(ctx, &w)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}

		if err != nil {
			a.passOver(&w, err)
			continue
		}
		whole = append(whole, w)
	}
	return whole, notes, nil
}

// passOver leaves out a window that cannot be measured; the others are.
func (a *analysis) passOver(w *window, why error) {
	a.left = append(a.left, fmt.Errorf("frames %d to %d: %w", w.Start, w.End, why))
}

// byMarkers finds green and red. A recording without any has no window, which is an error only if
// markers were requested.
func (a *analysis) byMarkers(ctx context.Context) (found []window, notes []string, err error) {
	markers, err := a.findMarkers(ctx)
	var problems *marker.Error
	if err != nil && !errors.As(err, &problems) {
		return nil, nil, err
	}
	open := problems != nil && problems.Open != nil && (a.ends() || len(markers) == 0 && !a.Markers)
	if open {
		found = append(found, openWindow(*problems.Open))
		if a.ends() && len(problems.Problems) == 1 {
			problems = nil // its end is asked for otherwise
		}
	}
	if problems != nil {
		a.problems = problems.Problems
		if a.Markers && len(markers)+len(found) == 0 {
			return nil, nil, withoutRed(problems)
		}
		if a.Markers || len(markers)+len(found) > 0 || !onlyMissing(problems) {
			notes = append(notes, problems.Error())
		}
	}
	if open && !a.ends() {
		notes = append(notes, "without a red, all that follows the green is measured; "+otherEnds)
	}
	whole := make([]window, 0, len(markers)+1)
	for _, m := range markers {
		whole = append(whole, markerWindow(m))
	}
	if found = append(whole, found...); len(found) == 0 {
		notes = append(notes, "no sync markers were found: all frames are measured")
	}
	return found, notes, nil
}

const otherEnds = "where the content ends is said by --still, --limit or --event"

// withoutRed adds advice to the problems of a recording without a window, if a page has not drawn
// its red.
func withoutRed(problems *marker.Error) error {
	if problems.Open == nil {
		return problems
	}
	return fmt.Errorf("%w; %s", problems, otherEnds)
}

// openWindow is content that no red ends.
func openWindow(m marker.Window) window {
	w := markerWindow(m)
	w.kind = result.End
	return w
}

// ends reports whether the content's end does not need a red.
func (a *analysis) ends() bool { return a.Still > 0 || a.EndEvent != "" || a.Limit > 0 }

// onlyMissing reports whether nothing like a marker was seen at all.
func onlyMissing(e *marker.Error) bool {
	return !slices.ContainsFunc(e.Problems, func(p marker.Problem) bool {
		return p.Kind != marker.Missing ||
			p.First > 0
	})
}

func (a *analysis) findMarkers(ctx context.Context) ([]marker.Window, error) {
	_, end := a.progress.Phase("looking for green and red", 0)
	defer end()
	return marker.Find(a.reader, 0, a.reader.Frames(), marker.Options{Nonce: a.Nonce, Stop: ctx.Err})
}

func markerWindow(m marker.Window) window {
	w := window{kind: result.Markers, Window: analyze.Window{
		Kind: analyze.ByMarkers, Green: m.Green, Held: m.Green - m.GreenFrom, Start: m.Start, End: m.End, Red: m.Red,
		Region: frame.Region{X: m.Region.Min.X, Y: m.Region.Min.Y, Width: m.Region.Dx(), Height: m.Region.Dy()},
	}}
	if t := m.TornGreen; t != nil {
		w.warnings = append(w.warnings, fmt.Sprintf("the green is torn in frame %d at line %d", t.Frame, t.Row))
	}
	if t := m.TornRed; t != nil {
		w.warnings = append(w.warnings, fmt.Sprintf("the red is torn in frame %d at line %d", t.Frame, t.Row))
	}
	if !m.Exact {
		w.warnings = append(w.warnings,
			"the held green is not the same in all its frames: the capture is noisy, see --tolerance auto")
	}
	w.warnings = append(w.warnings, m.Warnings...)
	w.greenFrom = m.GreenFrom
	return w
}

// everything is a window per run of frames of one format.
func (a *analysis) everything() (found []window) {
	for _, s := range a.reader.Segments() {
		if s.Frames > 0 {
			w := measure.FramesWindow(a.reader, s.First, s.First+s.Frames)
			w.Red = analyze.None
			found = append(found, window{Window: w, kind: result.All})
		}
	}
	return found
}

// complete adds the common facts of all windows: m, T0 and the place of the code strip.
func (a *analysis) complete(ctx context.Context, w *window) error {
	w.Name, w.MinPixels, w.tolerance = a.Name, a.MinPixels, a.Tolerance
	if a.Begin != "" && a.To == 0 {
		if err := a.begin(w); err != nil {
			return err
		}
	}
	switch {
	case a.T0 == FromStart:
		w.T0 = a.fromStart(w.Window)
	case w.Green != analyze.None || a.T0 != "" || a.Begin != "":
		if w.T0 = a.t0(w); w.T0 == nil && a.T0 != "" {
			w.warnings = append(w.warnings,
				fmt.Sprintf("no event %s before the content, so T0 is unknown; the recording has %s", a.T0,
					KindsText(EventKinds(a.reader))))
		}
	}
	if !a.KeepStrip {
		a.maskStrip(w)
	}
	if err := a.readBlock(ctx, w); err != nil {
		return err
	}
	if a.AutoTolerance {
		if err := a.calibrate(ctx, w); err != nil {
			return err
		}
	}
	return a.end(ctx, w)
}

// begin moves a window's start forward to the frame on the screen at its first event of a kind.
func (a *analysis) begin(w *window) error {
	first, err := a.reader.Meta(w.Start)
	if err != nil {
		return err
	}
	for _, e := range a.reader.Events() {
		if e.Kind != a.Begin || e.At < first.Sampled.Earliest {
			continue
		}
		if at := a.reader.Find(e.At); at <= w.End {
			w.Start, w.Green, w.Held = at, analyze.None, 0
			w.kind, w.Kind = result.End, analyze.ByEnd
			return nil
		}
		break
	}
	return fmt.Errorf("no event %s in frames %d to %d", a.Begin, w.Start, w.End)
}

// calibrate takes τ and m from the held green and a held pattern, as far as there are such.
func (a *analysis) calibrate(ctx context.Context, w *window) error {
	var held []noise.Held
	if w.Kind == analyze.ByMarkers {
		held = append(held, noise.Held{From: w.greenFrom, To: w.Green + 1})
	}
	if a.PatternTo > 0 {
		held = append(held, noise.Held{From: a.PatternFrom, To: a.PatternTo, Pattern: true})
	}
	if len(held) == 0 {
		return errors.New("--tolerance auto needs a held green; use --calibrate A:B with a pattern, or --tolerance N")
	}
	region := w.Region
	if a.Region != nil {
		region = *a.Region
	}
	n, err := noise.Calibrate(ctx, a.reader, region, append(slices.Clone(a.Masks), w.masks...), held...)
	if err != nil {
		return err
	}
	w.noise, w.tolerance, w.MinPixels = n, n.Tolerance, n.MinPixels
	w.warnings = append(w.warnings,
		fmt.Sprintf("calibrated on %s: tolerance %d, up to %d pixels more; changes of %d pixels by %d levels are seen",
			calibratedOn(n), n.Tolerance, n.MinPixels, n.SmallestPixels, n.SmallestLevels))
	if n.Tolerance > 0 && n.Pattern == 0 {
		w.warnings = append(w.warnings,
			"other pictures may have more noise than the green: show synth:pattern first, and use --calibrate A:B")
	}
	return nil
}

func calibratedOn(n *noise.Calibration) string {
	switch green := n.Frames - n.Pattern; {
	case n.Pattern == 0:
		return fmt.Sprintf("%d frames of green", green)
	case green == 0:
		return fmt.Sprintf("%d frames of a pattern", n.Pattern)
	default:
		return fmt.Sprintf("%d frames of green and %d of a pattern", green, n.Pattern)
	}
}

// end moves a window's end forward to the end of its content, for pages that cannot draw the red.
// That is before a stillness, at an event or after a time. Later frames, down to a red that the rig
// has loaded, do not count.
func (a *analysis) end(ctx context.Context, w *window) error {
	var last int
	var why string
	switch {
	case a.Still > 0:
		segment, err := a.reader.SegmentOf(w.Start)
		if err != nil {
			return err
		}
		o := marker.StillOptions{For: a.Still, FemtoPeriod: segment.FemtoPeriod, Region: rectangle(w.Region)}
		for _, m := range append(slices.Clone(a.Masks), w.masks...) {
			o.Ignore = append(o.Ignore, rectangle(m))
		}
		if at, err := a.lastEvent(w); a.EndEvent != "" && err == nil { // a test may pause between its steps
			if a.reader.Find(at) > w.End { // it ended with a red of its own
				return nil
			}
			o.Until = min(a.reader.Find(at.Add(a.Still)), w.End)
		}
		still, err := marker.FindStill(ctx, a.reader, w.Start, w.End+1, o)
		if err != nil {
			return err
		}
		last, why = still.End, fmt.Sprintf("before a stillness of %v", still.For.Round(time.Millisecond))
	case a.EndEvent != "":
		at, err := a.lastEvent(w)
		if err != nil {
			return err
		}
		last, why = a.reader.Find(at), "at the event "+a.EndEvent
		if a.Begin != "" && !slices.Contains(EventKinds(a.reader), "ping") {
			if last, err = a.lastChange(w.Start, min(last, w.End)); err != nil {
				return err
			}
			why = "with the last change before the event " + a.EndEvent
		}
	case a.Limit > 0:
		start, err := a.reader.Meta(w.Start)
		if err != nil {
			return err
		}
		segment, err := a.reader.SegmentOf(w.Start)
		if err != nil {
			return err
		}
		// The frame that comes when the time is over is not of it; stamps may be off their beat by
		// less than half a period.
		half := time.Duration(segment.FemtoPeriod / 2e6)
		last, why = a.reader.Find(start.Sampled.Mid().Add(a.Limit-half)), fmt.Sprintf("%v after its first", a.Limit)
	default:
		return nil
	}
	if last < w.End {
		w.End = max(last, w.Start)
		w.warnings = append(w.warnings, fmt.Sprintf("the content ends with frame %d, %s", w.End, why))
		w.kind, w.Kind, w.Red = result.End, analyze.ByEnd, w.End+1
	}
	return nil
}

// lastChange returns the last frame of some that differs from the one before, or the last of all.
// Content without pings rests from there until the event.
func (a *analysis) lastChange(from, to int) (int, error) {
	last := to
	for step, err := range a.reader.Changes(from, to+1) {
		if err != nil {
			return 0, err
		}
		if step.Number > from && step.Change != nil && len(step.Change.Spans) > 0 {
			last = step.Number
		}
	}
	return last, nil
}

// lastEvent returns when the last event that ends the content came within a window.
func (a *analysis) lastEvent(w *window) (timeline.Time, error) {
	first, err := a.reader.Meta(w.Start)
	if err != nil {
		return 0, err
	}
	last, err := a.reader.Meta(w.End)
	if err != nil {
		return 0, err
	}
	end := last.Sampled.Latest
	if w.Red > w.End && w.Red < a.reader.Frames() { // the event of a run comes just before its red
		red, err := a.reader.Meta(w.Red)
		if err != nil {
			return 0, err
		}
		end = red.Sampled.Latest
	}
	found := timeline.Time(-1)
	for _, e := range a.reader.Events() {
		if e.Kind == a.EndEvent && e.At >= first.Sampled.Earliest && e.At <= end {
			found = max(found, e.At)
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("no event %s in frames %d to %d; use --still or --limit", a.EndEvent, w.Start, w.End)
	}
	return found, nil
}

// FromStart is the T0 of load figures that count from a window's first frame. An example is a video
// that begins with the command.
const FromStart = "start"

func (a *analysis) fromStart(w analyze.Window) *analyze.Moment {
	first, err := a.reader.Meta(w.Start)
	if err != nil {
		return nil
	}
	return &analyze.Moment{At: first.Sampled.Mid(), Uncertainty: first.Sampled.Width() / 2, Source: "first frame"}
}

// EventKinds are the kinds of a recording's events, in the order in which they came first.
func EventKinds(r *recording.Reader) (kinds []string) {
	seen := map[string]bool{}
	for _, e := range r.Events() {
		if !seen[e.Kind] {
			seen[e.Kind] = true
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// KindsText lists kinds of events in words.
func KindsText(kinds []string) string {
	const most = 20
	switch more := len(kinds) - most; {
	case len(kinds) == 0:
		return "no events"
	case more > 0:
		return fmt.Sprintf("events of kind %s and %d more", strings.Join(kinds[:most], ", "), more)
	}
	return "events of kind " + strings.Join(kinds, ", ")
}

// t0 finds the command that began what a window shows: the last one until its first change that
// does not come before the green was there. Without a green it may be a minute old. In a window
// that begins with an event, the command is the first one from there on.
func (a *analysis) t0(w *window) *analyze.Moment {
	kinds := []string{"navigation", "launch", "input"}
	if given := cmp.Or(a.T0, a.Begin); given != "" {
		kinds = []string{given}
	}
	start, err := a.reader.Meta(w.Start)
	if err != nil {
		return nil
	}
	since := start.Sampled.Earliest.Add(-time.Minute)
	if w.Kind == analyze.ByMarkers {
		if green, err := a.reader.Meta(max(w.greenFrom-1, 0)); err == nil {
			since = green.Sampled.Earliest
		}
	}
	var found *timeline.EventHead
	for _, e := range a.reader.Events() {
		if a.Begin != "" {
			if slices.Contains(kinds, e.Kind) && e.At >= start.Sampled.Earliest {
				found = &e
				break
			}
			continue
		}
		if slices.Contains(kinds, e.Kind) && e.At >= since && e.At <= start.Sampled.Latest &&
			(found == nil || e.At >= found.At) {
			found = &e
		}
	}
	if found == nil {
		return nil
	}
	return &analyze.Moment{At: found.At, Uncertainty: found.Uncertainty, Source: found.Source + " " + found.Kind}
}

// maskStrip takes the code strip out of a window, if its frames have one.
func (a *analysis) maskStrip(w *window) {
	segment, err := a.reader.SegmentOf(w.Start)
	if err != nil {
		return
	}
	region := rectangle(w.Region)
	d, err := strip.NewDecoder(segment.Layout, region)
	if err != nil {
		return // too small for one
	}
	for _, n := range []int{w.Start, (w.Start + w.End) / 2, w.End} {
		img, err := a.reader.Rows(n, d.Rows())
		if err != nil || d.Read(img).State == strip.None {
			continue
		}
		for _, b := range d.Geometry().Bounds() {
			w.masks = append(w.masks, frame.Region{X: b.Min.X, Y: b.Min.Y, Width: b.Dx(), Height: b.Dy()})
		}
		return
	}
}
