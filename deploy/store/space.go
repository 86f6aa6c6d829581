package store

import (
	"context"
	"database/sql"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/store/unused"
)

// Space returns the bytes of all runs in the index and of archives, traces and caches. It also
// returns the free bytes.
func (s *Store) Space() (used, free int64, err error) {
	if free, err = staging.FreeBytes(s.dir); err != nil {
		return 0, 0, err
	}
	_, others, err := unused.Clean(s.dir, unused.Options{})
	if err != nil {
		return 0, 0, err
	}
	err = s.with(context.Background(), func(db *sql.DB) error {
		n, err := s.counts.of(context.Background(), db, "SELECT coalesce(sum(bytes), 0) FROM runs", nil)
		used = int64(n) + others
		return err
	})
	return used, free, err
}
