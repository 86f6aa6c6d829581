package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/schedule"
)

type scheduleCmd struct {
	Check scheduleCheckCmd `cmd:"" help:"Print the next runs and the load of schedules in a configuration."`
	List  scheduleListCmd  `cmd:"" help:"List the schedules of a rig."`
	Run   scheduleRunCmd   `cmd:"" help:"Queue the jobs of a schedule now."`
	Pause schedulePauseCmd `cmd:"" help:"Pause a schedule, or let it go on."`

	RemovePoints scheduleRemoveCmd `cmd:"" help:"Remove points of a rig, a set or a run from all series."`
}

func (scheduleCmd) Help() string {
	return `Examples:

  eideticker schedule check --config eideticker.toml
  eideticker schedule list --rig http://localhost:8430`
}

type scheduleCheckCmd struct {
	suiteFolders
	Config  string        `placeholder:"FILE" required:"" help:"TOML configuration of the rig."`
	RunTime time.Duration `placeholder:"1m" default:"1m" help:"Expected time of a run (default: 1m)."`
}

func (scheduleCheckCmd) Help() string {
	return `Example:

  eideticker schedule check --config eideticker.toml --run-time 45s

The load is the time that devices work for a schedule. It depends on the time of a run.`
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
	if len(all) == 0 {
		fmt.Fprintln(e.out, "no schedules")
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
		fmt.Fprintf(e.out, "%s: %s with %s, %s\n", f.Schedule, plural(f.Jobs, "job"), plural(f.Runs, "run"), load)
		for _, t := range f.Next {
			fmt.Fprintf(e.out, "  %s\n", t.Format("Mon 2006-01-02 15:04 MST"))
		}
	}
	return nil
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

type scheduleRemoveCmd struct {
	Set string `arg:"" optional:"" help:"ID of a set or a run; on a hub RIG/SET."`
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
		rows = append(rows, []string{s.Name, strings.TrimSuffix(fmt.Sprintf("%s; %s, %s%s%s", state,
			plural(s.Points, "point"), plural(s.Queued, "job"), prefixed("; ", s.Reason),
			prefixed("; latest gap: ", s.Gap)), "; ")})
	}
	return c.printNarrow("schedule", "state", rows)
}
