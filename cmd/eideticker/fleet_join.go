package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/rig"
)

type fleetInitCmd struct{ serveConfig }

func (fleetInitCmd) Help() string {
	return `Example:

  eideticker fleet init

It makes keys in the folder secrets/fleet of the data directory. Back them up:
without them every rig needs a new invitation. Start eideticker serve afterwards.
A hub needs no devices. It must listen on a network, or use TLS.`
}

func (c fleetInitCmd) Run(e *env) error {
	conf, err := c.load("", "")
	if err != nil {
		return err
	}
	dir := filepath.Join(conf.DataDir, rig.HubSecrets)
	if _, err := enroll.Init(dir); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("fleet init: %s: this machine is a hub already; start eideticker serve", dir)
	} else if err != nil {
		return fmt.Errorf("fleet init: %w", err)
	}
	fmt.Fprintf(e.out, "the hub's keys are in %s; back them up\n", dir)
	if conf.Encrypted() == "off" {
		fmt.Fprintln(e.err, "start eideticker serve --listen :8430, or set listen; rigs cannot reach the loopback")
		return nil
	}
	fmt.Fprintln(e.err, "start eideticker serve, or start it again")
	return nil
}

type fleetJoinCmd struct {
	URL string `arg:"" help:"Address with the secret, as fleet invite prints it."`
	serveConfig
}

func (fleetJoinCmd) Help() string {
	return `Example:

  eideticker fleet join https://hub:8430/#TOKEN

It makes a key of the rig and writes fleet.json into the data directory.
A running eideticker serve connects within seconds. eideticker fleet leave takes the rig out again.`
}

func (c fleetJoinCmd) Run(e *env) error {
	conf, err := c.load("", "")
	if err != nil {
		return err
	}
	at, secret, is := strings.Cut(c.URL, "#")
	u, err := url.Parse(at)
	if err != nil || !is || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return usagef("fleet join: the address must be one such as https://hub:8430/#TOKEN")
	}
	token, err := enroll.ParseToken(secret)
	if err != nil {
		return usageError{fmt.Errorf("fleet join: %w", err)}
	}
	seed, public, err := enroll.NewKey()
	if err != nil {
		return fmt.Errorf("fleet join: %w", err)
	}
	f := agent.Fleet{Hub: "https://" + u.Host, Fingerprint: token.Fingerprint()}
	joined, err := agent.Join(e.ctx, f, wire.Join{Version: wire.Version, Program: program(), Token: secret,
		Key: public})
	if err != nil {
		return fmt.Errorf("fleet join: %w", orInterrupted(err))
	}
	f.Rig, f.Path, f.Key = joined.Rig, joined.Path, public
	if err := agent.Write(conf.DataDir, f, seed, joined.JWT); err != nil {
		return fmt.Errorf("fleet join: %w", err)
	}
	_, err = fmt.Fprintf(e.out, "joined %s as %s; a running eideticker serve connects within seconds\n", f.Hub, f.Rig)
	return err
}
