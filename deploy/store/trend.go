package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/stats"
)

// Trend returns a value over time, oldest first. It has a point for each set, or its browsers and
// devices, and one for each single run. Runs that do not count are excluded.
func (s *Store) Trend(ctx context.Context, q TrendQuery) (t Trend, err error) {
	if q.Test == "" || q.Measure == "" || q.Value == "" {
		return t, errors.New("a trend is of a test, a measure and one of its values: give all three")
	}
	switch {
	case q.Limit == 0:
		q.Limit = defaultPoints
	case q.Limit < 0 || q.Limit > MaxPoints:
		return t, fmt.Errorf("limit is %d, want 1 to %d", q.Limit, MaxPoints)
	}
	var groups []*group
	err = s.with(ctx, func(db *sql.DB) (err error) {
		groups, err = q.groups(ctx, db)
		return err
	})
	if err != nil || len(groups) == 0 {
		return t, err
	}
	slices.Reverse(groups)
	newest := groups[len(groups)-1]
	t.Unit, t.Better = newest.runs[0].unit, newest.runs[0].better
	before := map[stream]*group{}
	for _, g := range groups {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		p, err := g.point(before[g.stream])
		if err != nil {
			return t, err
		}
		before[g.stream] = g
		t.Points = append(t.Points, p)
	}
	t.Points = t.Points[max(0, len(t.Points)-q.Limit):] // one more was read, for what it says of the next
	return t, nil
}

// maxTrendRuns bounds the runs that are compared at once. The cost is the square of a set's size.
const maxTrendRuns = 20_000

// stream identifies a series of points that follow each other.
type stream struct {
	device, browser, branch string
	variant                 string // its name, if it is not that of browser and device
}

// variantOf returns the name of the variant in a set that a run belongs to; "": that of its browser
// and device, or there is one.
func variantOf(id, folder, device, browser string) string {
	parts := strings.Split(strings.TrimPrefix(id, folder+"~"), "~")
	usual := []string{"", browser, device, device + "-" + browser}
	if len(parts) < 2 || slices.Contains(usual, parts[0]) {
		return ""
	}
	return parts[0]
}

// group is what becomes a point.
type group struct {
	folder string
	stream stream
	runs   []pointRow // newest first
}

// pointRow is the value of a run.
type pointRow struct {
	key             int64
	id              string
	label, revision string
	started         int64

	point     stats.Point
	unit      string
	state     analyze.State
	better    analyze.Better
	threshold float64
	version   int
}

// groups returns the newest groups, newest first. Runs of a folder lie together, so a group is
// whole when another folder begins.
func (q *TrendQuery) groups(ctx context.Context, db *sql.DB) (all []*group, err error) {
	w := &where{}
	w.and("p.measure = ? AND p.name = ? AND p.test = ?", q.Measure, q.Value, q.Test)
	for _, c := range []struct{ column, value string }{{"device", q.Device}, {"browser", q.Browser},
		{"branch", q.Branch}, {"window", q.Window}} {
		if c.value != "" {
			w.and("p."+c.column+" = ?", c.value)
		}
	}
	if !q.From.IsZero() {
		w.and("p.folder_key >= ?", nanoseconds(q.From)&^(1<<keyBits-1))
	}
	if !q.To.IsZero() {
		w.and("p.folder_key < ?", nanoseconds(q.To))
	}
	rows, err := db.QueryContext(ctx, `SELECT p.folder_key, p.key, runs.folder, p.device, p.browser, p.branch, runs.id,
			label, revision, started, p.value, p.low, p.high, p.unit, p.state, p.better, p.threshold, p.version
		FROM points p CROSS JOIN runs ON runs.key = p.key WHERE `+strings.Join(w.conditions, " AND ")+`
		ORDER BY p.folder_key DESC, p.key DESC, p.place DESC`, w.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its errors are those of Err
	var at int64
	read := 0
	for rows.Next() {
		var folderKey int64
		var folder string
		var from stream
		var r pointRow
		err := rows.Scan(&folderKey, &r.key, &folder, &from.device, &from.browser, &from.branch, &r.id, &r.label,
			&r.revision, &r.started,
			&r.point.Value, &r.point.Low, &r.point.High, &r.unit, &r.state, &r.better, &r.threshold, &r.version)
		if err != nil {
			return nil, err
		}
		if folderKey != at && (len(all) > q.Limit || read > maxTrendRuns) {
			break
		}
		read++
		from.variant = variantOf(r.id, folder, from.device, from.browser)
		at, r.point.Run = folderKey, r.id
		all = join(all, folder, from, r)
	}
	return all, rows.Err()
}

// join adds a run to the group it belongs to. A run's windows come last one first; the first one
// that has the value counts.
func join(all []*group, folder string, from stream, r pointRow) []*group {
	for i := len(all) - 1; i >= 0 && all[i].folder == folder; i-- {
		g := all[i]
		if g.stream != from {
			continue
		}
		if last := &g.runs[len(g.runs)-1]; last.key == r.key {
			*last = r
		} else if len(g.runs) < stats.MaxRuns {
			g.runs = append(g.runs, r)
		}
		return all
	}
	return append(all, &group{folder: folder, stream: from, runs: []pointRow{r}})
}

// point says what a group says, and how it differs from the one before; nil is none.
func (g *group) point(before *group) (Point, error) {
	first := g.runs[len(g.runs)-1]
	p := Point{
		ID: g.folder, Variant: g.stream.variant, Device: g.stream.device,
		Browser: g.stream.browser, Branch: g.stream.branch, Label: first.label,
		Revision: first.revision,
		Started:  time.Unix(0, first.started), N: len(g.runs),
	}
	sample := g.sample()
	if len(sample) == 1 {
		v := sample[0]
		p.Median, p.Low, p.High, p.Interval = v.Value, v.Low, v.High, true
	} else {
		i := stats.Summarize(sample.Values())
		p.Median, p.Low, p.High, p.Interval = i.Estimate, i.Low, i.High, i.Exists
	}
	if before == nil {
		return p, nil
	}
	p.Before = before.folder
	if p.Reason = incomparable(before, g); p.Reason != "" {
		return p, nil
	}
	measure := stats.Measure{Name: "trend", Unit: first.unit, Better: first.better, Threshold: first.threshold}
	suspected := func(r pointRow) bool { return r.state == analyze.Suspected }
	// suspected values fail nobody
	if slices.ContainsFunc(g.runs, suspected) || slices.ContainsFunc(before.runs, suspected) {
		measure.Better = analyze.Neither
	}
	if measure.Threshold == 0 && measure.Better != analyze.Higher && measure.Better != analyze.Lower {
		measure.Threshold = stats.UsualThreshold
	}
	d, err := stats.Compare([]stats.Pair{{Measure: measure, A: before.sample(), B: sample}}, stats.Alpha)
	if err != nil {
		return p, fmt.Errorf("compare %s with %s: %w", g.folder, before.folder, err)
	}
	p.Verdict = d[0].Verdict
	return p, nil
}

// sample is the group's runs in the order in which they were made.
func (g *group) sample() stats.Sample {
	var s stats.Sample
	for _, r := range slices.Backward(g.runs) {
		s = append(s, r.point)
	}
	return s
}

// incomparable says why values cannot be held against each other.
func incomparable(a, b *group) string {
	first := a.runs[0]
	for _, r := range slices.Concat(a.runs, b.runs) {
		switch {
		case r.version != first.version:
			return fmt.Sprintf("runs have versions %d and %d of the measure's definition", first.version, r.version)
		case r.unit != first.unit:
			return fmt.Sprintf("runs have it in %s and in %s", first.unit, r.unit)
		}
	}
	return ""
}
