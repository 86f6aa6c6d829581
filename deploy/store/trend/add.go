package trend

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/api"
)

const (
	maxSeq   = 1 << 53 // clients have it in a float64
	maxBlock = 1 << 16
	maxText  = 400 // bytes of a name
)

// storedRun is a run's value in a point.
type storedRun struct {
	Run   string  `json:"r"` // its ID, within the set's
	Block int     `json:"b"`
	Value float64 `json:"v"`
}

// Add adds the points of a set. A set that was added before is replaced. Values that are not finite
// are left out, and a point needs a value.
func (d *DB) Add(ctx context.Context, set string, all []Measured) error {
	err := d.update(ctx, func(w *writer) error {
		touched, err := w.add(set, all)
		for p := range touched {
			if err == nil {
				err = w.touch(p.series, p.seq)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add points of %s: %w", set, err)
	}
	return nil
}

// AddAll adds many sets at once. It builds the tiles of their series anew, which is faster.
func (d *DB) AddAll(ctx context.Context, sets iter.Seq2[string, []Measured]) error {
	if err := d.update(ctx, func(w *writer) error { return w.addAll(sets) }); err != nil {
		return fmt.Errorf("add points: %w", err)
	}
	return nil
}

func (w *writer) addAll(sets iter.Seq2[string, []Measured]) error {
	series := map[int64]bool{}
	for set, all := range sets {
		touched, err := w.add(set, all)
		if err != nil {
			return fmt.Errorf("%s: %w", set, err)
		}
		for p := range touched {
			series[p.series] = true
		}
	}
	for id := range series {
		if err := w.build(id); err != nil {
			return err
		}
	}
	return nil
}

// place is that of a point.
type place struct{ series, seq int64 }

// add replaces the points of a set. It returns their places, before and now.
func (w *writer) add(set string, all []Measured) (touched map[place]bool, err error) {
	if err := check(set, all); err != nil {
		return nil, err
	}
	var id int64
	err = w.get("SELECT id FROM sets WHERE name = ?", []any{set}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		w.lines = append(w.lines, line{Set: set})
		err = w.get("INSERT INTO sets (name) VALUES (?) RETURNING id", []any{set}, &id)
	}
	if err != nil {
		return nil, err
	}
	touched = map[place]bool{}
	err = w.each("SELECT series, seq FROM points WHERE set_id = ?", []any{id}, func(scan func(...any) error) error {
		var p place
		err := scan(&p.series, &p.seq)
		touched[p] = true
		return err
	})
	if err == nil && len(touched) > 0 {
		err = w.exec("DELETE FROM points WHERE set_id = ?", id)
	}
	for i := range all {
		if err != nil {
			return nil, err
		}
		var p place
		if p, err = w.addPoint(set, id, &all[i]); p.series != 0 {
			touched[p] = true
		}
	}
	return touched, err
}

// check returns why a set cannot be added.
func check(set string, all []Measured) error {
	if set == "" || len(set) > maxText {
		return errors.New("the name of a set is missing or too long")
	}
	type one struct {
		SeriesKey
		seq int64
	}
	seen := map[one]bool{}
	for i := range all {
		m := &all[i]
		p := &m.Point
		if err := m.Key.check(); err != nil {
			return err
		}
		switch {
		case p.Seq < 0 || p.Seq > maxSeq || len(p.Build) > maxText:
			return fmt.Errorf("build %.40q has seq %d", p.Build, p.Seq)
		case len(p.Values) > stats.MaxRuns:
			return fmt.Errorf("build %s has over %d runs", p.Build, stats.MaxRuns)
		case seen[one{m.Key, p.Seq}]:
			return fmt.Errorf("build %s has two points of %.40q", p.Build, m.Key.Measure+"."+m.Key.Value)
		}
		seen[one{m.Key, p.Seq}] = true
	}
	return nil
}

// addPoint returns the zero place for a point without values.
func (w *writer) addPoint(set string, id int64, m *Measured) (place, error) {
	p := &m.Point
	runs, values := []storedRun{}, []float64{}
	for _, v := range p.Values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Block < 0 || v.Block >= maxBlock {
			continue
		}
		runs = append(runs, storedRun{strings.TrimPrefix(v.Run, set+"~"), v.Block, v.Value})
		values = append(values, v.Value)
	}
	if len(values) == 0 {
		return place{}, nil
	}
	raw, err := json.Marshal(runs)
	if err != nil {
		return place{}, err
	}
	series, err := w.series(&m.Key)
	if err != nil {
		return place{}, err
	}
	if known, there := w.thresholds[series]; !there || known != m.Threshold {
		if err := w.exec("UPDATE series SET threshold = ? WHERE id = ?", m.Threshold, series); err != nil {
			return place{}, err
		}
		w.thresholds[series] = m.Threshold
	}
	i := summarize(values)
	return place{series, p.Seq}, w.exec(`INSERT INTO points
		(series, seq, set_id, build, wall, n, median, low, high, bounds, runs)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		series, p.Seq, id, p.Build, p.WallNS, len(values), i.Estimate, i.Low, i.High, i.Exists, string(raw))
}

// summarize returns the median with its interval. Of too few values the bounds are their range.
func summarize(values []float64) stats.Interval {
	i := stats.Summarize(values)
	if !i.Exists {
		i.Low, i.High = slices.Min(values), slices.Max(values)
	}
	return i
}

// columns are those that identify a series, in the order of pointers.
const columns = "schedule, test, win, measure, value, unit, better, version, device, network, product, feed, role"

func (k *SeriesKey) pointers() []any {
	return []any{&k.Schedule, &k.Test, &k.Window, &k.Measure, &k.Value, &k.Unit, &k.Better, &k.Version, &k.Device,
		&k.Network, &k.Product, &k.Feed, &k.Role}
}

func (k *SeriesKey) values() []any {
	return []any{k.Schedule, k.Test, k.Window, k.Measure, k.Value, k.Unit, k.Better, k.Version, k.Device, k.Network,
		k.Product, k.Feed, k.Role}
}

func (k *SeriesKey) check() error {
	if !slices.Contains([]string{Subject, Rival, Control}, k.Role) || k.Measure == "" || k.Value == "" {
		return fmt.Errorf("%.40q has role %.40q: must be %s, %s or %s", k.Measure+"."+k.Value, k.Role, Subject, Rival,
			Control)
	}
	return checkTexts(k.Schedule, k.Test, k.Window, k.Measure, k.Value, k.Unit, k.Better, k.Device, k.Network,
		k.Product, k.Feed)
}

func checkTexts(texts ...string) error {
	for _, t := range texts {
		if len(t) > maxText {
			return fmt.Errorf("%.40q has over %d bytes", t, maxText)
		}
	}
	return nil
}

// series returns the ID of a series, which is made if it is not there.
func (w *writer) series(k *SeriesKey) (id int64, err error) {
	const find = `SELECT id FROM series WHERE schedule = ? AND test = ? AND win = ? AND measure = ? AND value = ? AND
		unit = ? AND better = ? AND version = ? AND device = ? AND network = ? AND product = ? AND feed = ?
		AND role = ?`
	if id = w.known[*k]; id != 0 {
		return id, nil
	}
	if err = w.get(find, k.values(), &id); errors.Is(err, sql.ErrNoRows) {
		if err = w.exec("INSERT INTO series ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			k.values()...); err == nil {
			err = w.get(find, k.values(), &id)
		}
	}
	w.known[*k] = id // 0 on an error
	return id, err
}

func checkBuild(b *api.Build) error {
	if b.Feed == "" || b.Name == "" || b.Seq < 0 || b.Seq > maxSeq {
		return fmt.Errorf("build %.40q of feed %.40q has seq %d", b.Name, b.Feed, b.Seq)
	}
	if len(b.URL) > api.MaxURL {
		return fmt.Errorf("build %.40q has an address of over %d bytes", b.Name, api.MaxURL)
	}
	return checkTexts(b.Feed, b.Name, b.Revision, b.Parent, b.SHA256, b.State, b.Reason)
}

// AddBuilds adds builds, or updates them. Their feed judges their state and hash.
func (d *DB) AddBuilds(ctx context.Context, all []api.Build) error {
	err := d.update(ctx, func(w *writer) error {
		for _, b := range all {
			if err := checkBuild(&b); err != nil {
				return err
			}
			if err := w.putBuild(&b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add builds: %w", err)
	}
	return nil
}

const buildColumns = "feed, seq, name, revision, parent, wall, url, sha256, state, reason"

func scanBuild(scan func(...any) error) (b api.Build, err error) {
	err = scan(&b.Feed, &b.Seq, &b.Name, &b.Revision, &b.Parent, &b.WallNS, &b.URL, &b.SHA256, &b.State, &b.Reason)
	return b, err
}

func (w *writer) putBuild(b *api.Build) error {
	s, err := w.statement("SELECT " + buildColumns + " FROM builds WHERE feed = ? AND seq = ?")
	if err != nil {
		return err
	}
	old, err := scanBuild(s.QueryRowContext(w.ctx, b.Feed, b.Seq).Scan)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if old == *b {
		return nil
	}
	w.lines = append(w.lines, line{Build: b})
	return w.exec("INSERT OR REPLACE INTO builds ("+buildColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		b.Feed, b.Seq, b.Name, b.Revision, b.Parent, b.WallNS, b.URL, b.SHA256, b.State, b.Reason)
}

// Builds returns the newest builds of a feed, newest first.
func (d *DB) Builds(ctx context.Context, feed string, limit int) ([]api.Build, error) {
	return d.builds(ctx, feed, 0, maxSeq, limit)
}

func (d *DB) builds(ctx context.Context, feed string, from, to int64, limit int) ([]api.Build, error) {
	return list(ctx, d, "SELECT "+buildColumns+" FROM builds WHERE feed = ? AND seq BETWEEN ? AND ? "+
		"ORDER BY seq DESC LIMIT ?", []any{feed, from, to, limit}, scanBuild)
}

func (g *Gap) check() error {
	if g.Seq < 0 || g.Seq > maxSeq || g.Reason == "" || g.Schedule == "" {
		return fmt.Errorf("gap of schedule %.40q at %d: must have a reason", g.Schedule, g.Seq)
	}
	return checkTexts(g.Schedule, g.Test, g.Device, g.Build, g.Reason)
}

// AddGap notes a build without a point, or replaces the reason.
func (d *DB) AddGap(ctx context.Context, g Gap) error {
	err := g.check()
	if err == nil {
		err = d.update(ctx, func(w *writer) error { return w.putGap(&g) })
	}
	if err != nil {
		return fmt.Errorf("add a gap: %w", err)
	}
	return nil
}

func (w *writer) putGap(g *Gap) error {
	w.lines = append(w.lines, line{Gap: g})
	return w.exec(`INSERT OR REPLACE INTO gaps (schedule, seq, test, device, build, reason)
		VALUES (?, ?, ?, ?, ?, ?)`, g.Schedule, g.Seq, g.Test, g.Device, g.Build, g.Reason)
}
