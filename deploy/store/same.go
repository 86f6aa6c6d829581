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

// same returns the ID of a stored run or set that equals a verified folder, or "". A run of a set
// counts too. It compares those with the start time of one of its runs. So a run without a start
// time is not found. It reads the compared files from the disk while it holds taking. It does not
// hold change, for which all callers wait.
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
