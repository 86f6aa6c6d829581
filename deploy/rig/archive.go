package rig

import (
	"context"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// newArchive returns the copier of runs; nil: none is configured.
func (s *Rig) newArchive() *store.Archive {
	if s.conf.Store.Archive == config.ArchiveNever {
		return nil
	}
	return &store.Archive{Store: s.store, Dir: s.conf.Store.ArchiveDir, Wanted: s.archived, Log: s.log,
		Working: func(id string) bool {
			j, is := s.daemon.Queue().Job(id)
			return is && (j.State == "queued" || j.State == "running")
		},
		Quiet: func(ctx context.Context, work func() error) error { return s.daemon.Quiet(ctx, work) }}
}

// archived chooses the runs that are archived. Regressions are the points beside confirmed changes,
// and the fresh runs that confirmed them.
func (s *Rig) archived(ctx context.Context) (func(id string, pinned bool) bool, error) {
	if s.conf.Store.Archive != config.ArchiveRegressions {
		return func(_ string, pinned bool) bool { return pinned || s.conf.Store.Archive == config.ArchiveAll }, nil
	}
	sets, looks := map[string]bool{}, map[int64]string{}
	if s.trends != nil {
		changes, err := s.trends.Changes(ctx, api.ChangeListParams{State: "confirmed", Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, x := range changes {
			for _, seq := range []int64{x.FirstSeq, x.LastSeq} {
				points, err := s.trends.Points(ctx, x.Series, seq, seq, 1)
				if err != nil {
					return nil, err
				}
				for _, p := range points {
					sets[p.Set] = true
				}
			}
			sets[x.Set], looks[x.ID] = true, fmt.Sprintf("s-%06d-", x.LastSeq)
		}
	}
	return func(id string, _ bool) bool {
		for change, prefix := range looks {
			if sets[id] || !strings.HasPrefix(id, prefix) {
				continue
			}
			if o, _, err := s.readSet(ctx, id); err == nil && o.Kind == trend.KindConfirm && o.Change == change {
				return true
			}
		}
		return sets[id]
	}, nil
}
