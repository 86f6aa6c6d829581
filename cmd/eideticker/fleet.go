package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/remote"
)

type fleetCmd struct {
	Init   fleetInitCmd   `cmd:"" help:"Make the keys of a hub on this machine."`
	Invite fleetInviteCmd `cmd:"" help:"Print the command by which a rig joins."`
	Join   fleetJoinCmd   `cmd:"" help:"Join this rig to a fleet."`
	Status fleetStatusCmd `cmd:"" help:"Print a rig's part in its fleet."`
	Rigs   fleetRigsCmd   `cmd:"" help:"List the rigs of a fleet."`
	Jobs   fleetJobsCmd   `cmd:"" help:"List the jobs of a fleet."`
	Cancel fleetCancelCmd `cmd:"" help:"End a job of a fleet."`
	Drain  fleetDrainCmd  `cmd:"" help:"Begin no more jobs on a rig, or go on."`
	Remove fleetRemoveCmd `cmd:"" help:"Revoke the key of a rig."`
	Leave  fleetLeaveCmd  `cmd:"" help:"Take this rig out of its fleet."`
	Adopt  fleetAdoptCmd  `cmd:"" help:"Restore a lost hub from its copy."`
}

func (fleetCmd) Help() string {
	return `Examples:

  eideticker fleet init
  eideticker fleet invite lab-07 --hub https://hub:8430
  eideticker fleet join https://hub:8430/#TOKEN
  eideticker fleet rigs --hub https://hub:8430
  eideticker run framerate --hub https://hub:8430 --needs os=linux

A fleet is several rigs with one queue on a hub. Each rig connects by itself.`
}

// fleetHub has the flags of commands about a hub.
type fleetHub struct {
	Hub string `placeholder:"URL" required:"" env:"EIDETICKER_HUB" help:"Address of the hub, such as https://hub:8430."`
	rigAccess
	JSON bool `help:"Print the API's result as one JSON object."`
}

// call opens the hub and carries out an action.
func (f fleetHub) call(e *env, do func(rigCall) error) error {
	hub, err := f.open(f.Hub)
	if err != nil {
		return err
	}
	defer hub.Close()
	c := rigCall{e, rigCmd{JSON: f.JSON}, hub}
	if err := do(c); err != nil {
		return fmt.Errorf("fleet: %w", orInterrupted(c.advised(err, "")))
	}
	return nil
}

type fleetInviteCmd struct {
	Rig string `arg:"" help:"Name of the rig: 1 to 32 letters, digits or -."`
	fleetHub
}

func (fleetInviteCmd) Help() string {
	return `Example:

  eideticker fleet invite lab-07 --hub https://hub:8430

Run the printed command on the rig within an hour. It is valid once.
It contains a secret and the fingerprint of the hub's certificate.`
}

func (c fleetInviteCmd) Run(e *env) error {
	return c.call(e, func(r rigCall) error {
		return ask(r, "fleet.invite", api.FleetInvite{Rig: c.Rig}, func(i api.FleetInvitation) error {
			fmt.Fprintf(e.err, "valid once, until %s:\n", wallText(i.ExpiresWallNS))
			_, err := fmt.Fprintf(e.out, "eideticker fleet join %s\n", i.URL)
			return err
		})
	})
}

type fleetStatusCmd struct {
	Rig string `placeholder:"URL" default:"http://localhost:8430" help:"Address (default: http://localhost:8430)."`
	rigAccess
	JSON bool `help:"Print the API's result as one JSON object."`
}

func (fleetStatusCmd) Help() string {
	return `Example:

  eideticker fleet status --rig https://lab-07:8430`
}

func (c fleetStatusCmd) Run(e *env) error {
	return fleetHub{Hub: c.Rig, rigAccess: c.rigAccess, JSON: c.JSON}.call(e, func(r rigCall) error {
		return ask(r, "fleet.status", api.Empty{}, func(s api.FleetStatus) error { return printFleetStatus(e, &s) })
	})
}

func printFleetStatus(e *env, s *api.FleetStatus) error {
	rows := [][]string{{"role", s.Role}}
	if s.Role == "hub" || s.Role == "both" {
		rows = append(rows, []string{"rigs", fmt.Sprintf("%d, %d away", s.Rigs, s.Away)},
			[]string{"running", fmt.Sprint(s.Running)})
	}
	if s.Hub != "" {
		connected := map[bool]string{true: "connected", false: "not connected"}[s.Connected]
		if s.SinceWallNS != 0 {
			connected += " since " + wallText(s.SinceWallNS)
		}
		rows = append(rows, []string{"rig", s.Rig}, []string{"hub", s.Hub}, []string{"connection", connected},
			[]string{"results to report", fmt.Sprint(s.Results)})
	}
	if s.CopiedWallNS != 0 {
		rows = append(rows, []string{"last copy", wallText(s.CopiedWallNS)})
	}
	if s.Reason != "" {
		rows = append(rows, []string{"reason", terminal.Clean(s.Reason)})
	}
	return terminal.Table(e.out, []string{"FLEET", ""}, rows)
}

type fleetRigsCmd struct{ fleetHub }

func (fleetRigsCmd) Help() string {
	return `Example:

  eideticker fleet rigs --hub https://hub:8430`
}

func (c fleetRigsCmd) Run(e *env) error {
	return c.call(e, func(r rigCall) error {
		return ask(r, "fleet.rigs", api.Empty{}, func(all api.FleetRigs) error { return printRigs(e, all.Rigs...) })
	})
}

// printRigs prints a row for each rig.
func printRigs(e *env, all ...api.FleetRig) error {
	var rows [][]string
	for _, r := range all {
		var devices, reasons []string
		for _, d := range r.Devices {
			devices = append(devices, d.Device)
			if d.Reason != "" {
				reasons = append(reasons, d.Device+": "+d.Reason)
			}
		}
		rows = append(rows, []string{r.Rig, r.State, strings.Join(devices, " "), terminal.Clean(r.Program),
			terminal.Clean(cmp.Or(r.Reason, strings.Join(reasons, "; ")))})
	}
	return terminal.Table(e.out, []string{"RIG", "STATE", "DEVICES", "PROGRAM", "REASON"}, rows)
}

type fleetJobsCmd struct {
	fleetHub
	State string `placeholder:"STATE" help:"Only jobs in this state, or live ones."`
	Limit int    `placeholder:"N" default:"20" help:"At most N (default: 20)."`
}

func (fleetJobsCmd) Help() string {
	return `Example:

  eideticker fleet jobs --state live --hub https://hub:8430`
}

func (c fleetJobsCmd) Run(e *env) error {
	return c.call(e, func(r rigCall) error {
		return ask(r, "fleet.jobs", api.FleetJobsParams{State: c.State, Limit: c.Limit}, func(all api.FleetJobs) error {
			var rows [][]string
			for i := range all.Jobs {
				rows = append(rows, []string{all.Jobs[i].Job, remote.FleetJobText(&all.Jobs[i])})
			}
			return r.printNarrow("job", "state", rows)
		})
	})
}

type fleetCancelCmd struct {
	Job string `arg:"" help:"ID of the job."`
	fleetHub
}

func (fleetCancelCmd) Help() string {
	return `Example:

  eideticker fleet cancel s-nightly-7 --hub https://hub:8430`
}

func (c fleetCancelCmd) Run(e *env) error {
	return c.call(e, func(r rigCall) error {
		return ask(r, "fleet.cancel", api.JobID{Job: c.Job}, func(j api.FleetJob) error {
			_, err := fmt.Fprintln(e.out, remote.FleetJobText(&j))
			return err
		})
	})
}

type fleetDrainCmd struct {
	Rig string `arg:"" help:"Name of the rig."`
	fleetHub
	Reason string `placeholder:"TEXT" help:"Reason for others."`
	Lift   bool   `help:"Let the rig begin jobs again."`
}

func (fleetDrainCmd) Help() string {
	return `Examples:

  eideticker fleet drain lab-07 --reason 'new cable' --hub https://hub:8430
  eideticker fleet drain lab-07 --lift --hub https://hub:8430

Running jobs end. The rig is drained when none is left.`
}

func (c fleetDrainCmd) Run(e *env) error {
	return c.call(e, func(r rigCall) error {
		return ask(r, "fleet.drain", api.FleetDrain{Rig: c.Rig, Drain: !c.Lift, Reason: c.Reason},
			func(rig api.FleetRig) error { return printRigs(e, rig) })
	})
}

type fleetRemoveCmd struct {
	Rig string `arg:"" help:"Name of the rig."`
	fleetHub
}

func (fleetRemoveCmd) Help() string {
	return `Example:

  eideticker fleet remove lab-07 --hub https://hub:8430

The hub closes the rig's connection. Its runs stay on the rig.`
}

func (c fleetRemoveCmd) Run(e *env) error {
	return c.call(e, func(r rigCall) error {
		return ask(r, "fleet.remove", api.FleetRigName{Rig: c.Rig}, func(api.Empty) error {
			_, err := fmt.Fprintf(e.out, "%s is removed\n", c.Rig)
			return err
		})
	})
}
