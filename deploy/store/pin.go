package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// Pin protects a run, or all runs of a set, from deletion, or ends that. It is a file in each run's
// folder, so the results stay unchanged.
func (s *Store) Pin(ctx context.Context, id string, pinned bool) error {
	if err := CheckID(id); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	if err := s.there(id); err != nil {
		return err
	}
	runs, err := s.pinnable(ctx, id)
	if err != nil {
		return fmt.Errorf("pin %s: %w", id, err)
	}
	if err := s.begin(ctx, topOf(id)); err != nil {
		return fmt.Errorf("pin %s: %w", id, err)
	}
	s.at("pin noted")
	var changed error
	for _, run := range runs {
		changed = errors.Join(changed, s.mark(path.Join(pathOf(run), pinnedFile), pinned))
	}
	s.at("pin written")
	if err := errors.Join(changed, s.end(ctx, topOf(id))); err != nil {
		return fmt.Errorf("pin %s: %w", id, told(err))
	}
	s.at("pin indexed")
	return nil
}

// Supersede has a set or a single run deleted before others when there is too little room.
func (s *Store) Supersede(id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	if err := s.there(id); err != nil {
		return err
	}
	return told(s.mark(path.Join(pathOf(id), oldFile), true))
}

// pinnable returns the runs that an ID stands for: itself, or those of a set or of a part of one.
func (s *Store) pinnable(ctx context.Context, id string) (runs []string, err error) {
	entries, err := s.entries(pathOf(id))
	if err != nil || runzip.IsRun(entries) {
		return []string{id}, err
	}
	all, err := s.runsBelow(ctx, topOf(id))
	for _, r := range all {
		if within(r.ID, id) {
			runs = append(runs, r.ID)
		}
	}
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("it has no runs: %w", ErrNotFound)
	}
	return runs, err
}

// mark makes a file be there or not.
func (s *Store) mark(file string, there bool) error {
	if !there {
		err := s.root.Remove(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	f, err := s.root.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	return f.Close()
}
