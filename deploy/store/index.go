package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/store/database"
)

// folder has the data of a folder below runs/.
type folder struct {
	name string
	rows []row
}

// alone says that the folder is a run itself.
func (f *folder) alone() bool { return len(f.rows) == 1 && f.rows[0].ID == f.name }

// reindex updates the index for a folder below runs/. The folder is then no longer pending, unless
// a run is being made there. The caller holds change.
func (s *Store) reindex(ctx context.Context, name string) error {
	return s.with(ctx, func(db *sql.DB) error {
		known, err := knownRuns(ctx, db, name)
		if err != nil {
			return err
		}
		rows := s.readFolder(name, known)
		return s.update(ctx, db, func(tx *sql.Tx) error {
			if err := putFolder(ctx, tx, &folder{name, rows}); err != nil {
				return err
			}
			if s.placed.has(name) {
				return nil
			}
			_, err := tx.ExecContext(ctx, "DELETE FROM pending WHERE folder = ?", name)
			return err
		})
	})
}

// update has work done in a transaction.
func (s *Store) update(ctx context.Context, db *sql.DB, work func(*sql.Tx) error) error {
	if err := database.Update(ctx, db, work); err != nil {
		return err
	}
	s.counts.clear()
	return nil
}

func knownRuns(ctx context.Context, db *sql.DB, folder string) (stamps, error) {
	known := stamps{}
	rows, err := db.QueryContext(ctx, "SELECT id, stamp FROM runs WHERE folder = ? AND state <> ?", folder,
		session.Running)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its errors are those of Err
	for rows.Next() {
		var id, stamp string
		if err := rows.Scan(&id, &stamp); err != nil {
			return nil, err
		}
		known[id] = stamp
	}
	return known, rows.Err()
}

// putFolder replaces the index's data of a folder.
func putFolder(ctx context.Context, tx *sql.Tx, f *folder) error {
	there, err := keysOf(ctx, tx, f.name)
	if err != nil {
		return err
	}
	keys, err := f.removeChanged(ctx, tx, there)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		_, err := tx.ExecContext(ctx, "DELETE FROM folders WHERE name = ?", f.name)
		return err
	}
	first := slices.Min(keys)
	if err := moveFolder(ctx, tx, f, first); err != nil {
		return err
	}
	for i := range f.rows {
		if r := &f.rows[i]; !r.kept {
			if err := putRun(ctx, tx, keys[i], first, f, r); err != nil {
				return fmt.Errorf("%s: %w", r.ID, err)
			}
		}
	}
	return nil
}

// removeChanged removes the runs from the index that have changed. It returns the key of each run
// of the folder.
func (f *folder) removeChanged(ctx context.Context, tx *sql.Tx, there map[string]int64) ([]int64, error) {
	keys := make([]int64, len(f.rows))
	for i := range f.rows {
		if r := &f.rows[i]; r.kept {
			keys[i] = there[r.ID]
			delete(there, r.ID)
		}
	}
	for _, key := range there {
		if err := removeRun(ctx, tx, key); err != nil {
			return nil, err
		}
	}
	taken := map[int64]bool{}
	for i := range f.rows {
		if r := &f.rows[i]; !r.kept {
			key, err := freeKey(ctx, tx, keyOf(r.Started, r.ID), taken)
			if err != nil {
				return nil, err
			}
			keys[i], taken[key] = key, true
		}
	}
	return keys, nil
}

// moveFolder sets a folder's place in time.
func moveFolder(ctx context.Context, tx *sql.Tx, f *folder, first int64) error {
	var before int64
	err := tx.QueryRowContext(ctx, "SELECT key FROM folders WHERE name = ?", f.name).Scan(&before)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil && before != first {
		_, err = tx.ExecContext(ctx,
			"UPDATE points SET folder_key = ? WHERE key IN (SELECT key FROM runs WHERE folder = ?)", first, f.name)
		if err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO folders (name, key, alone) VALUES (?, ?, ?)", f.name, first,
		f.alone())
	return err
}

func keysOf(ctx context.Context, tx *sql.Tx, folder string) (map[string]int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, key FROM runs WHERE folder = ?", folder)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its errors are those of Err
	keys := map[string]int64{}
	for rows.Next() {
		var id string
		var key int64
		if err := rows.Scan(&id, &key); err != nil {
			return nil, err
		}
		keys[id] = key
	}
	return keys, rows.Err()
}

// freeKey returns a key that no run has, or the next one.
func freeKey(ctx context.Context, tx *sql.Tx, key int64, taken map[int64]bool) (int64, error) {
	for ; ; key++ {
		if taken[key] {
			continue
		}
		var one int
		err := tx.QueryRowContext(ctx, "SELECT 1 FROM runs WHERE key = ?", key).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			return key, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func removeRun(ctx context.Context, tx *sql.Tx, key int64) error {
	for _, q := range []string{
		"DELETE FROM runs WHERE key = ?", "DELETE FROM details WHERE key = ?", "DELETE FROM points WHERE key = ?",
		"DELETE FROM words WHERE rowid = ?",
	} {
		if _, err := tx.ExecContext(ctx, q, key); err != nil {
			return err
		}
	}
	return nil
}

func putRun(ctx context.Context, tx *sql.Tx, key, first int64, f *folder, r *row) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO runs (key, folder, alone, stamp, "+runColumns+") VALUES (?, ?, ?, ?"+
		strings.Repeat(", ?", columnCount)+")",
		slices.Concat([]any{key, f.name, f.alone(), r.stamp}, r.columns())...)
	if err != nil {
		return err
	}
	environment, err := json.Marshal(r.Environment)
	if err != nil {
		return err
	}
	values, err := json.Marshal(r.Values)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO details (key, environment, run_values) VALUES (?, ?, ?)", key,
		string(environment), string(values)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)", key, r.words()); err != nil {
		return err
	}
	return putPoints(ctx, tx, key, first, r)
}

// words are what a run is found by.
func (r *Run) words() string {
	return strings.Join([]string{r.ID, r.Test, r.Device, r.Browser, r.Build, r.Label, r.Branch, r.Revision,
		string(r.State), string(r.Verdict), r.Reason}, "\n")
}

// putPoints keeps the values of a run that counts.
func putPoints(ctx context.Context, tx *sql.Tx, key, first int64, r *row) error {
	if !r.Counts() || len(r.Values) == 0 {
		return nil
	}
	put, err := tx.PrepareContext(ctx, `INSERT INTO points (measure, name, test, folder_key, key, place, window,
		device, browser, branch, value, low, high, unit, state, better, threshold, version)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer put.Close() // ends with the transaction
	for _, v := range r.Values {
		_, err := put.ExecContext(ctx, v.Measure, v.Name, r.Test, first, key, v.Place, v.Window, r.Device, r.Browser,
			r.Branch,
			v.Value, v.Low, v.High, v.Unit, v.State, v.Better, v.Threshold, v.Version)
		if err != nil {
			return err
		}
	}
	return nil
}
