package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/schedule"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// Files of schedules in the data directory.
const (
	trendFile    = "trend.db"
	scheduleFile = "schedule.json"
)

// openSchedules makes the engine of schedules and bisections. Without schedules and feeds it makes
// neither a file nor an engine.
func (s *rigService) openSchedules() (err error) {
	if len(s.conf.Schedule)+len(s.conf.Feed) == 0 {
		return nil
	}
	if s.trends, err = trend.Open(s.ctx, filepath.Join(s.conf.DataDir, trendFile), s.log); err != nil {
		return err
	}
	queue, read := schedule.Queue(s.daemon.Queue()), s.readSet
	var fitting func(string, []string, api.StartParams) (there, away []string, err error)
	if s.hub != nil {
		queue, read, fitting = s.hub.Queue(), s.readLight, s.hub.Queue().Fitting
	}
	s.engine, err = schedule.New(schedule.Options{
		Schedules: s.conf.Schedule, Alarm: s.conf.Alarm, File: filepath.Join(s.conf.DataDir, scheduleFile),
		Queue: queue, Feeds: s.builds, Trends: s.trends, Read: read, Tests: s.testNames, Fitting: fitting,
		Log: s.daemon.Log(), Browser: s.browserOf,
	})
	if err != nil {
		err = errors.Join(err, s.trends.Close())
	}
	return err
}

// browserOf returns the browser of a feed's builds; "": unknown.
func (s *rigService) browserOf(feed string) string {
	kind := s.conf.Feed[feed].Kind
	return map[config.FeedKind]string{config.FeedMozilla: "firefox", config.FeedChrome: "chromium"}[kind]
}

// readSet reads the points of a set, which is not deleted meanwhile.
func (s *rigService) readSet(_ context.Context, set string) (trend.Origin, []trend.Measured, error) {
	release, err := s.store.Use(set)
	if err != nil {
		return trend.Origin{}, nil, err
	}
	defer release()
	dir, err := s.store.Path(set)
	if err != nil {
		return trend.Origin{}, nil, err
	}
	return trend.Read(dir)
}

// testNames returns the names of the suite's tests. Files that cannot be read are left out.
func (s *rigService) testNames() (names []string) {
	sources, known := s.daemon.Suite()
	all, _ := suite.Tests(known, sources...)
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names
}
