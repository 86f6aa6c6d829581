package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/rig"
)

// openPage opens a rig whose data directory is the demo's folder. The caller closes it.
func (d *demoRun) openPage() (*rig.Rig, error) {
	conf := config.Default()
	conf.Log.Level = "error" // a missing index is expected
	conf.Store.MinFree = 0   // keeps the demo's runs on a full disk
	var err error
	if conf.DataDir, err = filepath.Abs(d.cmd.Output); err != nil {
		return nil, err
	}
	if err := conf.Check(); err != nil {
		return nil, err
	}
	e := *d.env
	if d.cmd.JSON {
		e.out = e.err // standard output has only the JSON object
	}
	tests, err := suiteFolders{}.sources()
	if err != nil {
		return nil, err
	}
	announce := func(a rig.Address) { announceRig(&e, &conf, a, false) }
	return rig.Open(d.ctx, rig.Options{Config: conf, Suite: tests, Program: program(), Log: newLog(&e, conf.Log),
		Announce: announce}, "")
}

// show indexes the runs and serves them until Ctrl-C.
func (d *demoRun) show(page *rig.Rig) error {
	if _, err := page.Store().Reconcile(d.ctx, nil); err != nil {
		return fmt.Errorf("demo: %w", orInterrupted(err))
	}
	listener, err := net.Listen("tcp", config.Default().Listen)
	if err != nil { // the port is in use
		var other error
		if listener, other = net.Listen("tcp", net.JoinHostPort("127.0.0.1", "0")); other != nil {
			return fmt.Errorf("demo: %w", errors.Join(err, other))
		}
	}
	fmt.Fprintln(d.err, "serving the runs until Ctrl-C at")
	return page.Serve(d.ctx, listener)
}
