// Package rig makes a rig of its configuration. It has jobs and their runs, an API with a web page,
// and schedules. It may be the hub of a fleet, or a part of one.
package rig

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/sources"
	"github.com/eideticker/eideticker/controller/suite"
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

// Options configure a rig.
type Options struct {
	Config  config.Config // checked, with an absolute DataDir
	Suite   []suite.Source
	Devices daemon.Devices // nil: those of the configuration
	Program string         // name and version, such as "eideticker v1.2"
	Log     *slog.Logger
	// Announce is called before the rig answers; nil: no.
	Announce func(Address)
}

// Address says where a rig answers, and to whom.
type Address struct {
	Page        string // URL with a slash at its end
	Fingerprint string // of the TLS certificate; "": connections are not encrypted
	Hub         bool
	NoTokens    bool // clients need tokens, and there are none
}

// Rig is a rig that serves. Close it after use.
type Rig struct {
	conf     config.Config
	suite    []suite.Source
	program  string
	log      *slog.Logger
	announce func(Address)
	notify   systemd

	devices daemon.Devices
	store   *store.Store
	daemon  *daemon.Daemon
	api     *server.Server
	tokens  *server.Tokens
	builds  *builds.Cache
	trends  *trend.DB        // nil: no schedules are configured
	engine  *schedule.Engine // nil: as trends
	cert    *tls.Certificate // nil: connections are not encrypted
	at      string           // address that it listens on
	bus     *bus.Server      // nil: this rig is not a hub
	hub     *hub.Hub         // nil: as bus
	agent   *agent.Agent
	archive *store.Archive // nil: runs are not copied
}

// Serve listens, opens a rig, and serves it until the context ends. It makes no file before it
// listens: after an error about the address, the next start is still the first one.
func Serve(ctx context.Context, o Options) (err error) {
	listener, err := net.Listen("tcp", listenAddress(&o.Config))
	if err != nil {
		return err
	}
	s, err := Open(ctx, o, listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Serve(ctx, listener)
}

// listenAddress returns the address and port of a checked configuration.
func listenAddress(c *config.Config) string {
	at, _ := c.Address()
	return at.String()
}

// Open opens a rig that listens at an address. Without an address it joins no fleet.
func Open(ctx context.Context, o Options, at string) (*Rig, error) {
	s := &Rig{conf: o.Config, suite: o.Suite, program: o.Program, log: o.Log, announce: o.Announce, devices: o.Devices,
		at: at}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Store returns the rig's runs.
func (s *Rig) Store() *store.Store { return s.store }

// Close closes everything in reverse order.
func (s *Rig) Close() (err error) {
	if s.trends != nil {
		err = s.trends.Close()
	}
	err = errors.Join(err, s.closeHub())
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

func (s *Rig) open(ctx context.Context) (err error) {
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
	if err = s.openHub(ctx); err != nil {
		return err
	}
	if err = s.openSchedules(ctx); err != nil {
		return err
	}
	s.archive = s.newArchive()
	if s.api, err = s.newAPI(); err != nil {
		return err
	}
	return s.openAgent()
}

func (s *Rig) newDaemon() (_ *daemon.Daemon, err error) {
	if s.devices == nil {
		found, err := session.FindDevices(s.conf.Devices)
		if err != nil {
			return nil, err
		}
		s.devices = found
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
		MaxBytes: int64(s.conf.Store.MaxBuilds), Keep: controls, Log: s.log,
		Fetch: func(ctx context.Context, sum string, to *os.File, limit int64) error {
			return s.agent.Fetch(ctx, sum, to, limit)
		}}); err != nil {
		return nil, err
	}
	return daemon.New(daemon.Options{
		Dir: s.conf.DataDir, Store: s.store, Builds: s.builds, Devices: s.devices, Suite: s.suite,
		Known: session.Known(), Program: s.program, Log: s.log,
		AllowLoopback: s.conf.Runs.AllowLoopback, QuarantineAfter: s.conf.Runs.QuarantineAfter,
		Parallel: s.conf.Runs.Parallel, KeepLast: keep,
		Retain: store.Policy{MaxBytes: int64(s.conf.Store.MaxBytes), MinFree: int64(s.conf.Store.MinFree),
			MaxAge: time.Duration(s.conf.Store.MaxAge), UnusedAge: time.Duration(s.conf.Store.UnusedAge)},
	})
}

func (s *Rig) newAPI() (*server.Server, error) {
	_, loopback := s.conf.Loopback()
	o := server.Options{
		Daemon: s.daemon, Tokens: s.tokens, Needed: s.conf.NeedsToken(), Program: s.program, Log: s.daemon.Log(),
		Place:       server.Place{Loopback: loopback, Encrypted: s.cert != nil, Hosts: s.hosts()},
		Connections: s.conf.Limits.Connections, CallsPerS: s.conf.Limits.CallsPerS,
		Compare: CompareFolders, Builds: s.builds.Builds, Page: webui.Handler(),
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
func (s *Rig) certificate() error {
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

// Serve answers until the context ends. Then running jobs end before their clients are
// disconnected. It closes the listener.
func (s *Rig) Serve(ctx context.Context, listener net.Listener) error {
	server := s.api.HTTP()
	server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug) // errors of single connections
	if s.announce != nil {
		s.announce(s.address(listener.Addr().String()))
	}
	open := netutil.LimitListener(listener, max(maxConnections, 2*s.conf.Limits.Connections))
	if s.cert != nil {
		open = tls.NewListener(open, &tls.Config{Certificates: []tls.Certificate{*s.cert}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}})
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all errgroup.Group
	all.Go(func() error {
		err := server.Serve(open)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
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

// address returns the address that people open.
func (s *Rig) address(at string) Address {
	a, scheme := Address{Hub: s.hub != nil}, "http"
	if s.cert != nil {
		scheme, a.Fingerprint = "https", fingerprint.Of(s.cert.Certificate[0])
	}
	a.Page = fmt.Sprintf("%s://%s/", scheme, shownAddress(at, s.hosts()))
	if s.conf.NeedsToken() {
		tokens, err := s.tokens.All()
		a.NoTokens = err == nil && len(tokens) == 0
	}
	return a
}
