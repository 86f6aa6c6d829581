package schedule

import (
	"context"
	"errors"
	"fmt"

	"path"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// List returns the schedules and their state.
func (e *Engine) List() api.Schedules {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := api.Schedules{Schedules: []api.Schedule{}}
	for _, name := range e.names() {
		out.Schedules = append(out.Schedules, e.schedule(name))
	}
	return out
}

func (e *Engine) schedule(name string) api.Schedule {
	s, p := e.Schedules[name], e.state.Schedules[name]
	out := api.Schedule{Name: name, On: s.On, Cron: s.Cron, Timezone: s.TZ, Tests: s.Tests, Devices: s.Devices,
		Browsers: s.Browsers, Control: s.Control, Runs: s.Runs, Class: s.Class, Paused: p.Paused, Reason: p.Reason,
		LastNS: p.Last, LastJob: p.Job, Queued: len(p.Tasks), Points: p.Points, Gap: p.Gap}
	if out.Needs = s.Needs; len(s.Needs) > 0 {
		out.Devices = slices.Compact(slices.Sorted(slices.Values(p.devices())))
	}
	out.Pool = poolText(s, p)
	if !p.Paused {
		out.Reason = e.reason[name]
	}
	if at := e.times[name]; at != nil && !p.Paused {
		if next := at.Next(e.Now()); !next.IsZero() {
			out.NextNS = next.UnixNano()
		}
	}
	return out
}

// ReleasePattern returns the pattern of a schedule's releases; "": it has none.
func (e *Engine) ReleasePattern(schedule string) string { return e.Schedules[schedule].Release }

// find returns a schedule's state, or an error for clients.
func (e *Engine) find(name string) (config.Schedule, *progress, error) {
	s, is := e.Schedules[name]
	if !is {
		return s, nil, api.Errorf(api.NotFound, "unknown schedule %.80q", name)
	}
	return s, e.state.Schedules[name], nil
}

// Start queues runs of a build of the schedule's feed now; "": the newest.
func (e *Engine) Start(ctx context.Context, p api.ScheduleRun) (api.ScheduleStarted, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := api.ScheduleStarted{Jobs: []string{}}
	s, state, err := e.find(p.Schedule)
	if err != nil {
		return out, err
	}
	var build *api.Build
	first, err := api.ParseBrowser(s.Browsers[0])
	if err == nil && first.Feed == "" && p.Build != "" {
		err = fmt.Errorf("schedule %s runs the installed browser: it has no builds", p.Schedule)
	}
	if err == nil && first.Feed != "" {
		var b api.Build
		if b, err = e.Feeds.Resolve(ctx, first.Feed, p.Build); err == nil {
			build = &b
		}
	}
	var tasks []task
	if err == nil {
		now := e.Now()
		tasks, err = e.tasks(ctx, p.Schedule, s, build, now.Unix(), fmt.Sprintf("asked for at %d", now.UnixNano()))
	}
	if err == nil && len(state.Tasks)+len(tasks) > maxTasks {
		err = api.Errorf(api.TooMany, "%d jobs of schedule %s wait already", len(state.Tasks), p.Schedule)
	}
	if err != nil {
		return out, clientError(err)
	}
	was := state.Tasks
	state.Tasks = slices.Concat(was, tasks)
	if err := e.save(); err != nil {
		state.Tasks = was
		return out, api.Errorf(api.Unavailable, "%v", err)
	}
	e.report()
	for i := range tasks {
		out.Jobs = append(out.Jobs, tasks[i].ID)
		if _, err := e.submit(ctx, &tasks[i]); err != nil && !later(err) {
			return out, clientError(err) // the next step makes a gap of it
		}
	}
	return out, nil
}

// Pause pauses a schedule, or lets it go on. Jobs that wait stay in the queue.
func (e *Engine) Pause(p api.SchedulePause) (api.Schedule, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, state, err := e.find(p.Schedule)
	if err != nil {
		return api.Schedule{}, err
	}
	if len(p.Reason) > 300 {
		return api.Schedule{}, api.Errorf(api.InvalidParams, "reason has %d bytes, at most 300 are taken",
			len(p.Reason))
	}
	was := *state
	state.Paused, state.Reason, e.raised = p.Paused, "", false // explanations wait meanwhile
	if p.Paused {
		state.Reason = p.Reason
	}
	if err := e.save(); err != nil {
		*state = was
		return api.Schedule{}, api.Errorf(api.Unavailable, "%v", err)
	}
	e.report()
	return e.schedule(p.Schedule), nil
}

// Confirm begins the confirmation of a change before others. It takes a part of the budget too.
func (e *Engine) Confirm(ctx context.Context, change int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, err := e.Trends.Change(ctx, change)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{candidate, lab, refuted, undecided}, x.State) {
		return api.Errorf(api.Conflict, "change %d is %s already", x.ID, x.State)
	}
	begun, err := e.begin(ctx, &x, nil, true)
	switch {
	case errors.Is(err, errBudget):
		return api.Errorf(api.TooMany, "%v: %s", err, e.budget().Text)
	case err != nil:
		return clientError(err)
	case !begun:
		return api.Errorf(api.Conflict, "change %d cannot be confirmed now; %s", x.ID, x.Reason)
	}
	return e.advance(ctx)
}

// clientError returns an error as one for clients.
func clientError(err error) error {
	if is := (*api.Error)(nil); errors.As(err, &is) {
		return err
	}
	return api.Errorf(api.Failed, "%v", err)
}

// Forecast is the next runs of a schedule, and its load.
type Forecast struct {
	Schedule string
	Next     []time.Time   // of a schedule by time
	Jobs     int           // of each time or build; 0: only rigs of the fleet know the tests
	Runs     int           // of all its jobs
	Each     time.Duration // between two times; 0: unknown
}

// Forecasts returns the next runs of all schedules. They do not depend on any state.
func Forecasts(schedules map[string]config.Schedule, tests []string, now time.Time) ([]Forecast, error) {
	e := &Engine{Options: Options{Schedules: schedules, Tests: func() []string { return tests }}}
	var all []Forecast
	for _, name := range e.names() {
		s := schedules[name]
		f := Forecast{Schedule: name, Jobs: len(e.matching(s.Tests)) * max(1, len(s.Devices))}
		ofFleet := len(s.Needs) > 0 || strings.Contains(strings.Join(s.Devices, " "), "/") // has other tests
		for _, pattern := range s.Tests {
			named := func(test string) bool { is, _ := path.Match(pattern, test); return is }
			if !ofFleet && !slices.ContainsFunc(tests, named) {
				return nil, fmt.Errorf("schedule %s: no test has a name like %s%s", name, pattern,
					wording.Near(pattern, tests))
			}
		}
		f.Runs = f.Jobs * s.Runs * (len(s.Browsers) + min(1, len(s.Control)))
		if s.Cron != "" {
			at, err := s.Times()
			if err != nil {
				return nil, err
			}
			for t := now; len(f.Next) < 10; f.Next = append(f.Next, t) {
				if t = at.Next(t); t.IsZero() {
					break
				}
			}
			if n := len(f.Next) - 1; n > 0 {
				f.Each = f.Next[n].Sub(f.Next[0]) / time.Duration(n)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

var _ Trends = (*trend.DB)(nil)
