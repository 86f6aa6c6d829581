package server

import (
	"context"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// Engine makes the runs of schedules and bisections.
type Engine interface {
	// Confirm queues fresh runs that judge a change.
	Confirm(ctx context.Context, change int64) error
	// Budget returns the account of false alarms.
	Budget() api.Budget
	Schedules
	// ReleasePattern returns the pattern of a schedule's releases; "": it has none.
	ReleasePattern(schedule string) string
	StartBisect(ctx context.Context, owner string, p api.BisectParams) (api.Bisect, error)
	Bisect(id string) (api.Bisect, error)
	Bisects() api.Bisects
	CancelBisect(id, by string) (api.Bisect, error)
}

// trends makes a handler of a method that reads series.
func trends[P, R any](s *Server, read func(*trend.DB, context.Context, P) (R, error)) handler {
	return method(func(ctx context.Context, _ *call, p P) (out R, err error) {
		if err := s.hasTrends(); err != nil {
			return out, err
		}
		return read(s.o.Trends, ctx, p)
	})
}

func (s *Server) hasTrends() error {
	if s.o.Trends == nil {
		return api.Errorf(api.Unavailable, "this rig has no series: it has no schedules or feeds")
	}
	return nil
}

// bisects makes a handler of a method of bisections.
func bisects[P, R any](s *Server, do func(e Engine, ctx context.Context, c *call, p P) (R, error)) handler {
	return method(func(ctx context.Context, c *call, p P) (out R, err error) {
		if s.o.Engine == nil {
			return out, api.Errorf(api.Unavailable, "this rig cannot bisect: it has no feeds")
		}
		return do(s.o.Engine, ctx, c, p)
	})
}

func (s *Server) startBisect(e Engine, ctx context.Context, c *call, p api.BisectParams) (api.Bisect, error) {
	out, err := e.StartBisect(ctx, c.owner(), p)
	return out, s.did(c, err, "bisection started", "bisect", out.ID)
}

func (s *Server) cancelBisect(e Engine, _ context.Context, c *call, p api.BisectID) (api.Bisect, error) {
	b, err := e.Bisect(p.Bisect)
	if err == nil && !c.may(b.Owner) {
		err = api.Errorf(api.Forbidden, "bisection %s is of %s", p.Bisect, b.Owner)
	}
	if err != nil {
		return b, err
	}
	b, err = e.CancelBisect(p.Bisect, c.owner())
	return b, s.did(c, err, "bisection cancelled", "bisect", p.Bisect)
}

func (s *Server) confirm(ctx context.Context, c *call, p api.ChangeID) (out api.SeriesShift, err error) {
	if s.o.Trends == nil || s.o.Engine == nil {
		return out, api.Errorf(api.Unavailable, "this rig cannot confirm changes: it has no schedules or feeds")
	}
	if err := s.o.Engine.Confirm(ctx, p.Change); err != nil {
		return out, err
	}
	out, err = s.o.Trends.Change(ctx, p.Change)
	return out, s.did(c, err, "confirmation asked for", "change", p.Change)
}

func (s *Server) dismiss(ctx context.Context, c *call, p api.ChangeID) (out api.SeriesShift, err error) {
	if err := s.hasTrends(); err != nil {
		return out, err
	}
	out, err = s.o.Trends.Dismiss(ctx, p)
	return out, s.did(c, err, "change dismissed", "change", p.Change)
}

func (s *Server) removePoints(ctx context.Context, c *call, p api.PointRemove) (out api.PointRemoved, err error) {
	if err := s.hasTrends(); err != nil {
		return out, err
	}
	out.Points, err = s.o.Trends.Remove(ctx, c.owner(), p)
	return out, s.did(c, err, "points removed", "of", p.Rig+p.Set, "points", out.Points, "reason", p.Reason)
}

// oneSeries returns a page of a series. A subject has its last release too.
func (s *Server) oneSeries(d *trend.DB, ctx context.Context, p api.SeriesParams) (out api.SeriesData, err error) {
	out, err = d.Get(ctx, p)
	n := len(out.Points)
	if err != nil || n == 0 || s.o.Engine == nil || out.Series.Role != trend.Subject {
		return out, err
	}
	if pattern := s.o.Engine.ReleasePattern(out.Series.Schedule); pattern != "" {
		out.Release, err = d.Release(ctx, &out.Series, pattern, out.Points[n-1].Seq)
	}
	return out, err
}

func (s *Server) alerts(d *trend.DB, ctx context.Context, p api.AlertListParams) (out api.AlertList, err error) {
	if s.o.Engine != nil {
		out.Budget = s.o.Engine.Budget()
	}
	out.Alerts, err = d.Alerts(ctx, p)
	return out, err
}

func (s *Server) setAlert(ctx context.Context, c *call, p api.AlertParams) (out api.Alert, err error) {
	if err := s.hasTrends(); err != nil {
		return out, err
	}
	out, err = s.o.Trends.SetAlert(ctx, p)
	return out, s.did(c, err, "alert changed", "alert", p.Alert, "state", out.State)
}
