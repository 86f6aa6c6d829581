package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/eideticker/eideticker/capture/timeline"
)

// ReadReport reads the report from the data of an event, see [Report.Events]. The data is
// untrusted, as it comes from a browser. A report with more pictures than fit into an event is
// incomplete and rejected. So is a report of a page that this version does not have, or has
// differently.
func ReadReport(data []byte) (Report, error) {
	var r Report
	if len(data) > timeline.MaxEventData {
		return r, fmt.Errorf("a report of %d bytes, limit %d", len(data), timeline.MaxEventData)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fmt.Errorf("report is not as expected: %w", err)
	}
	if err := r.check(); err != nil {
		return Report{}, err
	}
	return r, nil
}

// latest is later than the times of all recordings: 73 years on the rig's clock. Sums and
// differences of earlier times do not overflow.
const latest = timeline.Time(1) << 61

// check holds a report against the bounds of those that come from a browser.
func (r *Report) check() error {
	page, err := Find(r.Page.Name)
	if err != nil {
		return err
	}
	page.Strip, page.file = r.Page.Strip, ""
	if !reflect.DeepEqual(page, r.Page) {
		return fmt.Errorf("the page %s is another one in this version", page.Name)
	}
	if r.Number == 0 || len(r.Drawn) == 0 {
		return errors.New("report has no pictures, or no page number")
	}
	// Its times are on the rig's clock already: they are held against bounds by themselves.
	w := wire{
		Agent: r.UserAgent, Warnings: r.Warnings, IDs: r.IDs(), Times: make([]int64, len(r.Drawn)),
		Callbacks: r.Callbacks, Green: make([]int64, 2), Red: make([]int64, 2), Clock: make([]sample, 1),
		ClaimedFPS: r.ClaimedFPS, Width: r.Width, Height: r.Height, PixelRatio: r.PixelRatio, Truth: r.Truth,
	}
	for _, a := range r.Answers {
		w.Answers = append(w.Answers, answer{Kind: a.Kind, ID: a.ID})
	}
	if err := errors.Join(w.check(), w.checkTruth(page), w.checkAnswers(page)); err != nil {
		return err
	}
	all := []timeline.Interval{r.GreenFrom, r.GreenTo, r.RedFrom, r.RedTo}
	for _, d := range r.Drawn {
		all = append(all, d.At)
	}
	for _, a := range r.Answers {
		all = append(all, a.At)
	}
	for _, i := range all {
		if i.Earliest > i.Latest {
			return fmt.Errorf("report has a time that ends at %d ns, before it begins at %d ns", i.Latest, i.Earliest)
		}
		if i.Earliest < 0 || i.Latest > latest {
			return fmt.Errorf("report has a time of %d to %d ns, want 0 to %d", i.Earliest, i.Latest, latest)
		}
	}
	return nil
}
