package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/eideticker/eideticker/capture/video/media"
	"github.com/eideticker/eideticker/capture/x11"
	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/deploy/config"
)

// Options of a look at this machine.
type Options struct {
	Dir      string        // for recordings; "": a box's data folder if it is writable, else the current folder
	DiskTime time.Duration // of the disk test
	Progress func(phase string)
}

// boxConfig is the configuration of a box's service.
const boxConfig = "/etc/eideticker/eideticker.toml"

// Look gathers the facts about this machine. It does not start or change a service.
func Look(ctx context.Context, o Options) (*Box, error) {
	b := &Box{Root: os.DirFS("/"), CPUs: runtime.NumCPU(), LookPath: lookPath, Access: access, Phones: askPhones(ctx)}
	for _, d := range x11.Displays() {
		b.Screens = append(b.Screens, Screen{Name: d.Name, Size: fmt.Sprintf("%dx%d", d.Width, d.Height), Err: d.Err})
	}
	var err error
	if b.Devices, err = captureDevices(); err != nil {
		return nil, err
	}
	if installed(b.Root) {
		var data string
		b.Service, b.Storage, data = askBox(ctx)
		if o.Dir == "" && data != "" && access(data) == nil {
			o.Dir = data
		}
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	o.Progress("measuring the clock")
	if b.Clock, err = measureClock(ctx); err != nil {
		return nil, err
	}
	o.Progress("measuring the disk of " + o.Dir)
	b.Disk, err = measureDisk(ctx, o.Dir, o.DiskTime, OpenDirect)
	return b, err
}

// lookPath finds a program where this one would.
func lookPath(name string) (string, error) {
	if name == media.Program {
		return media.Find()
	}
	return exec.LookPath(name)
}

// askPhones asks the adb server of this machine, and does not start one.
func askPhones(ctx context.Context) (p Phones) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	attached, err := adb.Server{}.Devices(ctx)
	for _, a := range attached {
		p.Attached = append(p.Attached, Phone{Serial: a.Serial, State: a.State})
	}
	p.Err = err
	return p
}

// askBox asks the daemon on this machine.
func askBox(ctx context.Context) (s Service, storage []Storage, dataDir string) {
	s.State, s.Err = askService(ctx)
	c, err := config.Load(boxConfig, func(string) string { return "" })
	if err != nil {
		s.Config = err
		return s, nil, ""
	}
	at, err := c.Address()
	if err != nil {
		s.Config = err
		return s, nil, ""
	}
	s.Address, s.Answer = c.Listen, askRig(ctx, at, c.Encrypted() != "off")
	return s, askCluster(ctx, c.Fleet), c.DataDir
}
