package trend

import (
	"cmp"
	"database/sql"
	"math"
	"slices"
)

// maxLevel of tiles. A tile of level k has four to seven tiles of the level below it. Level 0 is
// the points. So level k has at most a 4^k-th of the points. A new point changes at most two tiles
// of each level, wherever it is. Where points are removed, tiles may become smaller.
const (
	maxLevel = 10
	fan      = 4
)

// tile is several points, or a single one.
type tile struct {
	first, last      int64
	points           int
	min, median, max float64
}

// combine returns the tile of tiles. Its median is that of their medians, weighted by their points.
// So it is exact in level 1 only.
func combine(parts []tile) tile {
	t := tile{first: parts[0].first, last: parts[len(parts)-1].last, min: math.Inf(1), max: math.Inf(-1)}
	for _, p := range parts {
		t.points += p.points
		t.min, t.max = min(t.min, p.min), max(t.max, p.max)
	}
	sorted := slices.SortedFunc(slices.Values(parts), func(a, b tile) int { return cmp.Compare(a.median, b.median) })
	below := 0
	for i, p := range sorted {
		switch below += p.points; {
		case 2*below > t.points:
			t.median = p.median
			return t
		case 2*below == t.points:
			t.median = p.median/2 + sorted[i+1].median/2
			return t
		}
	}
	return t
}

// groups splits the parts of a tile that has become too large.
func groups(parts []tile) [][]tile {
	switch {
	case len(parts) == 0:
		return nil
	case len(parts) < 2*fan:
		return [][]tile{parts}
	}
	return [][]tile{parts[:len(parts)/2], parts[len(parts)/2:]}
}

// manyPoints of a series that change at once: all its tiles are made anew, which is faster.
const manyPoints = 64

// touch updates the tiles over points that have changed, and the figures of their series.
func (w *writer) touch(all places) error {
	for series, seqs := range all {
		if len(seqs) >= manyPoints {
			if err := w.build(series); err != nil {
				return err
			}
			continue
		}
		for seq := range seqs {
			if err := w.touchPoint(series, seq); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) touchPoint(series, seq int64) error {
	for level := 1; ; level++ {
		from, to, err := w.around(series, level, seq)
		if err != nil {
			return err
		}
		parts, err := w.parts(series, level-1, from, to)
		if err != nil {
			return err
		}
		if err := w.exec("DELETE FROM tiles WHERE series = ? AND level = ? AND first >= ? AND first < ?", series, level,
			from, to); err != nil {
			return err
		}
		for _, g := range groups(parts) {
			if err := w.putTile(series, level, combine(g)); err != nil {
				return err
			}
		}
		var there int
		if err := w.get("SELECT count(*) FROM (SELECT 1 FROM tiles WHERE series = ? AND level = ? LIMIT 2)",
			[]any{series, level}, &there); err != nil {
			return err
		}
		if there < 2 || level == maxLevel {
			return w.top(series, level)
		}
	}
}

// around returns the range of the tile that a point is in or next to, without its end.
func (w *writer) around(series int64, level int, seq int64) (from, to int64, err error) {
	var at, next sql.NullInt64
	err = w.get(`SELECT coalesce((SELECT max(first) FROM tiles WHERE series = ?1 AND level = ?2 AND first <= ?3),
		(SELECT min(first) FROM tiles WHERE series = ?1 AND level = ?2))`, []any{series, level, seq}, &at)
	if err != nil || !at.Valid {
		return math.MinInt64, math.MaxInt64, err
	}
	err = w.get("SELECT min(first) FROM tiles WHERE series = ? AND level = ? AND first > ?",
		[]any{series, level, at.Int64}, &next)
	if !next.Valid {
		next.Int64 = math.MaxInt64
	}
	return min(at.Int64, seq), next.Int64, err
}

// parts returns the tiles of a level, or of level 0 the points.
func (w *writer) parts(series int64, level int, from, to int64) (all []tile, err error) {
	if level > 0 {
		err = w.each(`SELECT first, last, points, min, median, max FROM tiles
			WHERE series = ? AND level = ? AND first >= ? AND first < ? ORDER BY first`, []any{series, level, from, to},
			func(scan func(...any) error) error {
				var t tile
				err := scan(&t.first, &t.last, &t.points, &t.min, &t.median, &t.max)
				all = append(all, t)
				return err
			})
		return all, err
	}
	var values []Value // of the last point
	err = w.each("SELECT seq, runs FROM points WHERE series = ? AND seq >= ? AND seq < ? ORDER BY seq, set_id",
		[]any{series, from, to}, func(scan func(...any) error) error {
			var seq int64
			var raw string
			if err := scan(&seq, &raw); err != nil {
				return err
			}
			more, err := decodeRuns(raw, "", 0)
			if n := len(all); n > 0 && all[n-1].first == seq {
				values, all = append(values, more...), all[:n-1]
			} else {
				values = more
			}
			if err == nil {
				all = append(all, pointTile(seq, values))
			}
			return err
		})
	return all, err
}

// pointTile is that of a point: its median, from the tiles of its values.
func pointTile(seq int64, values []Value) tile {
	parts := make([]tile, len(values))
	for i, v := range values {
		parts[i] = tile{points: 1, median: v.Value}
	}
	m := combine(parts).median
	return tile{seq, seq, 1, m, m, m}
}

func (w *writer) putTile(series int64, level int, t tile) error {
	return w.exec(`INSERT INTO tiles (series, level, first, last, points, min, median, max)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, series, level, t.first, t.last, t.points, t.min, t.median, t.max)
}

// top ends the tiles of a series at a level that has one, and counts the points there.
func (w *writer) top(series int64, level int) error {
	if err := w.exec("DELETE FROM tiles WHERE series = ? AND level > ?", series, level); err != nil {
		return err
	}
	var points int
	var first, last int64
	err := w.get(`SELECT coalesce(sum(points), 0), coalesce(min(first), 0), coalesce(max(last), 0) FROM tiles
		WHERE series = ? AND level = ?`, []any{series, level}, &points, &first, &last)
	if err != nil {
		return err
	}
	parts, err := w.parts(series, 0, last, last+1)
	if err != nil {
		return err
	}
	var latest float64
	for _, p := range parts {
		latest = p.median
	}
	return w.exec("UPDATE series SET points = ?, first = ?, last = ?, latest = ? WHERE id = ?", points, first, last,
		latest, series)
}

// build makes all tiles of a series anew.
func (w *writer) build(series int64) error {
	parts, err := w.parts(series, 0, math.MinInt64, math.MaxInt64)
	if err == nil {
		err = w.exec("DELETE FROM tiles WHERE series = ?", series)
	}
	level := 1
	for ; err == nil; level++ {
		var made []tile
		for g := range slices.Chunk(parts, fan) {
			t := combine(g)
			if err := w.putTile(series, level, t); err != nil {
				return err
			}
			made = append(made, t)
		}
		if parts = made; len(made) < 2 || level == maxLevel {
			break
		}
	}
	if err != nil {
		return err
	}
	return w.top(series, level)
}
