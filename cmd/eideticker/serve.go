package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/rig"
)

type serveCmd struct {
	Start serveStartCmd `cmd:"" default:"withargs" help:"Serve this rig until Ctrl-C; the same as serve alone."`
	Token serveTokenCmd `cmd:"" help:"Add, list and remove tokens of clients."`
}

// Help is that of serve without another word, which is serve start.
func (serveCmd) Help() string {
	return `Examples:

  eideticker serve
  eideticker serve --config /etc/eideticker/eideticker.toml
  eideticker serve token add --role run ci
  eideticker serve token list

serve start --help describes these flags:

  eideticker serve [--config FILE] [--listen ADDRESS:PORT] [--data-dir DIR]
                   [--devices FILE] [--suite DIR]...

Flags override the configuration.

The rig runs tests for clients, stores runs and shows them in the browser. On the loopback, the default, every user of
this machine has all rights. On other addresses clients need a token and TLS. Without a configured TLS certificate
the rig makes its own and prints the fingerprint.

Press Ctrl-C to end: the running job is marked as interrupted, and queued jobs continue at the next start. A second
Ctrl-C does not wait.`
}

func (serveStartCmd) Help() string { return serveCmd{}.Help() }

// serveConfig are flags about the rig's configuration.
type serveConfig struct {
	Config  string `placeholder:"FILE" help:"TOML configuration; every key has a default."`
	DataDir string `placeholder:"DIR" help:"Folder of runs, index and secrets."`
}

// load reads the configuration. Flags override the environment, which overrides the file.
func (s serveConfig) load(listen, devices string) (config.Config, error) {
	flags := map[string]string{"EIDETICKER_DATA_DIR": s.DataDir, "EIDETICKER_LISTEN": listen,
		"EIDETICKER_DEVICES": devices}
	c, err := config.Load(s.Config, func(name string) string { return cmp.Or(flags[name], os.Getenv(name)) })
	if err != nil {
		return c, usageError{err}
	}
	if c.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return c, err
	}
	return c, nil
}

type serveStartCmd struct {
	serveConfig
	Listen  string   `placeholder:"ADDRESS:PORT" help:"Address to listen on (default: 127.0.0.1:8430)."`
	Devices string   `placeholder:"FILE" help:"File of devices."`
	Suite   []string `placeholder:"DIR" help:"Folder with more test files; repeatable."`
}

func (c serveStartCmd) Run(e *env) error {
	conf, err := c.load(c.Listen, c.Devices)
	if err != nil {
		return err
	}
	conf.Suite = append(conf.Suite, c.Suite...)
	rig.BoundMemory(os.DirFS("/"), os.Getenv("GOMEMLIMIT"))
	tests, err := suiteFolders{Suite: conf.Suite}.sources()
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	first := c.isFirst(conf.DataDir)
	announce := func(a rig.Address) { announceRig(e, &conf, a, first) }
	err = rig.Serve(e.ctx, rig.Options{Config: conf, Suite: tests, Program: program(), Log: newLog(e, conf.Log),
		Announce: announce})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// newLog logs to standard error, where systemd takes it.
func newLog(e *env, l config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // the configuration was checked
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(e.err, o))
	}
	return slog.New(slog.NewTextHandler(e.err, o))
}

// announceRig prints the address and the certificate, and the next steps at a first start.
func announceRig(e *env, c *config.Config, a rig.Address, first bool) {
	if a.Fingerprint != "" {
		fmt.Fprintf(e.err, "certificate %s\n", a.Fingerprint)
	}
	if first {
		_ = welcome(e.err, c, a) // the page can be opened without it
	}
	fmt.Fprintln(e.out, a.Page)
	if a.NoTokens {
		fmt.Fprintf(e.err, "no tokens: add one with eideticker serve token add --data-dir %s --role admin NAME\n",
			c.DataDir)
	}
}
