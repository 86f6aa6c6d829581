package store

import (
	"context"
	"database/sql"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// Space returns how many bytes all runs have, as the index knows, and how many are free.
func (s *Store) Space() (used, free int64, err error) {
	if free, err = staging.FreeBytes(s.dir); err != nil {
		return 0, 0, err
	}
	err = s.with(context.Background(), func(db *sql.DB) error {
		n, err := s.counts.of(context.Background(), db, "SELECT coalesce(sum(bytes), 0) FROM runs", nil)
		used = int64(n)
		return err
	})
	return used, free, err
}
