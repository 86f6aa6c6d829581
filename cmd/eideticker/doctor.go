package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/eideticker/eideticker/capture/video/media"
	"github.com/eideticker/eideticker/capture/x11"
	"github.com/eideticker/eideticker/deploy/doctor"
)

type doctorCmd struct {
	Dir      string        `placeholder:"DIR" complete:"files" help:"Folder for recordings (default: a box's data folder if writable, else the current folder)."`
	DiskTime time.Duration `default:"3s" placeholder:"30s" help:"Time of the disk test; many disks are fast only for seconds (default: 3s)."`
	JSON     bool          `help:"Print one JSON object."`
}

func (doctorCmd) Help() string {
	return `Examples:

  eideticker doctor --dir /recordings
  eideticker doctor --disk-time 1m --json

Checks capture devices, their signal and bus, disk, memory, privileges, clock, processors, input drivers, and the service
of a box. Each problem has a suggestion. The disk test uses at most a tenth of the free space and removes its file.
The exit code is 1 if a check fails.`
}

// doctorJSON is what doctor --json prints.
type doctorJSON struct {
	OK       bool             `json:"ok"` // nothing fails
	Level    doctor.Level     `json:"level"`
	Dir      string           `json:"dir"`
	Findings []doctor.Finding `json:"findings"`
}

// lookPath finds a program where this one would.
func lookPath(name string) (string, error) {
	if name == media.Program {
		return media.Find()
	}
	return exec.LookPath(name)
}

func (c doctorCmd) Run(e *env) error {
	if c.DiskTime < doctor.MinDiskTime || c.DiskTime > doctor.MaxDiskTime {
		return usagef("--disk-time %v: must be between %v and %v", c.DiskTime, doctor.MinDiskTime, doctor.MaxDiskTime)
	}
	box, err := c.look(e)
	if err != nil {
		return fmt.Errorf("doctor: %w", orInterrupted(err))
	}
	findings := box.Examine()
	worst := doctor.Worst(findings)
	if c.JSON {
		err = printJSON(e.out, doctorJSON{OK: worst < doctor.Fail, Level: worst, Dir: box.Disk.Dir, Findings: findings})
	} else {
		err = printFindings(e.out, findings, columns(e.out))
	}
	switch {
	case err != nil:
		return err
	case worst == doctor.Fail:
		return errUnfit
	}
	return nil
}

// look gathers what the doctor needs to know.
func (c doctorCmd) look(e *env) (*doctor.Box, error) {
	box := &doctor.Box{Root: os.DirFS("/"), CPUs: runtime.NumCPU(), LookPath: lookPath, Access: doctor.Access,
		Phones: phones(e.ctx)}
	for _, d := range x11.Displays() {
		box.Screens = append(box.Screens, doctor.Screen{Name: d.Name, Size: fmt.Sprintf("%dx%d", d.Width, d.Height),
			Err: d.Err})
	}
	var err error
	if box.Devices, err = captureDevices(); err != nil {
		return nil, err
	}
	dir := c.Dir
	if doctor.Installed(box.Root) {
		var data string
		box.Service, data = service(e.ctx)
		if dir == "" && data != "" && box.Access(data) == nil {
			dir = data
		}
	}
	if dir == "" {
		dir = "."
	}
	e.phase("measuring the clock", 0).end()
	if box.Clock, err = doctor.MeasureClock(e.ctx); err != nil {
		return nil, err
	}
	e.phase("measuring the disk of "+dir, 0).end()
	box.Disk, err = doctor.MeasureDisk(e.ctx, dir, c.DiskTime, openDirect)
	return box, err
}
