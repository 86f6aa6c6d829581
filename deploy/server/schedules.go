package server

import (
	"context"

	"github.com/eideticker/eideticker/deploy/api"
)

// Schedules are those of an [Engine].
type Schedules interface {
	List() api.Schedules
	// Start queues runs of a build now.
	Start(ctx context.Context, p api.ScheduleRun) (api.ScheduleStarted, error)
	Pause(p api.SchedulePause) (api.Schedule, error)
}

func (s *Server) schedules(context.Context, *call, api.Empty) (api.Schedules, error) {
	if s.o.Engine == nil {
		return api.Schedules{Schedules: []api.Schedule{}}, nil
	}
	return s.o.Engine.List(), nil
}

func (s *Server) startSchedule(ctx context.Context, c *call, p api.ScheduleRun) (out api.ScheduleStarted, err error) {
	if s.o.Engine == nil {
		return out, api.Errorf(api.NotFound, "unknown schedule %.80q", p.Schedule)
	}
	out, err = s.o.Engine.Start(ctx, p)
	return out, s.did(c, err, "schedule started", "schedule", p.Schedule, "jobs", len(out.Jobs))
}

func (s *Server) pauseSchedule(_ context.Context, c *call, p api.SchedulePause) (out api.Schedule, err error) {
	if s.o.Engine == nil {
		return out, api.Errorf(api.NotFound, "unknown schedule %.80q", p.Schedule)
	}
	out, err = s.o.Engine.Pause(p)
	return out, s.did(c, err, "schedule paused or continued", "schedule", p.Schedule, "paused", p.Paused)
}
