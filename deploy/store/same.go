package store

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// maxAlike is how many runs that began at the same nanosecond are looked at: no rig makes two.
const maxAlike = 1000

// same returns the ID of what is the same as a folder that was verified, empty if there is none: a
// run, also one of a set, or a folder of runs. Those that begin when one of its runs does are
// compared with it, so what does not tell when it began is not found. That reads what it compares
// from the disk: taking is held, and change is not, for which everybody waits.
func (s *Store) same(ctx context.Context, folder string, c *runzip.Content) (id string, err error) {
	if ns := c.Started.UnixNano(); c.Started.IsZero() || ns <= 0 || ns > maxStart {
		return "", nil
	}
	s.at("receive comparing")
	sum, err := runzip.Sum(folder, c)
	if err != nil {
		return "", err
	}
	tried := map[string]bool{}
	q := Query{From: c.Started, To: c.Started.Add(time.Nanosecond), Limit: MaxLimit}
	for looked := 0; looked < maxAlike; looked += MaxLimit {
		page, err := s.List(ctx, q)
		if err != nil {
			return "", err
		}
		for i := range page.Runs {
			if page.Runs[i].State == unreadable {
				continue
			}
			for _, id := range placesOf(page.Runs[i].ID, c.Runs) {
				if tried[id] {
					continue
				}
				tried[id] = true
				if is, err := s.sumIs(ctx, id, sum); is || err != nil {
					return id, err
				}
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return "", nil
}

// placesOf returns the IDs of the folders that would have a run, if they had runs at some paths.
func placesOf(run string, paths []string) (ids []string) {
	for _, p := range paths {
		if p == "." {
			ids = append(ids, run)
		} else if id, is := strings.CutSuffix(run, "~"+strings.ReplaceAll(p, "/", "~")); is {
			ids = append(ids, id)
		}
	}
	return ids
}

// sumIs says whether a folder has a sum. One that cannot be read as it is now has none.
func (s *Store) sumIs(ctx context.Context, id, sum string) (bool, error) {
	dir := filepath.Clean(s.path(id))
	c, err := runzip.Inspect(ctx, dir)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, nil
	}
	got, err := runzip.Sum(dir, c)
	return err == nil && got == sum, nil
}
