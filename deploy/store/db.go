package store

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/eideticker/eideticker/deploy/store/database"
)

func (s *Store) indexPath() string { return filepath.Join(s.dir, IndexFile) }

// told makes a sentence of an error of the database or the disk, which callers can tell by
// errors.Is.
func told(err error) error {
	if err != nil && database.Full(err) && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}
