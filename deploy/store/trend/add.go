package trend

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/database"
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

// Add adds the points of a set, and sets the generations of their keys. A set that was added before
// is replaced. Values that are not finite are left out, and a point needs a value.
func (d *DB) Add(ctx context.Context, set string, all []Measured) error {
	err := d.update(ctx, func(w *writer) error {
		touched := places{}
		if err := w.add(set, all, touched); err != nil {
			return err
		}
		return w.touch(touched)
	})
	if err != nil {
		return fmt.Errorf("add points of %s: %w", set, err)
	}
	return nil
}

// places are sequence numbers of points, by series.
type places map[int64]map[int64]bool

func (p places) add(series, seq int64) {
	if p[series] == nil {
		p[series] = map[int64]bool{}
	}
	p[series][seq] = true
}

// add replaces the points of a set. It adds their places, before and now.
func (w *writer) add(set string, all []Measured, touched places) error {
	if err := check(set, all); err != nil {
		return err
	}
	var id, split int64
	err := w.get("SELECT id, split FROM sets WHERE name = ?", []any{set}, &id, &split)
	if errors.Is(err, sql.ErrNoRows) {
		w.lines = append(w.lines, line{Set: set})
		var is bool
		if split, is = w.added[set]; is {
			err = nil
		} else {
			split, err = w.lastSplit()
		}
		if err == nil {
			err = w.get("INSERT INTO sets (name, split) VALUES (?, ?) RETURNING id", []any{set, split}, &id)
		}
	}
	if err != nil {
		return err
	}
	err = w.each("SELECT series, seq FROM points WHERE set_id = ?", []any{id}, func(scan func(...any) error) error {
		var series, seq int64
		err := scan(&series, &seq)
		touched.add(series, seq)
		return err
	})
	if err == nil {
		err = w.exec("DELETE FROM points WHERE set_id = ?", id)
	}
	out := map[string]bool{} // sets and runs that were removed
	if err == nil {
		err = w.each("SELECT name FROM removed WHERE name = ?1 OR name >= ?1||'~' AND name < ?1||'~~'", []any{set},
			func(scan func(...any) error) error {
				name, err := scanOne[string](scan)
				out[name] = true
				return err
			})
	}
	if out[set] {
		return err
	}
	for i := range all {
		k := &all[i].Key
		if err == nil {
			err = w.get("SELECT count(*) FROM splits WHERE schedule = ? AND test = ? AND device = ? AND id <= ?",
				[]any{k.Schedule, k.Test, k.Device, split}, &k.Generation)
		}
		if err == nil {
			err = w.addPoint(set, id, &all[i], out, touched)
		}
	}
	return err
}

// lastSplit returns the ID of the newest split; 0: there is none.
func (w *writer) lastSplit() (id int64, err error) {
	err = w.get("SELECT coalesce(max(id), 0) FROM splits", nil, &id)
	return id, err
}

// Split begins new series of sets that are added afterwards. The same split again changes nothing.
func (d *DB) Split(ctx context.Context, s Split) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("split series: %w", err)
	}
	return d.update(ctx, func(w *writer) error { return w.putSplit(&s) })
}

// putSplit keeps the place of a split that is there among the sets.
func (w *writer) putSplit(s *Split) error {
	var known int
	err := w.get("SELECT count(*) FROM splits WHERE schedule = ? AND test = ? AND device = ? AND wall = ?",
		[]any{s.Schedule, s.Test, s.Device, s.WallNS}, &known)
	if err != nil || known > 0 {
		return err
	}
	return w.put("splits", s, line{Split: s})
}

func (s *Split) check() error {
	if s.Schedule == "" || s.Test == "" || s.Device == "" || s.WallNS < 0 {
		return errors.New("schedule, test, device or time is missing")
	}
	return checkTexts(s.Schedule, s.Test, s.Device, s.Reason)
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

// addPoint leaves out runs that were removed, and a point without values.
func (w *writer) addPoint(set string, id int64, m *Measured, out map[string]bool, touched places) error {
	p, runs := &m.Point, []storedRun{}
	for _, v := range p.Values {
		if !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) && v.Block >= 0 && v.Block < maxBlock && !out[v.Run] {
			runs = append(runs, storedRun{strings.TrimPrefix(v.Run, set+"~"), v.Block, v.Value})
		}
	}
	if len(runs) == 0 {
		return nil
	}
	series, err := w.series(&m.Key, m.Threshold)
	raw, e := json.Marshal(runs)
	if err := errors.Join(err, e); err != nil {
		return err
	}
	touched.add(series, p.Seq)
	return w.exec("INSERT INTO points (series, seq, set_id, build, wall, runs) VALUES (?, ?, ?, ?, ?, ?)",
		series, p.Seq, id, p.Build, p.WallNS, string(raw))
}

// Numbers returns the values of a point.
func (p *Point) Numbers() []float64 {
	values := make([]float64, len(p.Values))
	for i, r := range p.Values {
		values[i] = r.Value
	}
	return values
}

// Median returns the median with its interval. Of too few values the bounds are their range.
func (p *Point) Median() stats.Interval {
	values := p.Numbers()
	i := stats.Summarize(values)
	if !i.Exists {
		i.Low, i.High = slices.Min(values), slices.Max(values)
	}
	return i
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

// series returns the ID of a series, which is made if it is not there. Without a threshold (nil) it
// keeps its own.
func (w *writer) series(k *SeriesKey, threshold any) (id int64, err error) {
	raw, err := json.Marshal(k)
	if err != nil {
		return 0, err
	}
	err = w.get(`INSERT INTO series (key, threshold) VALUES (?1, coalesce(?2, 0))
		ON CONFLICT (key) DO UPDATE SET threshold = coalesce(?2, threshold) RETURNING id`,
		[]any{string(raw), threshold}, &id)
	return id, err
}

// put adds or replaces a row whose content is JSON, and its line of the journal.
func (w *writer) put(table string, content any, l line) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	w.lines = append(w.lines, l)
	return w.exec("INSERT OR REPLACE INTO "+table+" (content) VALUES (?)", string(raw))
}

// scanContent reads a row whose content is JSON.
func scanContent[T any](scan func(...any) error) (one T, err error) {
	var raw string
	if err := scan(&raw); err != nil {
		return one, err
	}
	if err := json.Unmarshal([]byte(raw), &one); err != nil {
		return one, fmt.Errorf("%w: %w", database.ErrDamaged, err)
	}
	return one, nil
}

func checkBuild(b *api.Build) error {
	if b.Feed == "" || b.Name == "" || b.Seq < 0 || b.Seq > maxSeq {
		return fmt.Errorf("build %.40q of feed %.40q has seq %d", b.Name, b.Feed, b.Seq)
	}
	if len(b.URL) > api.MaxURL {
		return fmt.Errorf("build %.40q has an address of over %d bytes", b.Name, api.MaxURL)
	}
	return checkTexts(b.Feed, b.Name, b.Revision, b.Parent, b.Subject, b.SHA256, b.State, b.Reason)
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

func (w *writer) putBuild(b *api.Build) error {
	var old api.Build
	err := w.each("SELECT content FROM builds WHERE feed = ? AND seq = ?", []any{b.Feed, b.Seq},
		func(scan func(...any) error) (err error) {
			old, err = scanContent[api.Build](scan)
			return err
		})
	if err != nil || old == *b {
		return err
	}
	return w.put("builds", b, line{Build: b})
}

func (d *DB) builds(ctx context.Context, feed string, from, to int64, limit int) ([]api.Build, error) {
	return list(ctx, d, "SELECT content FROM builds WHERE feed = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?",
		[]any{feed, from, to, limit}, scanContent[api.Build])
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

func (w *writer) putGap(g *Gap) error { return w.put("gaps", g, line{Gap: g}) }
