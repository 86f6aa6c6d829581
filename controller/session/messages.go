package session

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/page"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/certify"
	"github.com/eideticker/eideticker/netsim/site"
)

// drawMessages sets the form in which test pages draw messages. Exact colours need a path that
// keeps them.
func (p *pages) drawMessages(source capture.Info, form payload.Form) {
	switch {
	case p.site == nil:
		return
	case form != "":
	case source.Format.Pixel.IsRGB() && certify.KeepsColours(source):
		form = payload.Exact
	default:
		form = payload.Cells
	}
	p.site.SetPayload(payload.Spec(form))
}

// pageTrace has what a page claimed in its messages.
type pageTrace struct {
	claims   []page.Claim
	clock    activity.Clock
	skipped  int64
	warnings []string
}

// addMessages adds the page's count of its messages to the results, and its claims to the events
// of their profile. It returns the claims; nil: there are none, or their times are unknown. A
// profile of engines must be there before.
func addMessages(found *runfolder.Found, report *site.Report) *pageTrace {
	if report == nil || report.Told == nil || len(found.Results.Windows) != 1 {
		return nil
	}
	w := &found.Results.Windows[0]
	if w.Channel == nil {
		w.Warnings = append(w.Warnings, "the page sent messages, but no frame shows one")
		return nil
	}
	w.Channel.Told, w.Channel.Unsent = report.Told.Messages, report.Told.Unsent
	if report.Told.Unsent > 0 {
		w.Warnings = append(w.Warnings, fmt.Sprintf("the content ended before %d of %d messages of the page were drawn",
			report.Told.Unsent, report.Told.Messages))
	}
	account := found.Channels[0]
	if account == nil || report.Zero == (timeline.Interval{}) || !report.Zero.Valid() {
		return nil
	}
	if account.Restarts > 0 { // the report has the clock of one page
		w.Warnings = append(w.Warnings, "the page was loaded again: times of its messages are unknown, so its "+
			"reports are not among the events")
		return nil
	}
	t := &pageTrace{}
	t.claims, t.skipped = page.Read(account.Messages)
	if len(t.claims) == 0 {
		return nil
	}
	var agrees bool
	if t.clock, agrees = page.Clock(report.Zero, account); !agrees {
		t.warnings = append(t.warnings, "Frames show packets before the page drew them: its clock is not reliable.")
	}
	found.Results.Profile = page.AddTo(found.Results.Profile, t.claims, t.clock, found.Results.Windows)
	found.Results.Profile.Warnings = append(found.Results.Profile.Warnings, t.warnings...)
	return t
}

// write writes the trace of the claims in a run folder.
func (t *pageTrace) write(dir, recording, browser string) error {
	dir = filepath.Join(dir, activity.TracesDir, page.TraceName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info := page.Info(recording, browser, t.clock)
	info.Warnings = append(info.Warnings, t.warnings...)
	if t.skipped > 0 {
		info.Skipped = map[string]int64{"messages without times": t.skipped}
	}
	w, err := activity.NewWriter(dir, info)
	if err != nil {
		return err
	}
	errWrite := page.Write(t.claims, w)
	if _, err = w.Close(); err == nil {
		err = errWrite
	}
	return err
}

// writeMessages writes the trace of the page's claims, if there are any.
func (r *run) writeMessages(t *pageTrace, recording string) {
	if t == nil {
		return
	}
	if err := t.write(r.Dir, recording, r.Browser); err != nil {
		r.note("the trace of the page's messages could not be written: %v", staging.WithoutPath(err))
	}
}
