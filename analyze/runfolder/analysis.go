package runfolder

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// Found is what an analysis found: the results for a file, and what pictures are made of.
type Found struct {
	Results  result.Results
	Outcomes []*analyze.Outcome // one for each of Results.Windows
	Masks    [][]frame.Region   // of each window
	Channels []*payload.Account // of each window's payload block; nil: it has none
	Problems []marker.Problem   // problems with markers
}

// Progress reports the phases of an analysis.
type Progress interface {
	// Phase begins a phase over a number of frames; 0: an unknown number. Call advance with the
	// number of further finished frames, and end at the end. Both may be called from several
	// goroutines.
	Phase(what string, frames int) (advance func(frames int), end func())
}

// lostError says that frames are missing where, with Settings.Strict, none may.
type lostError struct {
	Lost   int
	Before []int // stored frames just before which frames are missing, and stored ones that cannot be read
}

func (e *lostError) Error() string {
	return fmt.Sprintf("--strict: %d frames are missing in windows, before or at frame %s", e.Lost, numbers(e.Before))
}

func numbers(list []int) string {
	const most = 8
	text := fmt.Sprint(list[:min(len(list), most)])
	text = text[1 : len(text)-1]
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return text
}

// analysis is one at work.
type analysis struct {
	problems []marker.Problem // with markers, as far as they were looked for
	left     []error          // windows that could not be measured, and why
	Settings
	reader   *recording.Reader
	progress Progress
	// returns the known results of a window, or nil; nil: no window has any
	known func(*window) *result.Window
}

// Run analyses a recording. A window that cannot be measured is described in the notes, and the
// others are measured. If none is left, the reasons are the error, and the results without windows
// are returned along with it. With Settings.Strict the results are returned along with a
// *lostError. If requested markers are missing, the marker.Error with the findings is returned
// along with the results.
func Run(ctx context.Context, r *recording.Reader, s Settings, program string, progress Progress) (*Found, error) {
	return (&analysis{Settings: s, reader: r, progress: progress}).run(ctx, program)
}

func (a *analysis) run(ctx context.Context, program string) (*Found, error) {
	r, s := a.reader, &a.Settings
	found := &Found{Results: result.Results{
		Recording: DescribeRecording(r), Environment: environment(r, program), Settings: s.describe(),
		Quality: a.quality(),
	}}
	found.Results.Recording.Name = s.Name
	if slices.Equal(s.Measures, []string{quality.Name}) {
		return found, nil
	}
	windows, notes, err := a.windows(ctx)
	found.Problems = a.problems
	var none *marker.Error
	if errors.As(err, &none) {
		found.Results.Notes = []string{err.Error()}
		return found, err
	}
	if err != nil {
		return nil, err
	}
	found.Results.Notes = notes
	var lost lostError
	var unreadable []int
	for i := range windows {
		windows[i].number, windows[i].of = i+1, len(windows)
		described, outcome, err := a.results(ctx, &windows[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			a.passOver(&windows[i], err)
			continue
		}
		for _, l := range described.Times.Lost {
			lost.Lost += int(l.Frames)
			lost.Before = append(lost.Before, l.Before)
		}
		if outcome != nil {
			unreadable = append(unreadable, outcome.Unreadable()...)
		}
		found.Results.Windows = append(found.Results.Windows, described)
		found.Outcomes = append(found.Outcomes, outcome)
		found.Masks = append(found.Masks, windows[i].masks)
		found.Channels = append(found.Channels, windows[i].channel)
	}
	if len(unreadable) > 0 {
		found.Results.Quality = a.quality(unreadable...)
		lost.Lost += len(unreadable)
		lost.Before = append(lost.Before, unreadable...)
	}
	for _, err := range a.left {
		found.Results.Notes = append(found.Results.Notes, err.Error())
	}
	switch {
	case len(found.Results.Windows) == 0:
		return found, errors.Join(a.left...)
	case s.Strict && lost.Lost > 0:
		return found, &lost
	}
	return found, nil
}

// quality is that of the capture. The account does not include losses after the last whole record
// of an unclosed file.
func (a *analysis) quality(unreadable ...int) analyze.Result {
	in := a.reader.Info()
	q := quality.Of(a.reader, in.OwnClock, unreadable...)
	if !in.Complete {
		q.Warnings = append(q.Warnings,
			"the recording was not closed: it was cut off, or is still written, and the frames missing at its end "+
				"are not known; eideticker info shows its state, eideticker repair closes it")
	}
	return q
}

// results measures a window, unless it was measured before. In that case the outcome is nil.
func (a *analysis) results(ctx context.Context, w *window) (result.Window, *analyze.Outcome, error) {
	if a.known != nil {
		if d := a.known(w); d != nil {
			return *d, nil, nil
		}
	}
	outcome, err := a.measure(ctx, w)
	if err != nil {
		return result.Window{}, nil, err
	}
	return a.describeWindow(w, outcome), outcome, nil
}

func (a *analysis) measure(ctx context.Context, w *window) (*analyze.Outcome, error) {
	what := "measuring"
	if w.Name != "" {
		what += " " + w.Name
	}
	if w.of > 1 {
		what += fmt.Sprintf(" window %d of %d", w.number, w.of)
	}
	advance, end := a.progress.Phase(what, w.End-w.Start+1)
	defer end()
	o := a.options(w)
	o.OwnClock, o.Progress = a.reader.Info().OwnClock, advance
	return analyze.Analyze(ctx, a.reader, w.Window, o)
}

// options returns the options for a window.
func (a *analysis) options(w *window) analyze.Options {
	o := analyze.Options{
		Measures:  slices.DeleteFunc(slices.Clone(a.Measures), func(s string) bool { return s == quality.Name }),
		Masks:     append(slices.Clone(a.Masks), w.masks...),
		Tolerance: w.tolerance,
		Load:      load.Options{Variants: a.Variants},
		FPS:       a.FPS, Tearing: a.Tearing, Checkerboard: a.Checkerboard, Response: a.Response,
	}
	a.path(&o.Response)
	if a.Region != nil {
		o.Region = *a.Region
	}
	return o
}

// DescribeRecording says what a recording is, without its name and file.
func DescribeRecording(r *recording.Reader) result.Recording {
	in := r.Info()
	d := result.Recording{
		ID: fmt.Sprintf("%x", in.ID), Frames: r.Frames(), StartedWallNS: in.Created.UnixNano(), OwnClock: in.OwnClock,
		Unclosed: !in.Complete,
	}
	for _, g := range r.Gaps() {
		d.Lost += g.Count
	}
	if s := r.Segments(); len(s) > 0 {
		f := s[0].Layout.Format
		d.Width, d.Height, d.PixelFormat = f.Width, f.Height, f.Pixel.String()
		d.PeriodNS = (s[0].FemtoPeriod + 500_000) / 1_000_000
	}
	first, errFirst := r.Meta(0)
	last, errLast := r.Meta(r.Frames() - 1)
	if errFirst == nil && errLast == nil {
		d.DurationNS = last.Sampled.Mid().Sub(first.Sampled.Mid()).Nanoseconds()
	}
	return d
}

func (a *analysis) describeWindow(w *window, o *analyze.Outcome) result.Window {
	red := analyze.None // of other kinds it is only the frame behind the last
	if w.Kind == analyze.ByMarkers {
		red = w.Red
	}
	d := result.Window{
		Name: w.Name, Kind: w.kind, Green: w.Green, Start: w.Start, End: w.End, Red: red, Region: box(o.Window.Region),
		StartNS: int64(o.Times.At(w.Start)), EndNS: int64(o.Times.At(max(w.End, o.Window.Red))),
		Tolerance: w.tolerance, MinPixels: w.MinPixels, Noise: w.noise,
		Channel: w.described, Results: o.Results, Warnings: append(slices.Clone(w.warnings), o.Losses()...),
	}
	for _, m := range append(slices.Clone(a.Masks), w.masks...) {
		d.Masks = append(d.Masks, box(m))
	}
	if t := w.T0; t != nil {
		d.T0 = &result.T0{AtNS: int64(t.At), UncertaintyNS: int64(t.Uncertainty), Source: t.Source}
	}
	first := w.Start
	if w.Green != analyze.None {
		first = w.Green
	}
	last := max(w.End, o.Window.Red)
	if last == w.End && w.End > w.Start && o.Times.Period() == 0 { // as measures do where no beat says how long it was
		d.Warnings = append(slices.Clone(d.Warnings),
			fmt.Sprintf("the duration of the last picture is not known: durations count the %v of the one before it",
				o.Times.At(w.End).Sub(o.Times.At(w.End-1)).Round(time.Microsecond)))
	}
	d.Times = a.frameTimes(o.Times, o.Times.At(w.Start), first, last)
	return d
}

func (a *analysis) frameTimes(times *analyze.Times, zero timeline.Time, first, last int) result.FrameTimes {
	t := result.FrameTimes{First: first}
	for n := first; n <= last; n++ {
		b := times.Bounds(n)
		t.Time = append(t.Time, int64(times.At(n)-zero))
		t.Earliest = append(t.Earliest, int64(b.Earliest-zero))
		t.Latest = append(t.Latest, int64(b.Latest-zero))
	}
	for _, g := range a.reader.Gaps() {
		if g.Before > first && g.Before <= last {
			t.Lost = append(t.Lost, result.Loss{Before: g.Before, Frames: g.Count, Cause: g.Cause.String()})
		}
	}
	return t
}

func rectangle(r frame.Region) image.Rectangle {
	return image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height)
}
