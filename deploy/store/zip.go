package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// Zip writes the folder of a run or a set as a zip file. One that is deleted meanwhile is written
// to the end; one that is not there is ErrNotFound, and nothing is written.
func (s *Store) Zip(ctx context.Context, id string, to io.Writer) error {
	release, err := s.Use(id)
	if err != nil {
		return err
	}
	defer release()
	root, err := s.Folder(id)
	if err != nil {
		return err
	}
	defer root.Close() // was only read
	if err := runzip.Pack(ctx, root, to, nil); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("%s: %w", id, ErrNotFound))
		}
		return fmt.Errorf("zip %s: %w", id, err)
	}
	return nil
}
