package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/doctor"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
	"github.com/eideticker/eideticker/deploy/rig"
	"github.com/eideticker/eideticker/deploy/store/trend"
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
		Progress: func(phase string) { e.phase(phase, 0).end() }})
	if err != nil {
		return fmt.Errorf("doctor: %w", orInterrupted(err))
	}
	box.Agents = askAgents(e.ctx)
	findings := append(box.Examine(), examineFleet(e.ctx, box.Disk.Dir)...)
	findings = append(findings, examineHub(box.Disk.Dir, time.Now())...)
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

// examineFleet states whether the rig of a data directory reaches the hub of its fleet.
func examineFleet(ctx context.Context, dir string) []doctor.Finding {
	f, seed, err := agent.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	found := doctor.Finding{ID: "fleet", Group: "fleet", Object: f.Hub, Found: "the hub knows this rig as " + f.Rig}
	if err == nil {
		ctx, stop := context.WithTimeout(ctx, leaveTime)
		defer stop()
		err = reachHub(ctx, dir, f, seed, "")
	}
	if err != nil {
		found.Level, found.Found = doctor.Warn, err.Error()
		found.Advice = "Check the hub and the network. Run eideticker fleet leave if this rig was removed."
	}
	return []doctor.Finding{found}
}

// Limits of a hub that measures too.
const (
	maxHubRigs = 5
	hubWeek    = 7 * 24 * time.Hour
)

// examineHub warns if the hub of a data directory measures beside its rigs' work. The hub's own
// records list the rigs, also while it does not run.
func examineHub(dir string, now time.Time) []doctor.Finding {
	found := doctor.Finding{ID: "fleet-hub", Group: "fleet", Object: dir}
	authority, err := enroll.Open(filepath.Join(dir, filepath.FromSlash(rig.HubSecrets)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it is not a hub
	case err != nil:
		found.Level, found.Found = doctor.Info, "the rigs of the hub cannot be counted: "+err.Error()
		found.Advice = "Run eideticker doctor as root, or as the owner of the hub's files."
		return []doctor.Finding{found}
	}
	rigs := len(authority.Rigs())
	found.Found = plural(rigs, "rig") + " enrolled"
	runs, _ := os.ReadDir(filepath.Join(dir, trend.RunsDir)) // without one it does not measure
	own := slices.ContainsFunc(runs, func(f fs.DirEntry) bool {
		st, err := f.Info()
		return err == nil && f.IsDir() && now.Sub(st.ModTime()) < hubWeek
	})
	if own && rigs > maxHubRigs {
		found.Level, found.Found = doctor.Warn, found.Found+", and this hub measures too"
		found.Advice = "Measure on another machine. The hub's work disturbs its own measurements."
	}
	return []doctor.Finding{found}
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
