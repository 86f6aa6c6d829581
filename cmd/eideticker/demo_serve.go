package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/eideticker/eideticker/deploy/config"
)

// openPage opens a rig whose data directory is the demo's folder. Its store is open then, and to be
// closed.
func (d *demo) openPage() (*rigService, error) {
	conf := config.Default()
	conf.Log.Level = "error" // that the folder has no index yet is no news
	conf.Store.MinFree = 0   // on a disk that is nearly full, the demo's own runs would go
	var err error
	if conf.DataDir, err = filepath.Abs(d.cmd.Output); err != nil {
		return nil, err
	}
	if err := conf.Check(); err != nil {
		return nil, err
	}
	e := *d.env
	if d.cmd.JSON {
		e.out = e.err // where the address goes: the one object is all there is beside it
	}
	s := &rigService{env: &e, conf: conf, log: newLog(&e, conf.Log)}
	return s, s.open()
}

// show serves the page with the runs, which the rig's store does not know yet, until Ctrl-C.
func (d *demo) show(page *rigService) error {
	if _, err := page.store.Reconcile(d.ctx, nil); err != nil {
		return fmt.Errorf("demo: %w", orInterrupted(err))
	}
	listener, err := net.Listen("tcp", page.listenAddress())
	if err != nil { // another rig has its place
		var other error
		if listener, other = net.Listen("tcp", net.JoinHostPort("127.0.0.1", "0")); other != nil {
			return fmt.Errorf("demo: %w", errors.Join(err, other))
		}
	}
	fmt.Fprintln(d.err, "the runs are shown until Ctrl-C at")
	return page.serve(listener)
}
