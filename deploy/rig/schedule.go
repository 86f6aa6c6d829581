package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/schedule"
	"github.com/eideticker/eideticker/deploy/schedule/builds"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// Files of schedules in the data directory.
const (
	TrendFile    = "trend.db"
	ScheduleFile = "schedule.json"
)

// openSchedules makes the engine of schedules and bisections. Without schedules and feeds it makes
// neither a file nor an engine.
func (s *Rig) openSchedules(ctx context.Context) (err error) {
	if len(s.conf.Schedule)+len(s.conf.Feed) == 0 {
		return nil
	}
	if s.trends, err = trend.Open(ctx, filepath.Join(s.conf.DataDir, TrendFile), s.log); err != nil {
		return err
	}
	for _, doubt := range ScheduleDoubts(ctx, &s.conf, s.devices, s.hub != nil) {
		s.log.Warn(doubt)
	}
	for _, doubt := range SiteDoubts(&s.conf, s.tests()) {
		s.log.Warn(doubt.Error())
	}
	s.trends.Changed = s.daemon.TrendChanged
	queue, read, cause := schedule.Queue(s.daemon.Queue()), s.readSet, s.cause
	devices, names := s.deviceStates, s.testNames
	var fitting func(string, []string, api.StartParams) (there, away []string, err error)
	if s.hub != nil {
		queue, read, fitting = s.hub.Queue(), s.readLight, s.hub.Queue().Fitting
		devices, cause, names = s.fleetStates, s.causeLight, s.hub.Tests
	}
	s.engine, err = schedule.New(schedule.Options{
		Schedules: s.conf.Schedule, Alarm: s.conf.Alarm, File: filepath.Join(s.conf.DataDir, ScheduleFile),
		Queue: queue, Feeds: s.builds, Trends: s.trends, Read: read, Tests: names, Fitting: fitting,
		Cause:   cause,
		Changed: func() { s.daemon.TrendChanged("schedule", 0) }, Bisected: s.daemon.BisectChanged,
		Devices: devices, Log: s.daemon.Log(), Browser: s.browserOf,
	})
	return err
}

// ScheduleDoubts returns sentences about names in schedules and about feeds of a fleet that cannot
// be used now.
func ScheduleDoubts(ctx context.Context, c *config.Config, devices daemon.Devices, hub bool) []string {
	return append(builderDoubts(c), schedule.Doubts(c.Schedule, schedule.Surroundings{
		Device: func(name string, b api.Browser) error {
			if hub {
				return fmt.Errorf("device %s: a hub names devices as RIG/DEVICE, or by needs", name)
			}
			all := device.List{Devices: devices.Descriptions()}
			d, err := all.Find(name)
			of := c.Feed[b.Feed].Of
			if err == nil && b.Feed != "" {
				err = d.RunsBuilds(of == config.OfAndroid)
			}
			if err == nil && (b.Feed == "" || of == config.OfSite) {
				_, err = d.Browser(b.Kind)
			}
			return err
		},
		Build: func(feed, build string) error {
			return builds.Check(ctx, feed, c.DataDir, c.Feed[feed], build)
		},
	})...)
}

// builderDoubts returns a sentence for each feed whose builds cannot be signed or checked.
func builderDoubts(c *config.Config) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Feed)) {
		f := c.Feed[name]
		if err := builds.CheckKey(f); err != nil {
			all = append(all, fmt.Sprintf("feed %s: %v", name, err))
		} else if f.Sign != "" && !slices.Contains(signs(c), name) {
			all = append(all, fmt.Sprintf("feed %s: no other rig gets its builds; set labels = { builder = %[1]q }, "+
				"and permit it in accept.feeds", name))
		}
	}
	return all
}

// SiteDoubts returns an error for each schedule with a test that cannot play its builds.
func SiteDoubts(c *config.Config, tests []*suite.Test) (all []error) {
	for _, name := range slices.Sorted(maps.Keys(c.Schedule)) {
		if err := siteDoubt(c, c.Schedule[name], tests); err != nil {
			all = append(all, fmt.Errorf("schedule %s: %w", name, err))
		}
	}
	return all
}

func siteDoubt(c *config.Config, s config.Schedule, tests []*suite.Test) error {
	if len(s.Needs) > 0 || strings.Contains(strings.Join(s.Devices, " "), "/") {
		return nil // the tests are those of other rigs
	}
	for _, t := range tests {
		if !slices.ContainsFunc(s.Tests, func(p string) bool { is, _ := path.Match(p, t.Name); return is }) {
			continue
		}
		for _, text := range append(slices.Clone(s.Browsers), s.Control) {
			b, err := api.ParseBrowser(text)
			if text == "" || err != nil { // no control; errors were found before
				continue
			}
			if err := session.CheckSite(t, c.Feed[b.Feed].Of == config.OfSite); err != nil {
				return fmt.Errorf("browser %s: %w", text, err)
			}
		}
	}
	return nil
}

// FitsFleet returns why no device of a fleet fits a schedule. It names the nearest label.
func FitsFleet(all api.FleetRigs, c *config.Config, name string) error {
	s := sched.New(sched.Options{})
	for _, r := range all.Rigs {
		rig := sched.Rig{ID: r.Rig}
		for _, d := range r.Devices {
			labels := map[string]string{"rig": r.Rig, "device": d.Device}
			maps.Copy(labels, d.Labels)
			rig.Devices = append(rig.Devices, sched.Device{Name: d.Device, Labels: labels})
		}
		s.SetRig(rig)
	}
	one := c.Schedule[name]
	needs, err := sched.ParseNeeds(one.Needs)
	if err == nil {
		site := func(feed string) bool { return c.Feed[feed].Of == config.OfSite }
		err = s.Check(sched.Job{ID: name, Owner: "schedule " + name, Needs: needs,
			Browsers: sched.Installed(append(slices.Clone(one.Browsers), one.Control), site)})
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "job "+name+": "))
	}
	return nil
}

// deviceStates returns the states of this rig's devices.
func (s *Rig) deviceStates() map[string]schedule.DeviceState {
	all := map[string]schedule.DeviceState{}
	for _, d := range s.daemon.Devices() {
		all[d.Name] = schedule.DeviceState{Present: true, Quarantined: d.Quarantine != "", Program: s.program}
	}
	return all
}

// fleetStates returns the states of the rigs' devices, as RIG/DEVICE. Those of a rig count from its
// first poll of this hub.
func (s *Rig) fleetStates() map[string]schedule.DeviceState {
	all := map[string]schedule.DeviceState{}
	rigs, _ := s.hub.Rigs()
	for _, r := range rigs.Rigs {
		for _, d := range r.Devices {
			all[r.Rig+"/"+d.Device] = schedule.DeviceState{Present: s.hub.Online(r.Rig) && r.State != "suspended",
				Quarantined: d.State == "quarantined", Program: r.Program}
		}
	}
	return all
}

// browserOf returns the browser of a feed's builds; "": unknown.
func (s *Rig) browserOf(feed string) string {
	kind := s.conf.Feed[feed].Kind
	return map[config.FeedKind]string{config.FeedMozilla: "firefox", config.FeedChrome: "chromium"}[kind]
}

// readSet reads the points of a set, which is not deleted meanwhile.
func (s *Rig) readSet(_ context.Context, set string) (trend.Origin, []trend.Measured, error) {
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

// cause compares the functions of a set, which is not deleted meanwhile.
func (s *Rig) cause(ctx context.Context, set string, of compare.Change) (string, error) {
	release, err := s.store.Use(set)
	if err != nil {
		return "", err
	}
	defer release()
	dir, err := s.store.Path(set)
	if err != nil {
		return "", err
	}
	return causeIn(ctx, dir, of)
}

// causeLight compares the functions of a job of the fleet. Light folders have the results.
func (s *Rig) causeLight(ctx context.Context, job string, of compare.Change) (string, error) {
	dir, err := s.hub.Queue().Folder(job)
	if err != nil {
		return "", err
	}
	return causeIn(ctx, dir, of)
}

func causeIn(ctx context.Context, dir string, of compare.Change) (string, error) {
	var sets [2]*compare.Set
	for i, name := range []string{schedule.CauseBefore, schedule.CauseAfter} {
		side := filepath.Join(dir, name)
		var err error
		if sets[i], err = compare.Load(ctx, side); err != nil {
			return "", withoutFolders(err, side)
		}
	}
	return compare.CauseOf(sets[0], sets[1], of)
}

// tests returns those of the suite. Files that cannot be read are left out.
func (s *Rig) tests() []*suite.Test {
	sources, known := s.daemon.Suite()
	all, _ := suite.Tests(known, sources...)
	return all
}

// testNames returns the names of the suite's tests.
func (s *Rig) testNames() (names []string) {
	for _, t := range s.tests() {
		names = append(names, t.Name)
	}
	return names
}
