package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// nameTime is how a folder's name begins: when it was made, in UTC.
const nameTime = "20060102-150405"

// rejectedBeside ends the name of the folder for rejected attempts, which package session makes
// beside a single run's.
const rejectedBeside = "-rejected"

// Place chooses the folder of a run or set to be made, and reserves the name until Add. It does not
// make the folder.
func (s *Store) Place(test string) (dir string, err error) {
	s.change.Lock()
	defer s.change.Unlock()
	name, err := s.freeName(time.Now(), test)
	if err != nil {
		return "", fmt.Errorf("place a run: %w", err)
	}
	if err := s.begin(context.Background(), name); err != nil {
		return "", fmt.Errorf("place a run: %w", err)
	}
	s.placed.add(name)
	s.at("placed")
	return s.path(name), nil
}

// PlaceAgain reserves a name again until Add. Place has given it to a program that has ended since,
// for a run that is still to be made.
func (s *Store) PlaceAgain(id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if id != topOf(id) {
		return fmt.Errorf("place %s again: that is not a folder of its own", id)
	}
	s.change.Lock()
	defer s.change.Unlock()
	if err := s.begin(context.Background(), id); err != nil {
		return fmt.Errorf("place %s again: %w", id, err)
	}
	s.placed.add(id)
	return nil
}

// freeName makes a name that no run has, also where the clock was set back and has been there
// before.
func (s *Store) freeName(at time.Time, test string) (string, error) {
	if test = plainName(test); test == "" {
		test = "recording"
	}
	for range 100 {
		end := strings.ToLower(rand.Text()[:4])
		name := fmt.Sprintf("%s-%s-%s", at.UTC().Format(nameTime), test, end)
		_, err := s.root.Lstat(pathOf(name))
		if err == nil || s.placed.has(name) {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		return "", err
	}
	return "", errors.New("no free name was found")
}

// plainName leaves of a name what an ID may have.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, clip(name, 80))
	return strings.Trim(name, "-.")
}

// path is where a folder is on the system.
func (s *Store) path(id string) string { return filepath.Join(s.dir, filepath.FromSlash(pathOf(id))) }

// Refresh updates the index for a folder of Place or one below, while a run is being made there.
func (s *Store) Refresh(ctx context.Context, dir string) error {
	id, err := s.ID(dir)
	if err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	return s.take(ctx, topOf(id))
}

// Add is Refresh for the last time: what Place has named is not kept any longer. The folder may not
// be there, if the run never began.
func (s *Store) Add(ctx context.Context, dir string) error {
	id, err := s.ID(dir)
	if err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	s.placed.remove(topOf(id))
	return s.take(ctx, topOf(id))
}

func (s *Store) take(ctx context.Context, name string) error {
	beside := name + rejectedBeside
	if st, err := s.root.Lstat(pathOf(beside)); err == nil && st.IsDir() {
		if err := s.reindex(ctx, beside); err != nil {
			return fmt.Errorf("index %s: %w", beside, err)
		}
	}
	if err := s.end(ctx, name); err != nil {
		return fmt.Errorf("index %s: %w", name, err)
	}
	return nil
}

// ID returns the ID of a folder below the folder of runs.
func (s *Store) ID(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(filepath.Join(s.dir, runsDir), abs)
	if err != nil {
		return "", fmt.Errorf("%s is outside %s", dir, filepath.Join(s.dir, runsDir))
	}
	id := strings.ReplaceAll(filepath.ToSlash(rel), "/", "~")
	return id, CheckID(id)
}

// Path returns where the folder of a run or a set is, for packages that take a path.
func (s *Store) Path(id string) (string, error) {
	if err := s.there(id); err != nil {
		return "", err
	}
	return s.path(id), nil
}

// Folder opens the folder of a run or a set. Paths opened through it cannot leave it. A folder that
// is deleted meanwhile may lose its files.
func (s *Store) Folder(id string) (*os.Root, error) {
	if err := s.there(id); err != nil {
		return nil, err
	}
	root, err := s.root.OpenRoot(pathOf(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return root, err
}

// there says whether an ID has a folder.
func (s *Store) there(id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	st, err := s.root.Lstat(pathOf(id))
	if err == nil && !st.IsDir() || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return err
}
