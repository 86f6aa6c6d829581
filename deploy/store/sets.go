package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/controller/session"
)

// Sets returns a page of sets, newest first by their first run. A set is wanted if one of its runs
// is.
func (s *Store) Sets(ctx context.Context, q Query) (page SetPage, err error) {
	w, limit, from, err := q.page()
	if err != nil {
		return page, err
	}
	condition, args := "", []any{false}
	if len(w.conditions) > 0 {
		condition, args = " AND name IN (SELECT folder"+w.from()+")", append(args, w.args...)
	}
	err = s.with(ctx, func(db *sql.DB) (err error) {
		page = SetPage{}
		if page.Total, err = s.counts.of(ctx, db, "SELECT count(*) FROM folders WHERE alone = ?"+condition,
			args); err != nil {
			return err
		}
		query := "SELECT name FROM folders WHERE alone = ?" + condition + " AND key < ? ORDER BY key DESC LIMIT ?"
		names, err := column(ctx, db, query, append(slices.Clone(args), from, limit+1)...)
		if err != nil {
			return err
		}
		return page.fill(ctx, db, names, limit)
	})
	return page, err
}

func (p *SetPage) fill(ctx context.Context, db *sql.DB, names []string, limit int) error {
	for i, name := range names {
		if i == limit {
			var key int64
			if err := db.QueryRowContext(ctx, "SELECT key FROM folders WHERE name = ?", names[i-1]).Scan(
				&key); err != nil {
				return err
			}
			p.Next = cursor(key)
			break
		}
		runs, err := runsOf(ctx, db, name)
		if err != nil {
			return err
		}
		if len(runs) > 0 { // else it was deleted since
			p.Sets = append(p.Sets, setOf(name, runs))
		}
	}
	return nil
}

// GetSet returns a set.
func (s *Store) GetSet(ctx context.Context, id string) (Set, error) {
	if err := s.there(id); err != nil {
		return Set{}, err
	}
	runs, err := s.runsBelow(ctx, id)
	if err != nil {
		return Set{}, err
	}
	if len(runs) == 0 || runs[0].ID == id {
		return Set{}, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return setOf(id, runs), nil
}

// setOf adds up the runs of a set, oldest first.
func setOf(id string, runs []Run) Set {
	first := &runs[0]
	set := Set{
		ID: id, Test: first.Test, Label: first.Label, Branch: first.Branch, Revision: first.Revision,
		Started: first.Started, Runs: len(runs),
		States: map[session.State]int{},
	}
	for i := range runs {
		r := &runs[i]
		set.States[r.State]++
		set.Bytes += r.Bytes
		if r.Counts() {
			set.Counting++
		}
		if r.Pinned {
			set.Pinned++
		}
		set.Devices = append(set.Devices, r.Device)
		set.Browsers = append(set.Browsers, r.Browser)
		if r.Verdict != "" {
			set.Verdicts = append(set.Verdicts, r.Verdict)
		}
	}
	slices.Sort(set.Verdicts)
	set.Verdicts = slices.Compact(set.Verdicts)
	for _, names := range []*[]string{&set.Devices, &set.Browsers} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return set
}
