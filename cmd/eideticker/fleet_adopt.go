package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
	"github.com/eideticker/eideticker/deploy/fleet/hub"
	"github.com/eideticker/eideticker/deploy/rig"
)

type fleetAdoptCmd struct {
	Copy string `arg:"" help:"Folder of the copy, fleet.copy of the lost hub."`
	serveConfig
}

func (fleetAdoptCmd) Help() string {
	return `Example:

  eideticker fleet adopt /mnt/backup

It restores keys, rigs and jobs of a hub whose disk is lost. Stop the old hub
first. The new hub needs the old one's address. Rigs then connect by themselves,
and ignore the old hub. Stop eideticker serve before, and start it afterwards.`
}

func (c fleetAdoptCmd) Run(e *env) error {
	conf, err := c.load("", "")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(conf.DataDir, 0o750); err != nil {
		return fmt.Errorf("fleet adopt: %w", err)
	}
	a, err := hub.Adopt(e.ctx, conf.DataDir, c.Copy, func(keys, store string) (bus.Hub, error) {
		authority, err := enroll.Open(keys)
		if err != nil {
			return nil, err
		}
		operator, err := authority.Operator()
		if err != nil {
			return nil, err
		}
		return bus.Serve(e.ctx, bus.ServerOptions{Dir: store, Quota: int64(conf.Fleet.Quota),
			Keys: rig.KeysOf(authority, operator)})
	})
	if err != nil {
		return fmt.Errorf("fleet adopt: %w", orInterrupted(err))
	}
	fmt.Fprintf(e.out, "adopted %d jobs and %d rigs as of %s; epoch %d\n", a.Jobs, a.Rigs,
		wallText(a.Copied.UnixNano()), a.Epoch)
	fmt.Fprintln(e.err, "give this machine the old hub's address, and start eideticker serve")
	return nil
}

type fleetLeaveCmd struct {
	Force bool `help:"Leave without a connection to the hub, which still lists the rig."`
	serveConfig
}

func (fleetLeaveCmd) Help() string {
	return `Examples:

  eideticker fleet leave
  eideticker fleet leave --force

It tells the hub, and deletes fleet.json and the rig's key. Runs stay on the
rig. A running eideticker serve disconnects within seconds.`
}

func (c fleetLeaveCmd) Run(e *env) error {
	conf, err := c.load("", "")
	if err != nil {
		return err
	}
	f, seed, err := agent.Read(conf.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("fleet leave: this rig is in no fleet")
	}
	if err == nil {
		err = rig.ReachHub(e.ctx, conf.DataDir, f, seed, "leave")
	}
	if err != nil && !c.Force {
		return fmt.Errorf("fleet leave: %w; --force leaves without it", orInterrupted(err))
	}
	if err != nil {
		fmt.Fprintf(e.err, "the hub was not told: %v\nrun eideticker fleet remove %s for it\n", err, f.Rig)
	}
	if err := agent.Erase(conf.DataDir); err != nil {
		return fmt.Errorf("fleet leave: %w", err)
	}
	_, err = fmt.Fprintf(e.out, "%s has left %s\n", f.Rig, f.Hub)
	return err
}
