package schedule

import (
	"context"
	"math"
	"path"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// drift is the kind of changes over many builds, of which each is too small to be found.
const drift = "drift"

const (
	driftBack = 30 // points between the two that are compared
	driftSide = 6  // points at each of them that choose the candidates
	driftGap  = 7 * 24 * time.Hour
	driftP    = 0.01 // of a candidate's points, at most
)

// newestRelease returns the newest release of a schedule before a build; 0: none.
func (e *Engine) newestRelease(schedule string, before int64) (seq int64) {
	s := e.Schedules[schedule]
	first, err := api.ParseBrowser(slices.Concat(s.Browsers, []string{""})[0])
	f := e.feeds[first.Feed]
	if err != nil || f == nil || s.Release == "" {
		return 0
	}
	for _, b := range f.builds {
		if is, _ := path.Match(s.Release, b.Name); is && b.Seq < before && b.State == usable {
			seq = b.Seq
		}
	}
	return seq
}

// drift compares the newest points with those of the last release and those of 30 points ago. The
// larger shift above the limit is a candidate, at most one of a series in a week. Its points must
// show it. Fresh runs judge it within the budget. One that waited for a week is compared again. The
// comparison begins after the last change that is confirmed, dismissed or of the lab. It waits
// while a change is judged.
func (e *Engine) drift(ctx context.Context, s *api.Series, c *curve, known []api.SeriesShift, limit float64) error {
	newest, after := len(c.points)-1, int64(0)
	var old *api.SeriesShift
	for i, k := range known {
		switch {
		case k.State == candidate && k.Kind == drift && e.Now().Sub(time.Unix(0, k.FoundNS)) >= driftGap &&
			!e.confirming(&k):
			old = &known[i]
		case k.State == candidate || k.State == confirming,
			k.Kind == drift && e.Now().Sub(time.Unix(0, k.FoundNS)) < driftGap:
			return nil
		case k.State == confirmed || k.State == trend.Dismissed || k.State == lab:
			after = max(after, k.LastSeq)
		}
	}
	var x api.SeriesShift
	bases := []int64{e.newestRelease(s.Schedule, c.points[newest].Seq), c.points[max(0, newest-driftBack)].Seq}
	for _, seq := range bases {
		from := slices.IndexFunc(c.points, func(p trend.Point) bool { return p.Seq >= max(seq, after) })
		if seq == 0 || from < 0 || newest-from < 2*driftSide {
			continue
		}
		before, now := c.values[from:from+driftSide], c.values[newest+1-driftSide:]
		shift := median(now) - median(before)
		p := min(stats.Above(before, now), stats.Above(now, before))
		if p > driftP || math.Abs(shift) < max(limit, math.Abs(x.Shift)) {
			continue
		}
		x = e.newChange(s, c, from, newest, shift, p)
		x.Kind = drift
	}
	switch {
	case x.Kind == "" && old == nil:
		return nil
	case x.Kind == "":
		return e.explain(ctx, old, undecided, "Newer points do not show it.")
	case old != nil:
		x.ID = old.ID
	}
	if err := e.put(ctx, &x); err != nil {
		return err
	}
	e.Log.Info("a series drifts", "change", x.ID, "series", s.ID, "build", c.points[newest].Build)
	return nil
}
