package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/doctor"
	"github.com/eideticker/eideticker/deploy/rig"
)

type doctorCmd struct {
	Dir      string        `placeholder:"DIR" help:"Folder for recordings (default: a box's data, else this one)."`
	DiskTime time.Duration `default:"3s" placeholder:"30s" help:"Time of the disk test (default: 3s)."`
	JSON     bool          `help:"Print one JSON object."`
}

var errUnfit = errors.New("doctor: a check failed, see above")

func (doctorCmd) Help() string {
	return `Examples:

  eideticker doctor --dir /recordings
  eideticker doctor --disk-time 1m --json

Checks capture devices, their signal and bus, disk, memory, privileges, clock, processors, input drivers,
and the service of a box. Each problem has a suggestion.
Many disks are fast only for seconds. The disk test uses at most a tenth of the free space and removes its file.
The exit code is 1 if a check fails.`
}

// doctorJSON is the output of doctor --json.
type doctorJSON struct {
	OK       bool             `json:"ok"`    // nothing fails
	Level    doctor.Level     `json:"level"` // the worst: ok, info, warn or fail
	Dir      string           `json:"dir"`
	Findings []doctor.Finding `json:"findings"`
}

func (c doctorCmd) Run(e *env) error {
	if c.DiskTime < doctor.MinDiskTime || c.DiskTime > doctor.MaxDiskTime {
		return usagef("--disk-time %v: must be between %v and %v", c.DiskTime, doctor.MinDiskTime, doctor.MaxDiskTime)
	}
	box, err := doctor.Look(e.ctx, doctor.Options{Dir: c.Dir, DiskTime: c.DiskTime,
		Progress: func(phase string) { e.phase(phase, 0).End() }})
	if err != nil {
		return fmt.Errorf("doctor: %w", orInterrupted(err))
	}
	box.Agents = askAgents(e.ctx)
	findings := append(box.Examine(), rig.Examine(e.ctx, box.Disk.Dir, time.Now())...)
	worst := doctor.Worst(findings)
	if c.JSON {
		err = printJSON(e.out, doctorJSON{OK: worst < doctor.Fail, Level: worst, Dir: box.Disk.Dir, Findings: findings})
	} else {
		err = doctor.Print(e.out, findings, terminal.Columns(e.out))
	}
	switch {
	case err != nil:
		return err
	case worst == doctor.Fail:
		return errUnfit
	}
	return nil
}

// askAgents asks the agents that record profiles of devices.
func askAgents(ctx context.Context) (all []doctor.Agent) {
	devices, err := session.FindDevices("")
	if err != nil {
		return nil // every command that uses them reports that
	}
	for _, d := range devices.Descriptions() {
		if board, ok := session.BoardOf(d); ok {
			system, err := board.Ask(ctx)
			all = append(all, doctor.Agent{Device: d.Name, System: system, Err: err})
		}
	}
	return all
}
