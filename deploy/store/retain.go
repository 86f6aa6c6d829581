package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/store/unused"
)

// Retain deletes runs, the oldest first, until the policy holds, and returns their IDs. First it
// removes archives, traces and caches. Later runs make those again. If there is too little room,
// superseded runs go before others. These runs stay:
//
//   - pinned runs.
//   - baselines and their parts.
//   - runs in use, in progress or unreadable.
//
// If the policy cannot be met because of these, the log says so.
//
// A run of the last hour is not deleted for free space. On a disk that other programs fill, new
// runs would be deleted at once. Age is by the wall clock. If that was set back, earlier runs count
// as too young for a while, and stay.
func (s *Store) Retain(ctx context.Context, p Policy) (deleted []string, err error) {
	if _, err := s.Baselines(); err != nil {
		return nil, err
	}
	if err := s.retainUnused(p); err != nil {
		s.Log.Warn("unused files could not be removed", "why", err) // runs can
	}
	first, err := s.superseded(ctx, p)
	if err != nil {
		return nil, err
	}
	kept := map[string]int{}
	from := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
		why, least, err := s.exceeded(ctx, p)
		if err != nil {
			return deleted, err
		}
		id, key, started, err := s.oldest(ctx, from, kept, first)
		if err != nil {
			return deleted, err
		}
		if first != nil && (why == "" || id == "" || time.Since(started) < least) {
			first, from = nil, 0 // then all others
			clear(kept)
			continue
		}
		if why == "" && (id == "" || p.MaxAge <= 0 || time.Since(started) <= p.MaxAge) {
			return deleted, nil
		}
		if id != "" && why != "" && time.Since(started) < least { // and so are all after it
			s.Log.Error("the policy for old runs cannot be kept: all that may be deleted is too new", "why", why,
				"kept", fmt.Sprint(kept))
			return deleted, nil
		}
		if id == "" {
			s.Log.Warn("the policy for old runs cannot be kept: no run is left that may be deleted", "why", why, "kept",
				fmt.Sprint(kept))
			return deleted, nil
		}
		from = key
		switch err := s.Delete(ctx, id); {
		case errors.Is(err, ErrNotFound):
		case errors.Is(err, ErrInUse), errors.Is(err, ErrPinned):
			kept["in use"]++
		case err != nil:
			return deleted, err
		default:
			s.Log.Info("an old run was deleted", "id", id, "started", started, "why", why)
			deleted = append(deleted, id)
		}
	}
}

// superseded returns the superseded sets and single runs. Without one, or with enough room, it
// returns nil.
func (s *Store) superseded(ctx context.Context, p Policy) (map[string]bool, error) {
	why, _, err := s.exceeded(ctx, p)
	if err != nil || why == "" {
		return nil, err
	}
	names, err := s.names()
	var all map[string]bool
	for _, id := range names {
		if _, err := s.root.Stat(path.Join(pathOf(id), oldFile)); err == nil {
			if all == nil {
				all = map[string]bool{}
			}
			all[id] = true
		}
	}
	return all, err
}

// retainUnused removes archives, traces and caches that expired, and those without which the policy
// holds.
func (s *Store) retainUnused(p Policy) error {
	remove := unused.Options{Age: p.UnusedAge, Remove: true}
	old, left, err := unused.Clean(s.dir, remove)
	if err == nil && left > 0 && (p.MaxBytes > 0 || p.MinFree > 0) {
		var used, free int64
		if used, free, err = s.Space(); err == nil {
			over := max(p.MinFree-free, 0)
			if p.MaxBytes > 0 {
				over = max(over, used-p.MaxBytes)
			}
			var more []unused.File
			remove.Limit, remove.Bytes = over > 0, max(0, left-over)
			more, _, err = unused.Clean(s.dir, remove)
			old = append(old, more...)
		}
	}
	for _, f := range old {
		s.Log.Info("an unused file was removed", "file", f.Name, "bytes", f.Bytes, "used", f.Used, "why", f.Why)
	}
	return err
}

// minAge is that of runs that are deleted for free space.
const minAge = time.Hour

// exceeded returns the part of a policy that is not met, apart from the age of runs. It also
// returns the minimum age of runs to be deleted for it.
func (s *Store) exceeded(ctx context.Context, p Policy) (why string, least time.Duration, err error) {
	if p.MaxBytes <= 0 && p.MinFree <= 0 {
		return "", 0, nil
	}
	used, free, err := s.Space()
	if err != nil {
		return "", 0, err
	}
	switch {
	case p.MaxBytes > 0 && used > p.MaxBytes:
		return fmt.Sprintf("the store has %d bytes, and may have %d by store.max_bytes", used, p.MaxBytes), 0, nil
	case p.MinFree > 0 && free < p.MinFree:
		return tooLittle(free, p.MinFree), minAge, nil
	}
	return "", 0, nil
}

func tooLittle(free, least int64) string {
	return fmt.Sprintf("%d bytes are free on the disk, and %d are to stay free by store.min_free", free, least)
}

// Room says that there is less free on the disk than runs are to leave, as ErrNoSpace.
func (s *Store) Room(p Policy) error {
	free, err := staging.FreeBytes(s.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // writing tells
	}
	if err == nil && free < p.MinFree {
		err = fmt.Errorf("%w: %s", ErrNoSpace, tooLittle(free, p.MinFree))
	}
	return err
}

// oldest returns the first run behind a key that may be deleted, and counts those before it that
// may not. With tops, it looks at their runs alone.
func (s *Store) oldest(ctx context.Context, from int64, kept map[string]int, tops map[string]bool) (id string,
	key int64, started time.Time, err error) {
	err = s.with(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "SELECT key, "+runColumns+" FROM runs WHERE key > ? ORDER BY key", from)
		if err != nil {
			return err
		}
		defer rows.Close() // its errors are those of Err
		for rows.Next() {
			var r Run
			if err := r.scan(rows, &key); err != nil {
				return err
			}
			if tops != nil && !tops[topOf(r.ID)] {
				continue
			}
			why := s.keeps(&r)
			if why == "" {
				id, started = r.ID, r.Started
				return nil
			}
			kept[why]++
		}
		return rows.Err()
	})
	return id, key, started, err
}

// keeps says why a run stays; empty: it may go.
func (s *Store) keeps(r *Run) string {
	switch {
	case r.Pinned:
		return "pinned"
	case r.State == unreadable:
		return "unreadable"
	case s.placed.has(topOf(r.ID)), s.uses.has(r.ID), r.State == session.Running:
		return "in use"
	case s.baselines.keep(r.ID):
		return "baselines"
	}
	return ""
}
