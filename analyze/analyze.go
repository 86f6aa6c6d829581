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

	FPS          FPSOptions
	Load         LoadOptions
	Response     ResponseOptions
	Tearing      TearingOptions
	Checkerboard CheckerboardOptions
	Scroll       ScrollOptions

	Progress func(frames int) // told how many more frames were gone through; from several goroutines
	Workers  int              // goroutines; 0: one per processor

	share int // fewest frames of a share; 0: chosen by what changes
}

// measures lists all there are, in the order in which they are shown.
func measures() []measure {
	return []measure{
		fpsMeasure(),
		loadhistMeasure(),
		heatmapMeasure(),
		tearingMeasure(),
		checkerboardMeasure(),
		speedIndexMeasure(),
		windowOpenMeasure(),
		responseMeasure(),
		scrollMeasure(),
		stripMeasure(),
	}
}

// Names returns the names of all measures, in the order in which they are shown.
func Names() []string {
	var names []string
	for _, m := range measures() {
		names = append(names, m.name)
	}
	return names
}

// Values returns the names of all values that a measure may have, the capture's quality too; nil if
// no measure is called so.
func Values(measure string) []string {
	if measure == QualityName {
		return qualityValues()
	}
	for _, m := range measures() {
		if m.name == measure {
			return m.values
		}
	}
	return nil
}

// CheckNames reports a name that is neither a measure's nor that of the capture's quality.
func CheckNames(names []string) error {
	for _, name := range names {
		if name != QualityName && !slices.Contains(Names(), name) {
			return fmt.Errorf("unknown measure %q; known: %s and %s", name, strings.Join(Names(), " "),
				QualityName)
		}
	}
	return nil
}

// choose returns the measures with these names, or all.
func choose(names []string) ([]measure, error) {
	all := measures()
	if len(names) == 0 {
		return all, nil
	}
	if err := CheckNames(names); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(m measure) bool { return !slices.Contains(names, m.name) }), nil
}

// Outcome has the results of one window.
type Outcome struct {
	Window  Window // with the region that was looked at
	Times   *Times
	Results []Result // one per measure that was asked for
}

// Find returns the result of a measure.
func (o *Outcome) Find(measure string) (*Result, bool) {
	for i := range o.Results {
		if o.Results[i].Measure == measure {
			return &o.Results[i], true
		}
	}
	return nil, false
}

// Analyze measures one window. A measure that cannot be taken is refused in its result, and the
// others still come out; the error is about the window as a whole, or the recording.
func Analyze(ctx context.Context, rec Recording, w Window, o Options) (*Outcome, error) {
	chosen, err := choose(o.Measures)
	if err != nil {
		return nil, err
	}
	rec = stoppable{rec, ctx}
	var broken damage
	broken.beside(rec, &w)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := newCase(rec, w, &o, &broken)
		if err != nil {
			return nil, err
		}
		found, err := c.measure(ctx, chosen)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var fault *unreadable
		if !errors.As(err, &fault) {
			return found, err
		}
		if err := broken.note(ctx, c, fault); err != nil {
			return nil, err
		}
	}
}

// measure takes the window's frames through some measures.
func (c *Case) measure(ctx context.Context, chosen []measure) (*Outcome, error) {
	run := run{Case: c}
	results := make([]Result, len(chosen))
	absent := make([]bool, len(chosen))
	parts, errs := c.begin(chosen)
	for i, err := range errs {
		if fault := (*unreadable)(nil); errors.As(err, &fault) {
			return nil, err
		}
		if err != nil {
			absent[i] = errors.Is(err, errAbsent) && len(c.Options.Measures) == 0
			results[i] = refused(&chosen[i], err)
			continue
		}
		p := parts[i]
		if !slices.Contains(run.parts, p) {
			run.parts = append(run.parts, p)
		}
		l, depends := p.(looker)
		run.pixels = run.pixels || chosen[i].pixels || depends && l.needsPixels()
	}
	run.pixels = run.pixels || c.Options.Tolerance > 0 || c.Window.MinPixels > 0
	if err := run.all(ctx); err != nil {
		return nil, err
	}
	for i, p := range parts {
		if p == nil || errs[i] != nil {
			continue
		}
		if s, ok := p.(shared); ok {
			results[i] = s.resultOf(chosen[i].name)
		} else {
			results[i] = p.result()
		}
		results[i].Measure, results[i].Version = chosen[i].name, chosen[i].version
		results[i] = results[i].complete()
	}
	found := &Outcome{Window: c.Window, Times: c.Times}
	for i := range results {
		if !absent[i] {
			found.Results = append(found.Results, results[i])
		}
	}
	return found, nil
}

// begin prepares some measures side by side: several look through the window first, or at some of
// its frames. Each has a part, or a reason why not.
func (c *Case) begin(chosen []measure) ([]part, []error) {
	parts, errs := make([]part, len(chosen)), make([]error, len(chosen))
	var group errgroup.Group
	group.SetLimit(c.workers())
	for i := range chosen {
		group.Go(func() error {
			parts[i], errs[i] = chosen[i].begin(c)
			return nil
		})
	}
	group.Wait() // its goroutines keep their errors
	return parts, errs
}

// frameMemory is the largest size of the frames that one analysis holds at once, in bytes.
const frameMemory = 2 << 30

// workers returns the number of goroutines at work. Large frames have fewer, so that their frames
// fit into frameMemory.
func (c *Case) workers() int {
	n := c.Options.Workers
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	const held = 16 // frames of one goroutine, at most: read, compared, converted
	return max(1, min(n, frameMemory/(held*c.Layout.Size)))
}

// images returns how many whole images one measure may keep.
func (c *Case) images() int {
	return max(2, min(maxImages, frameMemory/4/c.Layout.Size))
}

// run takes a window's frames through the measures' parts.
type run struct {
	*Case
	parts  []part
	pixels bool
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
	forks := make([][]part, shares)
	forks[0] = r.parts
	for k := 1; k < shares; k++ {
		for _, p := range r.parts {
			forks[k] = append(forks[k], p.fork())
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
			r.parts[i].merge(p)
		}
	}
	return nil
}

// share takes frames from up to, and not including, to through some parts.
func (r *run) share(ctx context.Context, parts []part, from, to int) error {
	feed := feed{Case: r.Case, pixels: r.pixels, early: followers(parts)}
	told := from
	return r.walk(from, to, r.pixels, func(step *frame.Step) error {
		f, err := feed.frame(step)
		if err != nil {
			return err
		}
		for _, p := range parts {
			p.add(f)
		}
		const often = 64
		if step.Number+1-told >= often || step.Number+1 == to {
			if r.Options.Progress != nil {
				r.Options.Progress(step.Number + 1 - told)
			}
			told = step.Number + 1
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
}
