package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// Queue accepts jobs.
type Queue interface {
	// Submit queues a job under an ID. It returns an existing job of this ID instead.
	Submit(ctx context.Context, id, owner string, p api.StartParams) (api.Job, error)
	// Job returns a job, also an ended one.
	Job(id string) (api.Job, bool)
	Cancel(id string) error
	// Release frees the device that jobs of one Keep have kept, since no further one follows.
	Release(keep string)
}

// Feeds know builds.
type Feeds interface {
	// Builds returns the builds of a feed, oldest first.
	Builds(ctx context.Context, feed string) ([]api.Build, error)
	// Resolve returns one build; "": the newest usable one.
	Resolve(ctx context.Context, feed, build string) (api.Build, error)
}

// Trends keep points and changes. [trend.DB] implements it.
type Trends interface {
	AddBuilds(ctx context.Context, all []api.Build) error
	Add(ctx context.Context, set string, all []trend.Measured) error
	AddGap(ctx context.Context, g trend.Gap) error
	Split(ctx context.Context, s trend.Split) error
	Series(ctx context.Context, p api.SeriesListParams) (api.SeriesList, error)
	Get(ctx context.Context, p api.SeriesParams) (api.SeriesData, error)
	Points(ctx context.Context, series, fromSeq, toSeq int64, limit int) ([]trend.Point, error)
	PutChange(ctx context.Context, c *api.SeriesShift) error
	Change(ctx context.Context, id int64) (api.SeriesShift, error)
	Changes(ctx context.Context, p api.ChangeListParams) ([]api.SeriesShift, error)
	PutAlert(ctx context.Context, a *api.Alert) error
	Alerts(ctx context.Context, p api.AlertListParams) ([]api.Alert, error)
}

// Options are those of an engine.
type Options struct {
	Schedules map[string]config.Schedule
	Alarm     config.Alarm
	File      string // schedule.json
	Queue     Queue
	Feeds     Feeds
	Trends    Trends
	// Read reads the set of a job.
	Read func(ctx context.Context, set string) (trend.Origin, []trend.Measured, error)
	// Cause compares the functions of the runs of a job with measuring code, for a change. Nil: changes
	// are not explained.
	Cause func(ctx context.Context, job string, of compare.Change) (string, error)
	// Browser returns the usual kind of browser of a feed's builds; "": unknown. It may be nil.
	Browser func(feed string) string
	// Tests returns the names of all tests, for patterns.
	Tests func() []string
	// Fitting returns the devices of a fleet that fit needs and a job: those that are there, and
	// others. Nil: this is not a hub, and no schedule has needs.
	Fitting func(owner string, needs []string, p api.StartParams) (there, away []string, err error)
	// Devices returns the states of all known devices by name. Nil: no device repeats the control.
	Devices func() map[string]DeviceState
	// Changed is called after the state of a schedule changed. It may be nil.
	Changed func()
	// Bisected is called with the ID of a bisection that has gone on. It may be nil.
	Bisected func(id string)
	Now      func() time.Time // nil: the system's
	Log      *slog.Logger     // nil: none
}

// Engine runs schedules. Its methods may be called from any goroutine.
type Engine struct {
	Options
	times map[string]cron.Schedule // of schedules by time
	write func(path string, content []byte, mode os.FileMode) error

	mu      sync.Mutex
	state   state
	feeds   map[string]*feed
	reason  map[string]string      // why a schedule cannot run, or not all of it
	shown   string                 // state and reasons that Changed was called for
	skipped map[string]error       // why the last tasks of a schedule lack a test
	unfit   map[string]error       // why no device of a fleet fits a schedule
	fitted  time.Time              // of the last look at that
	full    map[string]bool        // schedules of which the queue takes no more jobs in this step
	raised  bool                   // all confirmed changes are in alerts
	states  map[string]DeviceState // of the devices in this step
	began   time.Time
	saved   time.Time

	bisections []*bisection // in the order of their start
}

// feed is the latest state of a feed.
type feed struct {
	builds []api.Build // oldest first
	err    error
	read   time.Time
}

// Times between two looks.
const (
	every     = 5 * time.Second // at jobs and times
	feedEvery = time.Minute
)

// New returns an engine with the state of the one that was here before.
func New(o Options) (*Engine, error) {
	e := &Engine{Options: o, write: staging.WriteFile, times: map[string]cron.Schedule{}, feeds: map[string]*feed{},
		reason: map[string]string{}, skipped: map[string]error{}, full: map[string]bool{}, unfit: map[string]error{}}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	for name, s := range o.Schedules {
		if len(s.Needs) > 0 && o.Fitting == nil {
			return nil, fmt.Errorf("schedule %s: needs are for the hub of a fleet; name devices", name)
		}
		if s.Cron == "" {
			e.feeds[s.Feed()] = &feed{}
			continue
		}
		at, err := s.Times()
		if err != nil {
			return nil, fmt.Errorf("schedule %s: %w", name, err)
		}
		e.times[name] = at
	}
	e.began = e.Now()
	if err := e.load(); err != nil {
		e.Log.Error("the state of the schedules cannot be read, and is put aside", "error", err)
	}
	e.loadBisections()
	for name := range o.Schedules {
		if e.state.Schedules[name] == nil {
			e.state.Schedules[name] = &progress{}
		}
	}
	return e, nil
}

// Run runs the schedules until the context ends.
func (e *Engine) Run(ctx context.Context) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		e.step(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// step does once all there is to do. Errors are logged: the next step tries again.
func (e *Engine) step(ctx context.Context) {
	e.readFeeds(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.full = map[string]bool{}
	err := cmp.Or(e.watch(), e.plan(ctx))
	if err == nil {
		err = errors.Join(e.collect(ctx), e.pick(ctx), e.advance(ctx), e.raise(ctx), e.advanceCauses(ctx),
			e.bisectAll(ctx))
	}
	if err != nil && ctx.Err() == nil {
		e.Log.Warn("a schedule could not go on; it is tried again", "error", err)
	}
	e.report()
}

// report calls Changed if the list of schedules differs from the last one.
func (e *Engine) report() {
	if e.Changed == nil {
		return
	}
	var all []api.Schedule
	for _, name := range e.names() {
		all = append(all, e.schedule(name))
	}
	raw, err := json.Marshal(all)
	if now := string(raw); err == nil && now != e.shown {
		e.shown = now
		e.Changed()
	}
}

// names returns the names of the schedules in order.
func (e *Engine) names() []string { return slices.Sorted(maps.Keys(e.Schedules)) }

// readFeeds reads the feeds that are due. A feed may take long, so the mutex is not held.
func (e *Engine) readFeeds(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(e.feeds)) {
		e.mu.Lock()
		due := e.Now().Sub(e.feeds[name].read).Abs() >= feedEvery
		e.mu.Unlock()
		if !due {
			continue
		}
		builds, err := e.Feeds.Builds(ctx, name)
		if err == nil {
			err = e.Trends.AddBuilds(ctx, builds)
		}
		e.mu.Lock()
		f := e.feeds[name]
		f.err, f.read = err, e.Now()
		if err == nil {
			f.builds = builds
		}
		e.mu.Unlock()
	}
}
