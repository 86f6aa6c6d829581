package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/remote"
	"github.com/eideticker/eideticker/deploy/rig"
	"github.com/eideticker/eideticker/deploy/schedule"
	"github.com/eideticker/eideticker/pattern"
)

type scheduleCmd struct {
	Check scheduleCheckCmd `cmd:"" help:"Print the next runs and the load of schedules in a configuration."`
	List  scheduleListCmd  `cmd:"" help:"List the schedules of a rig."`
	Run   scheduleRunCmd   `cmd:"" help:"Queue the jobs of a schedule now."`
	Pause schedulePauseCmd `cmd:"" help:"Pause a schedule, or let it go on."`

	Alerts       scheduleAlertsCmd `cmd:"" help:"List alerts, and changes that are not decided."`
	Points       schedulePointsCmd `cmd:"" help:"List the newest points of a schedule with their sets."`
	RemovePoints scheduleRemoveCmd `cmd:"" help:"Remove points of a rig, a set or a run from all series."`
}

func (scheduleCmd) Help() string {
	return `Examples:

  eideticker schedule check --config eideticker.toml
  eideticker schedule list --rig http://localhost:8430`
}

type scheduleCheckCmd struct {
	suiteFolders
	rigAccess
	Config  string        `placeholder:"FILE" required:"" help:"TOML configuration of the rig."`
	Hub     string        `placeholder:"URL" help:"Hub of the fleet whose devices are compared with needs."`
	RunTime time.Duration `placeholder:"1m" default:"1m" help:"Expected time of a run (default: 1m)."`
}

func (scheduleCheckCmd) Help() string {
	return `Example:

  eideticker schedule check --config eideticker.toml --run-time 45s
  eideticker schedule check --config eideticker.toml --hub https://hub:8430

The load is the time that devices work for a schedule. It depends on the time of a run.

Unknown tests are errors. So are tests that do not play the builds of a site's
feed, and tests with site: in builds of browsers. Devices, browsers and builds that cannot be used now are
warnings, since they may come later. So are needs that fit no device of the fleet.
serve logs these warnings too.`
}

func (c scheduleCheckCmd) Run(e *env) error {
	if c.RunTime <= 0 {
		return usagef("--run-time %v must be positive", c.RunTime)
	}
	conf, err := serveConfig{Config: c.Config}.load("", "")
	if err != nil {
		return err
	}
	c.Suite = append(c.Suite, conf.Suite...)
	sources, err := c.sources()
	if err != nil {
		return err
	}
	tests, _ := suite.Tests(session.Known(), sources...) // suite check reports files with errors
	var names []string
	for _, t := range tests {
		names = append(names, t.Name)
	}
	all, err := schedule.Forecasts(conf.Schedule, names, time.Now())
	if err != nil {
		return usageError{fmt.Errorf("schedule check: %w", err)}
	}
	if wrong := rig.SiteDoubts(&conf, tests); len(wrong) > 0 {
		return usageError{fmt.Errorf("schedule check: %w", errors.Join(wrong...))}
	}
	if len(all) == 0 {
		fmt.Fprintln(e.out, "no schedules")
	}
	devices, err := session.FindDevices(conf.Devices)
	if err != nil {
		return err
	}
	_, noHub := os.Stat(filepath.Join(conf.DataDir, rig.HubSecrets))
	for _, doubt := range rig.ScheduleDoubts(e.ctx, &conf, devices, noHub == nil) {
		fmt.Fprintf(e.err, "warning: %s\n", doubt)
	}
	if err := c.checkNeeds(e, &conf); err != nil {
		return err
	}
	pools, err := schedule.PoolTexts(conf.Schedule, filepath.Join(conf.DataDir, rig.ScheduleFile))
	if err != nil {
		fmt.Fprintf(e.err, "warning: the states of pools cannot be read: %v\n", err)
	}
	for _, f := range all {
		hours, each := (time.Duration(f.Runs) * c.RunTime).Hours(), "for each build"
		if f.Each > 0 {
			hours, each = hours*24/f.Each.Hours(), "a day"
		}
		load := fmt.Sprintf("%.1f device-hours %s", hours, each)
		if hours < 1 {
			load = fmt.Sprintf("%.1f device-minutes %s", hours*60, each)
		}
		if f.Jobs == 0 {
			fmt.Fprintf(e.out, "%s: tests of rigs, which this machine does not have\n", f.Schedule)
		} else {
			fmt.Fprintf(e.out, "%s: %s with %s, %s\n", f.Schedule, plural(f.Jobs, "job"), plural(f.Runs, "run"), load)
		}
		if text := pools[f.Schedule]; text != "" {
			fmt.Fprintf(e.out, "  %s\n", terminal.Clean(text))
		}
		for _, t := range f.Next {
			fmt.Fprintf(e.out, "  %s\n", t.Format("Mon 2006-01-02 15:04 MST"))
		}
	}
	return nil
}

// checkNeeds warns of schedules whose needs fit no device of the fleet now. Without a hub it warns
// that needs are not checked.
func (c scheduleCheckCmd) checkNeeds(e *env, conf *config.Config) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(conf.Schedule)) {
		if len(conf.Schedule[name].Needs) > 0 {
			names = append(names, name)
		}
	}
	warn := func(name string, err error) { fmt.Fprintf(e.err, "warning: schedule %s: %v\n", name, err) }
	switch {
	case len(names) == 0:
		return nil
	case c.Hub == "":
		warn(strings.Join(names, ", "), errors.New("needs are not compared with the fleet; give --hub URL"))
		return nil
	}
	return fleetHub{Hub: c.Hub, rigAccess: c.rigAccess}.call(e, func(r rigCall) error {
		return ask(r, "fleet.rigs", api.Empty{}, func(all api.FleetRigs) error {
			for _, name := range names {
				if err := rig.FitsFleet(all, conf, name); err != nil {
					warn(name, err)
				}
			}
			return nil
		})
	})
}

// scheduleRig has the flags of commands about a rig.
type scheduleRig struct {
	Rig string `placeholder:"URL" default:"http://localhost:8430" help:"Address of the rig (default: ${default})."`
	rigAccess
	JSON bool `help:"Print the API's result as one JSON object."`
}

// call opens the rig and carries out an action.
func (s scheduleRig) call(e *env, what string, do func(rigCall) error) error {
	rig, err := s.open(s.Rig)
	if err != nil {
		return err
	}
	defer rig.Close()
	c := rigCall{e, rigCmd{JSON: s.JSON}, rig}
	if err := do(c); err != nil {
		return fmt.Errorf("%s: %w", what, orInterrupted(c.advised(err, "")))
	}
	return nil
}

type scheduleListCmd struct{ scheduleRig }

func (scheduleListCmd) Help() string {
	return `Example:

  eideticker schedule list --rig http://localhost:8430`
}

func (s scheduleListCmd) Run(e *env) error {
	return s.call(e, "schedule", func(c rigCall) error {
		return ask(c, "schedule.list", api.Empty{}, c.printSchedules)
	})
}

type scheduleRunCmd struct {
	Name string `arg:"" help:"Name of the schedule."`
	scheduleRig
	Build string `placeholder:"BUILD" help:"Build of the schedule's feed (default: the newest)."`
}

func (scheduleRunCmd) Help() string {
	return `Example:

  eideticker schedule run nightly --build 2026-10-01 --rig http://rig-3:8430

It prints the IDs of the jobs.`
}

func (s scheduleRunCmd) Run(e *env) error {
	return s.call(e, "schedule", func(c rigCall) error {
		return ask(c, "schedule.run", api.ScheduleRun{Schedule: s.Name, Build: s.Build},
			func(r api.ScheduleStarted) error {
				_, err := fmt.Fprintln(c.out, strings.Join(r.Jobs, "\n"))
				return err
			})
	})
}

type schedulePauseCmd struct {
	Name string `arg:"" help:"Name of the schedule."`
	scheduleRig
	Reason string `placeholder:"TEXT" help:"Reason for others."`
	Lift   bool   `help:"Let the schedule go on."`
}

func (schedulePauseCmd) Help() string {
	return `Example:

  eideticker schedule pause nightly --reason move --rig http://rig-3:8430

Jobs that wait stay in the queue.`
}

func (s schedulePauseCmd) Run(e *env) error {
	return s.call(e, "schedule", func(c rigCall) error {
		return ask(c, "schedule.pause", api.SchedulePause{Schedule: s.Name, Paused: !s.Lift, Reason: s.Reason},
			func(a api.Schedule) error { return c.printSchedules(api.Schedules{Schedules: []api.Schedule{a}}) })
	})
}

type scheduleAlertsCmd struct{ scheduleRig }

func (scheduleAlertsCmd) Help() string {
	return `Example:

  eideticker schedule alerts --rig http://localhost:8430

Closed alerts and decided changes are on the page. bisect list has the searches
for the builds of alerts.`
}

func (s scheduleAlertsCmd) Run(e *env) error {
	return s.call(e, "schedule", func(c rigCall) error {
		all, err := remote.OpenAlerts(c.ctx, c.rig)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(c.out, all)
		}
		return c.printAlerts(all, s.Rig)
	})
}

// ofFleet matches a command that names a device as RIG/DEVICE.
var ofFleet = pattern.New(` --device \S+/`)

// printAlerts prints alerts with commands for the rig at an address.
func (c rigCall) printAlerts(all *remote.Alerts, at string) error {
	if len(all.Alerts) == 0 {
		fmt.Fprintln(c.out, "no alert is open")
	}
	for _, a := range all.Alerts {
		fmt.Fprintf(c.out, "alert %d, %s: %s\n", a.ID, a.State, terminal.Clean(a.Text))
		c.printBuilds(&a)
		for _, cause := range remote.CauseTexts(a.Changes) {
			fmt.Fprintf(c.out, "  %s\n", terminal.Clean(cause))
		}
		on := "--rig"
		if ofFleet.MatchString(a.Command) {
			on = "--hub"
		}
		if a.Command != "" {
			fmt.Fprintf(c.out, "  repeat it: %s %s %s\n", terminal.Clean(a.Command), on, at)
		}
	}
	for _, x := range all.Changes {
		fmt.Fprintf(c.out, "%s: %s%s\n", x.State, terminal.Clean(x.Text),
			wording.Prefixed(" ", terminal.Clean(x.Reason)))
	}
	_, err := fmt.Fprintln(c.out, all.Budget.Text)
	return err
}

// maxSubjects bounds the builds of an alert that are printed.
const maxSubjects = 5

// printBuilds prints what the builds of an alert change, newest first.
func (c rigCall) printBuilds(a *api.Alert) {
	printed := 0
	for _, b := range a.Builds {
		if b.Seq == a.FirstSeq || b.Subject == "" { // the first one is before the change
			continue
		}
		if printed++; printed > maxSubjects {
			fmt.Fprintln(c.out, "  and older ones; the page has them")
			return
		}
		fmt.Fprintf(c.out, "  build %s: %s\n", terminal.Clean(b.Name), terminal.Clean(b.Subject))
	}
}

type schedulePointsCmd struct {
	Name string `arg:"" help:"Name of the schedule."`
	scheduleRig
	Test  string `placeholder:"NAME" help:"Test of the points."`
	Limit int    `default:"20" placeholder:"N" help:"Points of each test and device (default: ${default})."`
}

func (schedulePointsCmd) Help() string {
	return `Example:

  eideticker schedule points nightly --test framerate --rig https://hub:8430

The sets are those that remove-points takes.`
}

func (s schedulePointsCmd) Run(e *env) error {
	if s.Limit <= 0 {
		return usagef("--limit %d must be positive", s.Limit)
	}
	return s.call(e, "schedule", func(c rigCall) error {
		shown, err := remote.Points(c.ctx, c.rig, s.Name, s.Test, s.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(c.out, shown)
		}
		return c.printPoints(shown)
	})
}

// printPoints prints a row for each point, the newest first.
func (c rigCall) printPoints(all []api.SeriesData) error {
	var rows [][]string
	for _, data := range all {
		s := data.Series
		for _, p := range slices.Backward(data.Points) {
			rows = append(rows, []string{p.Set, fmt.Sprintf("%s: %s %s; %s on %s, %s, %s", p.Build, s.Value, p.Text,
				s.Test, s.Device, plural(p.Runs, "run"), wallText(p.WallNS))})
		}
	}
	return c.printNarrow("set", "point", rows)
}

type scheduleRemoveCmd struct {
	Set string `arg:"" optional:"" help:"ID of a set, as schedule points prints it, or of a run."`
	scheduleRig
	FromRig string `placeholder:"NAME" help:"Remove all points of this rig of the fleet instead."`
	Reason  string `placeholder:"TEXT" help:"Reason for others."`
}

func (scheduleRemoveCmd) Help() string {
	return `Examples:

  eideticker schedule remove-points s-81-k7f2 --reason "wrong cable"
  eideticker schedule remove-points --from-rig lab-07 --rig https://hub:8430

It needs the role admin. It cannot be undone: removed points stay out. Runs
are not deleted, and found changes stay.`
}

func (s scheduleRemoveCmd) Run(e *env) error {
	if (s.Set == "") == (s.FromRig == "") {
		return usagef("give a set or a run, or --from-rig")
	}
	return s.call(e, "schedule", func(c rigCall) error {
		return ask(c, "point.remove", api.PointRemove{Rig: s.FromRig, Set: s.Set, Reason: s.Reason},
			func(r api.PointRemoved) error {
				_, err := fmt.Fprintln(c.out, plural(r.Points, "point"), "removed")
				return err
			})
	})
}

// printSchedules prints a row for each schedule.
func (c rigCall) printSchedules(all api.Schedules) error {
	var rows [][]string
	for _, s := range all.Schedules {
		state := "on " + s.On
		if s.NextNS != 0 {
			state = "next " + wallText(s.NextNS)
		}
		if s.Paused {
			state = "paused"
		}
		rows = append(rows, []string{s.Name, strings.TrimSuffix(fmt.Sprintf("%s; %s, %s%s%s%s", state,
			plural(s.Points, "point"), plural(s.Queued, "job"), wording.Prefixed("; ", s.Reason),
			wording.Prefixed("; ", s.Pool),
			wording.Prefixed("; latest gap: ", s.Gap)), "; ")})
	}
	return c.printNarrow("schedule", "state", rows)
}
