package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/store/database"
)

// racy is how long a folder's time may stay the same after a change though the folder changes
// again. File systems keep time in steps.
const racy = 2 * time.Second

// namesTime is the name of a state: the time of the folder of runs at which its names equalled the
// index's.
const namesTime = "names_time"

// begin notes in the index that a folder below runs/ is going to change. On a full disk the note
// fails, and deleting must still work. The folder's time then reveals the effects of a crash. The
// caller holds change.
func (s *Store) begin(ctx context.Context, name string) error {
	if s.pending.has(name) {
		return nil
	}
	err := s.with(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "INSERT OR IGNORE INTO pending (folder) VALUES (?)", name)
		return err
	})
	if err != nil && !errors.Is(err, ErrNoSpace) {
		return err
	}
	s.pending.add(name)
	return nil
}

// end updates the index for a changed folder. Its context is not a caller's, which may have ended.
func (s *Store) end(ctx context.Context, name string) error {
	ctx = context.WithoutCancel(ctx)
	if err := s.reindex(ctx, name); err != nil {
		return err
	}
	if !s.placed.has(name) {
		s.pending.remove(name)
	}
	return s.settle(ctx)
}

// catchUp brings an index that was just opened up to date.
func (s *Store) catchUp(ctx context.Context) error {
	names, err := column(ctx, s.db, "SELECT folder FROM pending")
	if err != nil {
		return err
	}
	for _, name := range names {
		s.Log.Info("checking a folder that was being changed when the program ended", "folder", name)
		if err := s.reindex(ctx, name); err != nil {
			return err
		}
	}
	return s.settle(ctx)
}

// settle updates the names of folders in the index if the time of the folder of runs has changed.
// It reads names only. The store itself changes the content of existing folders. Other programs
// that do must call Reconcile.
func (s *Store) settle(ctx context.Context) error {
	st, err := os.Stat(filepath.Join(s.dir, runsDir))
	if err != nil {
		return err
	}
	var known int64
	err = s.with(ctx, func(db *sql.DB) error {
		err := db.QueryRowContext(ctx, "SELECT value FROM state WHERE name = ?", namesTime).Scan(&known)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil || known == st.ModTime().UnixNano() {
		return err
	}
	if err := s.compareNames(ctx); err != nil {
		return err
	}
	if since := time.Since(st.ModTime()); since < racy {
		return nil // the next one looks again
	}
	return s.with(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "INSERT OR REPLACE INTO state (name, value) VALUES (?, ?)", namesTime,
			st.ModTime().UnixNano())
		return err
	})
}

// compareNames reads folders that are new, and forgets those that have gone.
func (s *Store) compareNames(ctx context.Context) error {
	there, err := s.names()
	if err != nil {
		return err
	}
	var known []string
	err = s.with(ctx, func(db *sql.DB) (err error) {
		known, err = column(ctx, db, "SELECT name FROM folders ORDER BY name")
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range differing(there, known) {
		if err := s.reindex(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// differing returns the elements that only one of two sorted lists has.
func differing(a, b []string) (all []string) {
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0], b[0]); {
		case c < 0:
			all, a = append(all, a[0]), a[1:]
		case c > 0:
			all, b = append(all, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return slices.Concat(all, a, b)
}

// names lists the folders below runs/, sorted.
func (s *Store) names() ([]string, error) {
	dir, err := s.root.Open(runsDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // was only read
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && CheckID(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// rebuild makes the index anew from the folders. Nobody uses the old one.
func (s *Store) rebuild(ctx context.Context) error {
	db, err := indexSchema.Create(ctx, s.indexPath())
	if err != nil {
		return err
	}
	if err := s.fill(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	s.counts.clear()
	return nil
}

// fill reads all folders into an empty index.
func (s *Store) fill(ctx context.Context, db *sql.DB) error {
	st, err := os.Stat(filepath.Join(s.dir, runsDir))
	if err != nil {
		return err
	}
	names, err := s.names()
	if err != nil {
		return err
	}
	const batch = 100 // folders in a transaction
	done := 0
	for some := range slices.Chunk(names, batch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.fillSome(ctx, db, some); err != nil {
			return err
		}
		if done += len(some); s.Progress != nil {
			s.Progress(done, len(names))
		}
		s.at("rebuild some")
	}
	err = s.update(ctx, db, func(tx *sql.Tx) error {
		for _, name := range s.pending.list() {
			if _, err := tx.ExecContext(ctx, "INSERT INTO pending (folder) VALUES (?)", name); err != nil {
				return err
			}
		}
		if time.Since(st.ModTime()) < racy {
			return nil
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO state (name, value) VALUES (?, ?)", namesTime,
			st.ModTime().UnixNano())
		return err
	})
	if err != nil {
		return err
	}
	s.at("rebuild filled")
	if err := indexSchema.Finish(ctx, db); err != nil {
		return err
	}
	s.at("rebuild finished")
	if len(names) > 0 {
		s.Log.Info("the index of runs was made anew", "folders", len(names))
	}
	return nil
}

func (s *Store) fillSome(ctx context.Context, db *sql.DB, names []string) error {
	return s.update(ctx, db, func(tx *sql.Tx) error {
		for _, name := range names {
			if err := putFolder(ctx, tx, &folder{name, s.readFolder(name, nil)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// renew makes an index anew that is in use. Of several who want that, the first does it.
func (s *Store) renew(ctx context.Context, generation uint64) error {
	s.index.Lock()
	defer s.index.Unlock()
	if s.db == nil || s.generation != generation {
		return nil
	}
	s.generation++
	old := s.db
	s.db = nil
	_ = old.Close() // it is damaged
	return s.rebuild(context.WithoutCancel(ctx))
}

// Reconcile compares the whole index with all folders. It repairs it where another program has
// changed files. It reads every folder, so call it rarely. It returns how many folders below runs/
// differed from the index.
func (s *Store) Reconcile(ctx context.Context, progress func(done, total int)) (changed int, err error) {
	if err := s.checkIndex(ctx); err != nil {
		return 0, err
	}
	names, err := s.allNames(ctx)
	if err != nil {
		return 0, err
	}
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		differs, err := s.reconcile(ctx, name)
		if err != nil {
			return changed, fmt.Errorf("%s: %w", name, err)
		}
		if differs {
			changed++
		}
		if progress != nil {
			progress(i+1, len(names))
		}
	}
	return changed, nil
}

// checkIndex has the database look for damage in itself.
func (s *Store) checkIndex(ctx context.Context) error {
	return s.with(ctx, func(db *sql.DB) error {
		found, err := column(ctx, db, "PRAGMA quick_check(1)")
		if err != nil {
			return err
		}
		if len(found) != 1 || found[0] != "ok" {
			return fmt.Errorf("%w: %s", database.ErrDamaged, strings.Join(found, "; "))
		}
		return nil
	})
}

func (s *Store) allNames(ctx context.Context) ([]string, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	err = s.with(ctx, func(db *sql.DB) error {
		known, err := column(ctx, db, "SELECT name FROM folders")
		names = append(names, known...)
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

func (s *Store) reconcile(ctx context.Context, name string) (differs bool, err error) {
	s.change.Lock()
	defer s.change.Unlock()
	if s.placed.has(name) { // who makes it tells
		return false, nil
	}
	err = s.with(ctx, func(db *sql.DB) error {
		known, err := knownRuns(ctx, db, name)
		if err != nil {
			return err
		}
		rows := s.readFolder(name, known)
		differs = len(rows) != len(known) || slices.ContainsFunc(rows, func(r row) bool { return !r.kept })
		return nil
	})
	if err != nil || !differs {
		return false, err
	}
	return true, s.reindex(ctx, name)
}

// column reads the only column of a query.
func column(ctx context.Context, db *sql.DB, query string, args ...any) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its errors are those of Err
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}
