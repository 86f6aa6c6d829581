package session

import (
	"context"
	"fmt"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/groundtruth"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// measurement is the result of an analysis. The known part is valid on an error too.
type measurement struct {
	found  *runfolder.Found // nil: nothing
	by     *Measured
	checks checks
}

// checks compare measured with drawn content.
type checks struct {
	made            int
	failed, notMade []string
}

// measure analyses a recording as the test asks. It compares the results with the page's report.
func (r *run) measure(ctx context.Context, p *pages, t *take, file *recording.Reader) (m measurement, err error) {
	settings := r.settings(p, &t.Played)
	if m.found, err = runfolder.Run(ctx, file, settings, r.Program, r.Progress); err != nil {
		return m, fmt.Errorf("measure the recording: %w", err)
	}
	m.by = measuredBy(settings)
	r.log.Info("measured")
	if m.checks, err = r.compareWithDrawn(ctx, file, m.found, t); err != nil { // the numbers stay valid
		r.note("what was measured could not be held against what the page drew: %v", err)
	}
	return m, nil
}

// settings returns the settings of the analysis.
func (r *run) settings(p *pages, played *controller.Played) runfolder.Settings {
	t := r.Test
	a := runfolder.Settings{
		Measures: t.Measures, Name: t.Name, T0: t.T0, Markers: true,
		Still: t.Sync.Still, EndEvent: t.Sync.Event,
		Tolerance: t.Tolerance.N, AutoTolerance: t.Tolerance.Auto,
		FPS: analyze.FPSOptions{Cadence: t.Cadence}, Response: r.response(played),
	}
	if t.Sync.Limit > 0 {
		a.EndEvent = controller.Ended
	}
	if p.site != nil {
		page := p.site.Playlist()[0]
		if page.Markers {
			a.Nonce = p.nonce
		}
		a.Tearing.Disjoint = page.Flip != nil // known of test pages only
	}
	place := func(region frame.Region) frame.Region {
		if t.Places != suite.Screen { // relative to the content
			region.X += played.Area.X
			region.Y += played.Area.Y
		}
		return region
	}
	if t.Region != (frame.Region{}) {
		region := place(t.Region)
		a.Region = &region
	}
	for _, m := range t.Masks {
		a.Masks = append(a.Masks, place(m))
	}
	return a
}

// response returns the definition of an answer to pings.
func (r *run) response(played *controller.Played) (o analyze.ResponseOptions) {
	if len(played.Answers) == 0 {
		o.Kinds = []string{input.EventKind} // for example, a turn of a wheel is answered by scrolling
		return o
	}
	first := played.Answers[0]
	o.Kinds, o.Limit = []string{controller.Asked}, first.Timeout
	if first.Region != played.Area { // the content's area is the default
		o.Region = first.Region
	}
	if c := first.Colour; c != nil {
		o.Colour = &analyze.Colour{R: c.R, G: c.G, B: c.B}
	}
	for _, other := range played.Answers[1:] {
		if other.Region != first.Region || (other.Colour == nil) != (first.Colour == nil) || first.Colour != nil &&
			*other.Colour != *first.Colour {
			r.note("ping steps expect different answers: response is measured by what the first expects")
			break
		}
	}
	return o
}

// compareWithDrawn compares the results of a test page with its report. The report describes all
// pixels. So a test with a region, masks or a tolerance is not compared.
func (r *run) compareWithDrawn(ctx context.Context, file *recording.Reader, found *runfolder.Found,
	take *take) (c checks, err error) {
	t := r.Test
	if take.report == nil || len(found.Outcomes) != 1 || found.Outcomes[0] == nil || t.Region != (frame.Region{}) ||
		len(t.Masks) > 0 || t.Tolerance.Auto || t.Tolerance.N > 0 {
		return c, nil
	}
	_, end := r.Progress.Phase("holding it against what was drawn", 0)
	defer end()
	page, err := groundtruth.Read(ctx, groundtruth.Input{Reader: file, Outcome: found.Outcomes[0],
		Masks: found.Masks[0], Report: *take.report, Measures: t.Measures})
	if err != nil {
		return c, err
	}
	w := &found.Results.Windows[0]
	w.Checks, w.Claims = page.Checks, page.Claims
	for i := range page.Checks {
		switch one := &page.Checks[i]; {
		case one.Unchecked:
			c.notMade = append(c.notMade, one.What)
			continue
		case one.Failed():
			c.failed = append(c.failed, one.What)
			r.log.Warn("not measured as it was drawn", "what", one.What, "measured", one.Measured, "drawn", one.Drawn,
				"note", one.Note)
		}
		c.made++
	}
	return c, nil
}
