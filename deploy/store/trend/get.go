package trend

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/database"
)

const (
	maxList      = 1000
	usualList    = 200
	maxPoints    = 2000 // or tiles of a page
	usualPoints  = 500
	maxGaps      = 500
	maxNeighbors = 50
)

// list returns what a query finds.
func list[T any](ctx context.Context, d *DB, query string, args []any,
	of func(scan func(...any) error) (T, error)) (all []T, err error) {
	err = d.with(ctx, func(db *sql.DB) error {
		all = []T{}
		rows, err := db.QueryContext(ctx, query, args...)
		return eachRow(rows, err, func(scan func(...any) error) error {
			one, err := of(scan)
			all = append(all, one)
			return err
		})
	})
	return all, err
}

// limited returns the limit of a list.
func limited(limit, usual, most int) (int, error) {
	if limit < 0 || limit > most {
		return 0, api.Errorf(api.InvalidParams, "limit is %d: must be 1 to %d", limit, most)
	}
	return cmp.Or(limit, usual), nil
}

const selectSeries = `SELECT key, id, threshold, points, first, last, latest,
	coalesce((SELECT state FROM changes WHERE changes.series = series.id ORDER BY changes.id DESC LIMIT 1), '')
	FROM series `

func scanSeries(scan func(...any) error) (s api.Series, err error) {
	var key string
	var latest float64
	err = scan(&key, &s.ID, &s.Threshold, &s.Points, &s.FirstSeq, &s.LastSeq, &latest, &s.Change)
	if err == nil && json.Unmarshal([]byte(key), &s) != nil {
		err = fmt.Errorf("%w: series %d", database.ErrDamaged, s.ID)
	}
	s.Latest = wording.Measured{Value: latest, Unit: s.Unit}.Text()
	return s, err
}

// Series lists series that have points. Those that belong together follow each other, the subject
// first.
func (d *DB) Series(ctx context.Context, p api.SeriesListParams) (out api.SeriesList, err error) {
	if p.Limit, err = limited(p.Limit, usualList, maxList); err != nil {
		return out, err
	}
	where, args := "WHERE points > 0", []any{}
	for column, value := range map[string]string{"schedule": p.Schedule, "test": p.Test, "measure": p.Measure,
		"value": p.Value, "device": p.Device, "role": p.Role} {
		if value != "" {
			where, args = where+" AND "+column+" = ?", append(args, value)
		}
	}
	total, err := list(ctx, d, "SELECT count(*) FROM series "+where, args, scanOne[int])
	if err != nil {
		return out, err
	}
	out.Total = total[0]
	out.Series, err = list(ctx, d, selectSeries+where+` ORDER BY schedule, test, measure, value, win, device, network,
		CASE role WHEN 'subject' THEN 0 WHEN 'rival' THEN 1 ELSE 2 END, id LIMIT ?`, append(args, p.Limit), scanSeries)
	return out, err
}

// Tests returns the names of the tests that have points, in order.
func (d *DB) Tests(ctx context.Context) ([]string, error) {
	return list(ctx, d, "SELECT DISTINCT test FROM series WHERE points > 0 AND test <> '' ORDER BY test", nil,
		scanOne[string])
}

// Sets returns the sets that have points, and those of changes that are judged or in alerts.
func (d *DB) Sets(ctx context.Context) (map[string]bool, error) {
	all, err := list(ctx, d, `SELECT name FROM sets WHERE id IN (SELECT set_id FROM points) UNION
		SELECT content->>'set' FROM changes WHERE state IN ('confirming', 'confirmed')
		AND content->>'set' IS NOT NULL`, nil, scanOne[string])
	needed := map[string]bool{}
	for _, name := range all {
		needed[name] = true
	}
	return needed, err
}

func scanOne[T any](scan func(...any) error) (one T, err error) {
	err = scan(&one)
	return one, err
}

func (d *DB) oneSeries(ctx context.Context, id int64) (api.Series, error) {
	all, err := list(ctx, d, selectSeries+"WHERE id = ?", []any{id}, scanSeries)
	if err != nil {
		return api.Series{}, err
	}
	if len(all) == 0 {
		return api.Series{}, api.Errorf(api.NotFound, "unknown series %d", id)
	}
	return all[0], nil
}

// Get returns a page of a series: its points, or the finest tiles that fit. Tiles at the ends of
// the page may have points outside it.
func (d *DB) Get(ctx context.Context, p api.SeriesParams) (out api.SeriesData, err error) {
	out = api.SeriesData{Points: []api.SeriesPoint{}, Tiles: []api.SeriesTile{}}
	if p.Limit, err = limited(p.Limit, usualPoints, maxPoints); err != nil {
		return out, err
	}
	if p.ToSeq = cmp.Or(p.ToSeq, maxSeq); p.FromSeq < 0 || p.ToSeq < p.FromSeq || p.ToSeq > maxSeq {
		return out, api.Errorf(api.InvalidParams, "the range is %d to %d: must rise", p.FromSeq, p.ToSeq)
	}
	if out.Series, err = d.oneSeries(ctx, p.Series); err != nil {
		return out, err
	}
	if err := d.page(ctx, p, &out); err != nil {
		return out, err
	}
	s := &out.Series
	// the build is that of the row with the greatest reason
	out.Gaps, err = list(ctx, d, `SELECT seq, content->>'build', max(content->>'reason') FROM gaps
		WHERE schedule = ? AND seq BETWEEN ? AND ? AND test IN ('', ?) AND device IN ('', ?)
		AND NOT EXISTS (SELECT 1 FROM points WHERE points.series = ? AND points.seq = gaps.seq)
		GROUP BY seq ORDER BY seq DESC LIMIT ?`,
		[]any{s.Schedule, p.FromSeq, p.ToSeq, s.Test, s.Device, s.ID, maxGaps},
		func(scan func(...any) error) (g api.SeriesGap, err error) {
			err = scan(&g.Seq, &g.Build, &g.Reason)
			return g, err
		})
	if err != nil {
		return out, err
	}
	slices.Reverse(out.Gaps)
	if out.Changes, err = d.changes(ctx, "WHERE series = ? AND last >= ? AND first <= ? ORDER BY id DESC LIMIT ?", s.ID,
		p.FromSeq, p.ToSeq, usualList); err != nil {
		return out, err
	}
	out.With, err = list(ctx, d, selectSeries+`WHERE schedule = ? AND test = ? AND measure = ? AND value = ? AND win = ?
		AND device = ? AND network = ? AND unit = ? AND version = ? AND generation = ?
		AND id <> ? AND points > 0 ORDER BY id LIMIT ?`,
		[]any{s.Schedule, s.Test, s.Measure, s.Value, s.Window, s.Device, s.Network, s.Unit, s.Version,
			s.Generation, s.ID, maxNeighbors}, scanSeries)
	return out, err
}

// page reads the points, or the tiles of the finest level that has few enough. At each level it
// counts at most one more than these.
func (d *DB) page(ctx context.Context, p api.SeriesParams, out *api.SeriesData) error {
	for ; out.Level <= maxLevel; out.Level++ {
		query, args := "SELECT 1 FROM points WHERE series = ? AND seq BETWEEN ? AND ?",
			[]any{p.Series, p.FromSeq, p.ToSeq}
		if out.Level > 0 {
			query, args = "SELECT 1 "+fromTiles, tileArgs(p, out.Level)
		}
		n, err := list(ctx, d, "SELECT count(*) FROM ("+query+" LIMIT ?)", append(args, p.Limit+1), scanOne[int])
		if err != nil {
			return err
		}
		if n[0] <= p.Limit || out.Level == maxLevel {
			break
		}
	}
	var err error
	if out.Level > 0 {
		out.Tiles, err = list(ctx, d, "SELECT first, last, points, min, median, max "+fromTiles+
			" ORDER BY first LIMIT ?", append(tileArgs(p, out.Level), p.Limit),
			func(scan func(...any) error) (t api.SeriesTile, err error) {
				err = scan(&t.FirstSeq, &t.LastSeq, &t.Points, &t.Min, &t.Median, &t.Max)
				return t, err
			})
		return err
	}
	points, err := d.Points(ctx, p.Series, p.FromSeq, p.ToSeq, p.Limit)
	for _, o := range points {
		i := o.Median()
		out.Points = append(out.Points, api.SeriesPoint{Seq: o.Seq, Build: o.Build, Revision: o.Revision, Set: o.Set,
			WallNS: o.WallNS, Runs: len(o.Values), Median: i.Estimate, Low: i.Low, High: i.High, Interval: i.Exists,
			Text: wording.Measured{Value: i.Estimate, Low: i.Low, High: i.High, Unit: out.Series.Unit,
				Bounded: i.Exists}.Text()})
	}
	return err
}

// fromTiles begins with the tile that the range begins in.
const fromTiles = `FROM tiles WHERE series = ?1 AND level = ?2 AND first >= coalesce((SELECT max(first) FROM tiles
	WHERE series = ?1 AND level = ?2 AND first <= ?3), ?3) AND first <= ?4 AND last >= ?3`

func tileArgs(p api.SeriesParams, level int) []any {
	return []any{p.Series, level, p.FromSeq, p.ToSeq}
}

// Since returns the sequence numbers of points with runs that started after a time, ascending.
func (d *DB) Since(ctx context.Context, series, wallNS int64) ([]int64, error) {
	return list(ctx, d, "SELECT DISTINCT seq FROM points WHERE series = ? AND wall > ? ORDER BY seq",
		[]any{series, wallNS}, scanOne[int64])
}

// Points returns the newest points of a range, oldest first. A toSeq of 0 is the last. Rows of
// several sets are one point. The newest set names its build.
func (d *DB) Points(ctx context.Context, series, fromSeq, toSeq int64, limit int) (all []Point, err error) {
	rows, err := list(ctx, d, `SELECT p.seq, p.build, p.wall, p.set_id, p.runs,
		(SELECT name FROM sets WHERE id = p.set_id), coalesce((SELECT revision FROM builds INDEXED BY builds_name
		WHERE name = p.build AND feed = (SELECT feed FROM series WHERE id = p.series) ORDER BY seq DESC LIMIT 1), '')
		FROM points p WHERE series = ?1 AND seq IN (SELECT DISTINCT seq FROM points
		WHERE series = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq DESC LIMIT ?4) ORDER BY seq, set_id`,
		[]any{series, fromSeq, cmp.Or(toSeq, maxSeq), limit}, func(scan func(...any) error) (p Point, err error) {
			var id int
			var raw string
			if err := scan(&p.Seq, &p.Build, &p.WallNS, &id, &raw, &p.Set, &p.Revision); err != nil {
				return p, err
			}
			p.Values, err = decodeRuns(raw, p.Set, id)
			return p, err
		})
	for _, p := range rows {
		n := len(all) - 1
		if n < 0 || all[n].Seq != p.Seq {
			all = append(all, p)
			continue
		}
		p.Values = append(all[n].Values, p.Values...)
		if p.WallNS < all[n].WallNS {
			all[n].Values = p.Values
		} else {
			all[n] = p
		}
	}
	return all, err
}

func decodeRuns(raw, set string, id int) ([]Value, error) {
	var runs []storedRun
	if err := json.Unmarshal([]byte(raw), &runs); err != nil || len(runs) == 0 {
		return nil, fmt.Errorf("%w: runs of %s: %w", database.ErrDamaged, set, err)
	}
	all := make([]Value, len(runs))
	for i, r := range runs {
		all[i] = Value{Run: runID(set, r.Run), Block: id*maxBlock + r.Block, Value: r.Value}
	}
	return all, nil
}

func runID(set, run string) string {
	if run == set || strings.HasPrefix(run, set+"~") {
		return run
	}
	return set + "~" + run
}
