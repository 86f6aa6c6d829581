package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Delete deletes a run, or all or a part of a set. It is gone for everybody at once, though readers
// of its files (Use) can finish. The last run of a set takes the set with it. Runs in progress,
// pinned ones and baselines are refused.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	s.change.Lock()
	waste, err := s.delete(ctx, id)
	s.change.Unlock()
	if waste == "" {
		return err
	}
	return errors.Join(err, s.discard(ctx, id, waste))
}

// delete moves a folder to the trash and returns its name there.
func (s *Store) delete(ctx context.Context, id string) (waste string, err error) {
	whole, err := s.deletable(ctx, id)
	if err != nil {
		return "", err
	}
	if err := s.begin(ctx, topOf(id)); err != nil {
		return "", fmt.Errorf("delete %s: %w", id, err)
	}
	s.at("delete noted")
	waste = path.Join(trashDir, rand.Text())
	if err := s.root.Rename(pathOf(whole), waste); err != nil {
		return "", errors.Join(fmt.Errorf("delete %s: %w", id, err), s.end(ctx, topOf(id)))
	}
	s.at("delete moved")
	err = s.end(ctx, topOf(id))
	if errors.Is(err, ErrNoSpace) {
		s.spendReserve()
		err = s.end(ctx, topOf(id))
	}
	s.at("delete indexed")
	return waste, err
}

// deletable returns the folder that goes with an ID: all of a set whose last run it is.
func (s *Store) deletable(ctx context.Context, id string) (string, error) {
	top := topOf(id)
	runs, err := s.runsBelow(ctx, top)
	if err != nil {
		return "", err
	}
	if err := s.there(id); err != nil {
		return "", errors.Join(err, s.forget(ctx, top, len(runs)))
	}
	if s.placed.has(top) {
		return "", fmt.Errorf("%s: %w: runs are being made there", id, ErrInUse)
	}
	others := 0
	for _, r := range runs {
		if !within(r.ID, id) {
			others++
			continue
		}
		if r.Pinned {
			return "", fmt.Errorf("%s: %w: unpin %s first", id, ErrPinned, r.ID)
		}
	}
	if others == 0 {
		id = top
	}
	name, err := s.baselines.of(id)
	if err != nil {
		return "", err
	}
	if name != "" {
		return "", fmt.Errorf("%s: %w as the baseline %q: choose another one first", id, ErrPinned, name)
	}
	return id, nil
}

// forget brings the index up to date with a folder that is not as the index has it.
func (s *Store) forget(ctx context.Context, top string, known int) error {
	if known == 0 {
		return nil
	}
	return s.reindex(context.WithoutCancel(ctx), top)
}

// discard removes a folder from the trash, when nobody reads it any more.
func (s *Store) discard(ctx context.Context, id, waste string) error {
	if s.uses.later(id, waste) {
		return nil
	}
	if err := s.root.RemoveAll(waste); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: its files are in the trash, and stay there until the store is opened again: %w",
			id, err)
	}
	s.at("delete removed")
	s.change.Lock()
	defer s.change.Unlock()
	s.keepReserve()
	return nil
}
