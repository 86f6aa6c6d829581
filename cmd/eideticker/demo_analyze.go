package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/site"
)

// analyze reads the recording back: where green and red stand, and what each frame between them says.
func (d *demo) analyze(r *recording.Reader) error {
	layout, err := singleLayout(r)
	if err != nil {
		return err
	}
	windows, err := d.findWindows(r)
	if err != nil {
		return err
	}
	if len(windows) != len(d.played.reports) {
		return fmt.Errorf("%s played and %s found between green and red", plural(len(d.played.reports), "page was"), plural(len(windows), "window"))
	}
	d.summary = d.summarize(r)
	for i, w := range windows {
		page, err := d.readPage(r, layout, w, d.played.reports[i])
		if err != nil {
			return fmt.Errorf("page %q: %w", d.played.reports[i].Page.Name, err)
		}
		d.summary.Pages = append(d.summary.Pages, page)
		d.summary.Total.add(page)
	}
	return nil
}

func singleLayout(r *recording.Reader) (*frame.Layout, error) {
	segments := r.Segments()
	if len(segments) != 1 {
		return nil, fmt.Errorf("the recording has %s of format, want 1", plural(len(segments), "segment"))
	}
	return segments[0].Layout, nil
}

func (d *demo) findWindows(r *recording.Reader) ([]marker.Window, error) {
	m := marker.New(marker.Options{})
	p := d.phase("looking for green and red", r.Frames())
	defer p.end()
	player, err := r.Play(0, r.Frames())
	if err != nil {
		return nil, err
	}
	defer player.Close()
	for player.Next() {
		if err := d.ctx.Err(); err != nil {
			return nil, err
		}
		step := frame.Step{Number: player.Number(), Meta: player.Meta(), Change: player.Change(), Image: player.Image()}
		if err := m.Add(&step, nil); err != nil {
			return nil, err
		}
		p.set(player.Number() + 1)
	}
	if err := player.Err(); err != nil {
		return nil, err
	}
	return m.Finish()
}

// readPage reads the strip of every frame of a page, from the first content frame to the last.
func (d *demo) readPage(r *recording.Reader, l *frame.Layout, w marker.Window, report site.Report) (demoPage, error) {
	decoder, err := strip.NewDecoder(l, w.Region)
	if err != nil {
		return demoPage{}, err
	}
	account := strip.NewAccount(report.Number)
	player, err := r.Play(w.Start, w.End+1)
	if err != nil {
		return demoPage{}, err
	}
	defer player.Close()
	for player.Next() {
		if err := d.ctx.Err(); err != nil {
			return demoPage{}, err
		}
		account.Add(player.Number(), len(player.Change().Spans) > 0, decoder.Read(player.Image()))
	}
	if err := player.Err(); err != nil {
		return demoPage{}, err
	}
	return describePage(r, w, report, account.Close(report.IDs()))
}

// describePage puts the window, the page's own report and the strip's account side by side.
func describePage(r *recording.Reader, w marker.Window, report site.Report, sum strip.Summary) (demoPage, error) {
	start, err := r.Meta(w.Start)
	if err != nil {
		return demoPage{}, err
	}
	red, err := r.Meta(w.Red)
	if err != nil {
		return demoPage{}, err
	}
	page := demoPage{
		Name: report.Page.Name, Title: report.Page.Title,
		GreenFrame: w.Green, FirstFrame: w.Start, LastFrame: w.End, RedFrame: w.Red,
		demoCounts: demoCounts{
			Frames: sum.Frames, UniqueFrames: sum.Changed, DistinctIDs: sum.Distinct,
			DrawnFrames: sum.Drawn, UnseenFrames: len(sum.Unseen), LostFrames: lostBetween(r.Gaps(), w.Start, w.End),
			Disagreements: len(sum.Disagree) + len(sum.Undrawn),
		},
		DurationNS: red.Sampled.Mid().Sub(start.Sampled.Mid()).Nanoseconds(),
		ClaimedFPS: report.ClaimedFPS, Strip: sum, Warnings: report.Warnings,
	}
	if page.DurationNS > 0 {
		page.SeenFPS = float64(page.UniqueFrames) / (float64(page.DurationNS) / 1e9)
	}
	return page, nil
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
