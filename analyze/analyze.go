package analyze

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/analyze/checkerboard"
	"github.com/eideticker/eideticker/analyze/codestrip"
	"github.com/eideticker/eideticker/analyze/fps"
	"github.com/eideticker/eideticker/analyze/heatmap"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/scroll"
	"github.com/eideticker/eideticker/analyze/tearing"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/capture/frame"
)

// Options of an analysis. The zero value measures all that applies, exactly, in all of the window's
// region.
type Options struct {
	Measures  []string       // names; empty: all that apply
	Region    frame.Region   // in place of the window's; empty: the window's
	Masks     []frame.Region // pixels that do not count
	Tolerance int            // τ: pixels differ if the greatest difference among R, G and B exceeds it
	OwnClock  bool           // the recording's times are its source's own

	FPS          fps.Options
	Load         load.Options
	Response     response.Options
	Tearing      tearing.Options
	Checkerboard checkerboard.Options
	Scroll       scroll.Options

	Progress func(frames int) // told how many more frames were gone through; from several goroutines
	Workers  int              // goroutines; 0: one per processor

	MinShare int // fewest frames of a share, for tests; 0: chosen by what changes
}

// measures lists all there are, in the order in which they are shown.
func measures(o *Options) []measure.Measure {
	return []measure.Measure{
		fps.Measure(o.FPS),
		load.Histogram(o.Load),
		heatmap.Measure(),
		tearing.Measure(o.Tearing),
		checkerboard.Measure(o.Checkerboard),
		load.SpeedIndex(o.Load),
		load.WindowOpen(o.Load),
		response.Measure(o.Response),
		scroll.Measure(o.Scroll),
		codestrip.Measure(),
	}
}

// Names returns the names of all measures, in the order in which they are shown.
func Names() []string {
	var names []string
	for _, m := range measures(new(Options)) {
		names = append(names, m.Name)
	}
	return names
}

// Values returns the names of all values that a measure may have, the capture's quality too; nil if
// no measure is called so.
func Values(measure string) []string {
	if measure == quality.Name {
		return quality.Values()
	}
	if measure == vitals.Name {
		return vitals.Values()
	}
	for _, m := range measures(new(Options)) {
		if m.Name == measure {
			return m.Values
		}
	}
	return nil
}

// CheckNames reports a name that is neither a measure's nor that of the capture's quality.
func CheckNames(names []string) error {
	for _, name := range names {
		if name != quality.Name && !slices.Contains(Names(), name) {
			return fmt.Errorf("unknown measure %q; known: %s and %s", name, strings.Join(Names(), " "),
				quality.Name)
		}
	}
	return nil
}

// choose returns the measures that options name, or all.
func choose(o *Options) ([]measure.Measure, error) {
	all := measures(o)
	if len(o.Measures) == 0 {
		return all, nil
	}
	if err := CheckNames(o.Measures); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(m measure.Measure) bool { return !slices.Contains(o.Measures, m.Name) }), nil
}

// Outcome has the results of one window.
type Outcome struct {
	Window  measure.Window // with the region that was looked at
	Times   *measure.Times
	Results []measure.Result // one per measure that was asked for
}

// Find returns the result of a measure.
func (o *Outcome) Find(measure string) (*measure.Result, bool) {
	for i := range o.Results {
		if o.Results[i].Measure == measure {
			return &o.Results[i], true
		}
	}
	return nil, false
}

// Analyze measures one window. A measure that cannot be taken is refused in its result, and the
// others still come out; the error is about the window as a whole, or the recording.
func Analyze(ctx context.Context, rec measure.Recording, w measure.Window, o Options) (*Outcome, error) {
	chosen, err := choose(&o)
	if err != nil {
		return nil, err
	}
	rec = stoppable{rec, ctx}
	var broken damage
	broken.beside(rec, &w)
	common := measure.Options{Measures: o.Measures, Region: o.Region, Masks: o.Masks, Tolerance: o.Tolerance,
		OwnClock: o.OwnClock}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := measure.NewCase(rec, w, common, broken.broken)
		if err != nil {
			return nil, err
		}
		found, err := (&run{Case: c, options: &o}).measure(ctx, chosen)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var fault *measure.UnreadableError
		if !errors.As(err, &fault) {
			return found, err
		}
		if err := broken.note(ctx, c, fault); err != nil {
			return nil, err
		}
	}
}

// measure takes the window's frames through some measures.
func (r *run) measure(ctx context.Context, chosen []measure.Measure) (*Outcome, error) {
	results := make([]measure.Result, len(chosen))
	absent := make([]bool, len(chosen))
	parts, errs := r.begin(chosen)
	for i, err := range errs {
		if fault := (*measure.UnreadableError)(nil); errors.As(err, &fault) {
			return nil, err
		}
		if err != nil {
			absent[i] = errors.Is(err, measure.ErrAbsent) && len(r.Measures) == 0
			results[i] = refused(&chosen[i], err)
			continue
		}
		p := parts[i]
		if !slices.Contains(r.parts, p) {
			r.parts = append(r.parts, p)
		}
		l, depends := p.(looker)
		r.pixels = r.pixels || chosen[i].Pixels || depends && l.NeedsPixels()
	}
	r.pixels = r.pixels || r.Tolerance > 0 || r.Window.MinPixels > 0
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	for i, p := range parts {
		if p == nil || errs[i] != nil {
			continue
		}
		if s, ok := p.(shared); ok {
			results[i] = s.ResultOf(chosen[i].Name)
		} else {
			results[i] = p.Result()
		}
		results[i].Measure, results[i].Version = chosen[i].Name, chosen[i].Version
		results[i] = results[i].Complete()
	}
	found := &Outcome{Window: r.Window, Times: r.Times}
	for i := range results {
		if !absent[i] {
			found.Results = append(found.Results, results[i])
		}
	}
	return found, nil
}

// begin prepares some measures side by side: several look through the window first, or at some of
// its frames. Each has a part, or a reason why not.
func (r *run) begin(chosen []measure.Measure) ([]measure.Part, []error) {
	parts, errs := make([]measure.Part, len(chosen)), make([]error, len(chosen))
	var group errgroup.Group
	group.SetLimit(r.workers())
	for i := range chosen {
		group.Go(func() error {
			parts[i], errs[i] = chosen[i].Begin(r.Case)
			return nil
		})
	}
	group.Wait() // its goroutines keep their errors
	return parts, errs
}

// workers returns the number of goroutines at work. Large frames have fewer, so that their frames
// fit into FrameMemory.
func (r *run) workers() int {
	n := r.options.Workers
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	const held = 16 // frames of one goroutine, at most: read, compared, converted
	return max(1, min(n, measure.FrameMemory/(held*r.Layout.Size)))
}

// run takes a window's frames through the measures' parts.
type run struct {
	*measure.Case
	options *Options
	parts   []measure.Part
	pixels  bool
}

// all splits the window, goes through the shares side by side, and merges what they found in their
// order. There are more shares than goroutines, since some are much more work than others.
func (r *run) all(ctx context.Context) error {
	workers := r.workers()
	cuts, err := r.shares(workers)
	if err != nil {
		return err
	}
	shares := len(cuts) - 1
	forks := make([][]measure.Part, shares)
	forks[0] = r.parts
	for k := 1; k < shares; k++ {
		for _, p := range r.parts {
			forks[k] = append(forks[k], p.Fork())
		}
	}
	var next atomic.Int32
	group, ctx := errgroup.WithContext(ctx)
	for range min(workers, shares) {
		group.Go(func() error {
			for {
				k := int(next.Add(1)) - 1
				if k >= shares {
					return nil
				}
				if err := r.share(ctx, forks[k], cuts[k], cuts[k+1]); err != nil {
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, later := range forks[1:] {
		for i, p := range later {
			r.parts[i].Merge(p)
		}
	}
	return nil
}

// share takes frames from up to, and not including, to through some parts.
func (r *run) share(ctx context.Context, parts []measure.Part, from, to int) error {
	feed := measure.NewFeed(r.Case, parts, r.pixels)
	told := from
	return r.Walk(from, to, r.pixels, func(step *frame.Step) error {
		f, err := feed.Frame(step)
		if err != nil {
			return err
		}
		for _, p := range parts {
			p.Add(f)
		}
		const often = 64
		if step.Number+1-told >= often || step.Number+1 == to {
			if r.options.Progress != nil {
				r.options.Progress(step.Number + 1 - told)
			}
			told = step.Number + 1
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
}

// shared is a part that several measures begin with. It is added to, forked and merged once, and
// asked for the result of each.
type shared interface {
	ResultOf(name string) measure.Result
}

// looker is a part that knows only when it begins whether changes are enough for it.
type looker interface {
	NeedsPixels() bool
}

// refused is the result of a measure that cannot be taken.
func refused(m *measure.Measure, err error) measure.Result {
	return measure.Result{Measure: m.Name, Version: m.Version, State: measure.Refused, Refusal: err.Error()}.Complete()
}
