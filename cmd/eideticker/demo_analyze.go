package main

import (
	"fmt"
	"image"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/netsim/site"
)

// analyze measures what stands between each green and its red, reads the strip of the same frames, and holds the two against each other.
func (d *demo) analyze(r *recording.Reader) error {
	found, err := analysis.Run(d.ctx, r, analysis.Settings{
		Markers: true, Nonce: d.played.nonce, Variants: []string{"pixel", "histogram"},
		Response: analyze.ResponseOptions{Kinds: []string{controller.Asked}},
	}, program(), d.env)
	if err != nil {
		return err
	}
	if len(found.Outcomes) != len(d.played.reports) {
		return fmt.Errorf("%s played and %s found between green and red %q",
			plural(len(d.played.reports), "page was"), plural(len(found.Outcomes), "window"), found.Results.Notes)
	}
	d.found = found
	d.summary = d.summarize(r)
	found.Results.Recording.Name = "demo"
	d.summary.Notes = append(d.summary.Notes, found.Results.Notes...)
	for i, o := range found.Outcomes {
		page, err := d.readPage(r, o, found.Masks[i], d.played.reports[i])
		if err != nil {
			return fmt.Errorf("page %q: %w", d.played.reports[i].Page.Name, err)
		}
		w := &found.Results.Windows[i]
		w.Name = page.Name
		w.Checks, w.Claims = page.forReport()
		d.summary.Pages = append(d.summary.Pages, page)
		d.summary.Total.add(page)
	}
	return nil
}

// readPage reads the strip of every frame of a page, from the first content frame to the last.
func (d *demo) readPage(r *recording.Reader, o *analyze.Outcome, masks []frame.Region, report site.Report) (demoPage, error) {
	segment, err := r.SegmentOf(o.Window.Start)
	if err != nil {
		return demoPage{}, err
	}
	region := o.Window.Region
	decoder, err := strip.NewDecoder(segment.Layout, image.Rect(region.X, region.Y, region.X+region.Width, region.Y+region.Height))
	if err != nil {
		return demoPage{}, err
	}
	account := strip.NewAccount(report.Number)
	truth := demoTruth{report: report, outcome: o}
	for step, err := range r.Steps(o.Window.Start, o.Window.End+1) {
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return demoPage{}, err
		}
		reading := decoder.Read(step.Image)
		account.Add(step.Number, len(step.Change.Spans) > 0, reading)
		truth.add(step.Number, reading)
	}
	if report.Page.Flip != nil {
		if err := d.measureTearing(r, &truth, masks); err != nil {
			return demoPage{}, err
		}
	}
	return describePage(r, &truth, account.Close(report.IDs())), nil
}

// measureTearing measures tearing once more, with the images that the strip tells: those that are torn most of the time are not found otherwise.
func (d *demo) measureTearing(r *recording.Reader, t *demoTruth, masks []frame.Region) error {
	images := t.imageFrames()
	old, ok := t.outcome.Find("tearing")
	if images == nil || !ok {
		return nil
	}
	o, err := analyze.Analyze(d.ctx, r, t.outcome.Window, analyze.Options{
		Measures: []string{"tearing"}, Masks: masks, Tearing: analyze.TearingOptions{Images: images},
	})
	if err == nil {
		*old = o.Results[0]
	}
	return err
}

// describePage puts what was measured, what the strip says and what the page says of itself side by side.
func describePage(r *recording.Reader, t *demoTruth, sum strip.Summary) demoPage {
	o, report := t.outcome, t.report
	w := o.Window
	page := demoPage{
		Name: report.Page.Name, Title: report.Page.Title,
		GreenFrame: w.Green, FirstFrame: w.Start, LastFrame: w.End, RedFrame: w.Red,
		demoCounts: demoCounts{
			Frames: sum.Frames, UniqueFrames: len(t.unique()), DistinctIDs: sum.Distinct,
			DrawnFrames: sum.Drawn, UnseenFrames: len(sum.Unseen), LostFrames: lostBetween(r.Gaps(), w.Start, w.End),
			Disagreements: len(t.disagreements()) + len(sum.Undrawn) + sum.Foreign,
		},
		DurationNS: o.Times.At(w.Red).Sub(o.Times.At(w.Start)).Nanoseconds(),
		ClaimedFPS: report.ClaimedFPS, Strip: sum, Warnings: report.Warnings, Results: o.Results, Truth: report.Truth, Checks: t.checks(),
	}
	if page.DurationNS > 0 {
		page.SeenFPS = float64(page.UniqueFrames) / (float64(page.DurationNS) / 1e9)
	}
	return page
}

// lostBetween sums the gaps that stand between the first frame and the last.
func lostBetween(gaps []recording.Gap, first, last int) int {
	n := 0
	for _, g := range gaps {
		if g.Before > first && g.Before <= last {
			n += int(g.Count)
		}
	}
	return n
}
