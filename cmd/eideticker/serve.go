package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/sources"
	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/hub"
	"github.com/eideticker/eideticker/deploy/schedule"
	"github.com/eideticker/eideticker/deploy/schedule/builds"
	"github.com/eideticker/eideticker/deploy/server"
	"github.com/eideticker/eideticker/deploy/server/webui"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/deploy/store/trend"
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
	boundMemory(os.DirFS("/"), os.Getenv("GOMEMLIMIT"))
	return (&rigService{env: e, conf: conf, log: newLog(e, conf.Log), notify: systemd{},
		first: c.isFirst(conf.DataDir)}).run()
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

// rigService is a rig that serves.
type rigService struct {
	*env
	conf   config.Config
	log    *slog.Logger
	notify systemd
	first  bool // the rig has neither configuration nor data

	devices daemon.Devices // nil: those of the configuration

	store  *store.Store
	daemon *daemon.Daemon
	api    *server.Server
	tokens *server.Tokens
	builds *builds.Cache
	trends *trend.DB        // nil: no schedules are configured
	engine *schedule.Engine // nil: as trends
	cert   *tls.Certificate // nil: connections are not encrypted
	at     string           // address that it listens on
	bus    *bus.Server      // nil: this rig is not a hub
	hub    *hub.Hub         // nil: as bus
	agent  *agent.Agent
	// archive copies runs; nil: no
	archive *store.Archive
}

// run opens everything, serves, and closes everything in reverse order. It listens first: after an
// error about the address, the next start is still the first one.
func (s *rigService) run() (err error) {
	listener, err := net.Listen("tcp", s.listenAddress())
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	s.at = listener.Addr().String()
	if err := s.open(); err != nil {
		return errors.Join(fmt.Errorf("serve: %w", err), s.closeHub(), listener.Close())
	}
	defer func() {
		if s.trends != nil {
			err = errors.Join(err, s.trends.Close())
		}
		err = errors.Join(err, s.closeHub(), s.store.Close())
	}()
	return s.serve(listener)
}

func (s *rigService) listenAddress() string {
	at, _ := s.conf.Address() // was checked
	return at.String()
}

func (s *rigService) open() (err error) {
	ctx := s.ctx
	s.store, err = store.Open(ctx, store.Options{
		Dir: s.conf.DataDir, Log: s.log, MaxUpload: int64(s.conf.Store.MaxUpload), MinFree: int64(s.conf.Store.MinFree),
		Working: s.notify.busy,
		Progress: func(done, total int) {
			s.notify.busy(fmt.Sprintf("indexing runs: %d of %d", done, total))
			if done%1000 == 0 {
				s.log.Info("indexing runs", "done", done, "total", total)
			}
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.store.Close())
		}
	}()
	if why := device.SandboxWarning(); why != "" {
		s.log.Warn(why)
	}
	broken, err := s.store.Recover(ctx)
	if err != nil { // the rest can be served
		s.log.Error("not all runs that broke off could be closed", "error", err)
	}
	for _, id := range broken {
		s.log.Warn("a run broke off when the program ended, and is closed", "run", id)
	}
	if s.tokens, err = server.OpenTokens(s.conf.DataDir); err != nil {
		return err
	}
	if err := s.tokens.Clean(); err != nil { // harmless
		s.log.Warn("the folder of secrets could not be cleaned", "error", err)
	}
	if err := s.certificate(); err != nil {
		return err
	}
	if s.daemon, err = s.newDaemon(); err != nil {
		return err
	}
	if err = s.openHub(); err != nil {
		return err
	}
	if err = s.openSchedules(); err != nil {
		return err
	}
	s.archive = s.newArchive()
	if s.api, err = s.newAPI(); err != nil {
		return err
	}
	return s.openAgent()
}

func (s *rigService) newDaemon() (*daemon.Daemon, error) {
	if s.devices == nil {
		found, err := session.FindDevices(s.conf.Devices)
		if err != nil {
			return nil, err
		}
		s.devices = found
	}
	tests, err := suiteFolders{Suite: s.conf.Suite}.sources()
	if err != nil {
		return nil, err
	}
	keep := map[string]time.Duration{}
	for name, d := range s.conf.Runs.KeepLast {
		keep[name] = time.Duration(d)
	}
	var controls []string
	for _, c := range s.conf.Schedule {
		controls = append(controls, c.Control)
	}
	if s.builds, err = builds.Open(builds.Options{Dir: s.conf.DataDir, Feeds: s.conf.Feed,
		MaxBytes: int64(s.conf.Store.MaxBuilds), Keep: controls, Log: s.log}); err != nil {
		return nil, err
	}
	return daemon.New(daemon.Options{
		Dir: s.conf.DataDir, Store: s.store, Builds: s.builds, Devices: s.devices, Suite: tests, Known: session.Known(),
		Program: program(), Log: s.log,
		AllowLoopback: s.conf.Runs.AllowLoopback, QuarantineAfter: s.conf.Runs.QuarantineAfter,
		Parallel: s.conf.Runs.Parallel, KeepLast: keep,
		Retain: store.Policy{MaxBytes: int64(s.conf.Store.MaxBytes), MinFree: int64(s.conf.Store.MinFree),
			MaxAge: time.Duration(s.conf.Store.MaxAge), UnusedAge: time.Duration(s.conf.Store.UnusedAge)},
	})
}

func (s *rigService) newAPI() (*server.Server, error) {
	_, loopback := s.conf.Loopback()
	o := server.Options{
		Daemon: s.daemon, Tokens: s.tokens, Needed: s.conf.NeedsToken(), Program: program(), Log: s.daemon.Log(),
		Place:       server.Place{Loopback: loopback, Encrypted: s.cert != nil, Hosts: s.hosts()},
		Connections: s.conf.Limits.Connections, CallsPerS: s.conf.Limits.CallsPerS,
		Compare: compareFolders, Builds: s.builds.Builds, Page: webui.Handler(),
		Sources: func() (json.RawMessage, error) {
			list, err := sources.Find()
			if err != nil {
				s.log.Warn("not all sources could be listed", "error", err)
			}
			return json.Marshal(list)
		},
		Health: s.daemon.Ready, FleetRig: s.fleetStatus, Archive: s.archive,
	}
	if s.engine != nil {
		o.Trends, o.Engine = s.trends, s.engine
	}
	if s.hub != nil {
		o.Fleet = s.hub
	}
	return server.New(o)
}

// certificate loads or makes the TLS certificate.
func (s *rigService) certificate() error {
	switch s.conf.Encrypted() {
	case "files":
		cert, err := tls.LoadX509KeyPair(s.conf.TLS.Cert, s.conf.TLS.Key)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		s.cert = &cert
	case "self":
		cert, err := server.OwnCertificate(s.conf.DataDir, s.conf.Access.Hosts, time.Now())
		if err != nil {
			return err
		}
		s.cert = &cert
	}
	return nil
}

// maxConnections bounds open connections: websockets and requests.
const maxConnections = 1024

// serve answers until the context ends. Then running jobs end before their clients are
// disconnected.
func (s *rigService) serve(listener net.Listener) error {
	server := s.api.HTTP()
	server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug) // errors of single connections
	s.announce(shownAddress(listener.Addr().String(), s.hosts()))
	open := netutil.LimitListener(listener, max(maxConnections, 2*s.conf.Limits.Connections))
	if s.cert != nil {
		open = tls.NewListener(open, &tls.Config{Certificates: []tls.Certificate{*s.cert}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}})
	}
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var all errgroup.Group
	all.Go(func() error {
		err := closed(server.Serve(open))
		stop() // an unreachable rig is useless
		return err
	})
	all.Go(func() error {
		err := s.daemon.Run(ctx)
		s.notify.ending()
		s.api.Close()
		end, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close() // shutdownTime is over
		}
		return err
	})
	if s.engine != nil {
		all.Go(func() error { return s.engine.Run(ctx) })
	}
	if s.hub != nil {
		all.Go(func() error {
			err := s.hub.Run(ctx)
			stop() // its rigs have no other
			return err
		})
	}
	if s.archive != nil {
		all.Go(func() error { return s.archive.Run(ctx) })
	}
	all.Go(func() error { return s.agent.Run(ctx) })
	all.Go(func() error { s.notify.watch(ctx, s.daemon.Health); return nil })
	s.notify.ready()
	return all.Wait()
}

// shutdownTime is the time for clients to finish their downloads.
const shutdownTime = 5 * time.Second

// announce prints the address and the certificate.
func (s *rigService) announce(at string) {
	scheme := "http"
	if s.cert != nil {
		scheme = "https"
		fmt.Fprintf(s.err, "certificate %s\n", fingerprint.Of(s.cert.Certificate[0]))
	}
	page := fmt.Sprintf("%s://%s/", scheme, at)
	if s.first {
		_ = s.welcome(page) // the page can be opened without it
	}
	fmt.Fprintln(s.out, page)
	if !s.conf.NeedsToken() {
		return
	}
	if tokens, err := s.tokens.All(); err == nil && len(tokens) == 0 {
		fmt.Fprintf(s.err, "no tokens: add one with eideticker serve token add --data-dir %s --role admin NAME\n",
			s.conf.DataDir)
	}
}
