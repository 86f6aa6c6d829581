package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
	"github.com/eideticker/eideticker/deploy/fleet/hub"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/schedule/builds"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/deploy/store/trend"
	"github.com/eideticker/eideticker/netsim/site"
)

// Folders of a hub in the data directory.
const (
	HubSecrets   = "secrets/fleet"
	jetstreamDir = "fleet/jetstream"
	clusterFile  = "nats.creds" // in HubSecrets: of an external cluster
)

// openHub opens the hub of a fleet, if eideticker fleet init made one. Otherwise it makes neither a
// file nor a port.
func (s *Rig) openHub(ctx context.Context) error {
	dir := filepath.Join(s.conf.DataDir, HubSecrets)
	authority, err := enroll.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.cert == nil {
		return errors.New("a hub needs TLS: set tls.mode = \"self\", or listen on a network")
	}
	authority.Fingerprint = fingerprint.Of(s.cert.Certificate[0])
	operator, err := authority.Operator()
	if err != nil {
		return err
	}
	s.notify.busy("reading the fleet's jobs")
	f := s.conf.Fleet
	if s.bus, err = bus.Serve(ctx, bus.ServerOptions{
		Dir: filepath.Join(s.conf.DataDir, jetstreamDir), Quota: int64(f.Quota), Log: s.log, Cluster: f.NATS,
		Credentials: filepath.Join(dir, clusterFile), Keys: KeysOf(authority, operator),
	}); err != nil {
		return err
	}
	reserve, err := reservations(s.conf.Reserve)
	if err != nil {
		return err
	}
	var teams []sched.Team
	for _, t := range s.conf.Team {
		teams = append(teams, sched.Team{Owners: t.Owners, Share: t.Share})
	}
	s.hub, err = hub.New(ctx, hub.Options{
		Dir: s.conf.DataDir, Bus: s.bus, Authority: authority, URL: "https://" + shownAddress(s.at, s.hosts()),
		Websocket: s.bus.WebsocketAddress(), Reserve: reserve, Teams: teams, LostAfter: time.Duration(f.LostAfter),
		Quota: int64(f.Quota), Shared: f.NATS != "", Copy: f.Copy,
		Site:    func(feed string) bool { return s.conf.Feed[feed].Of == config.OfSite },
		Built:   func(feed string) bool { return s.conf.Feed[feed].Kind == config.FeedGit },
		Changed: s.daemon.FleetChanged, Log: s.log, Needed: func() (map[string]bool, error) {
			if s.trends == nil {
				return nil, nil
			}
			return s.trends.Sets(ctx)
		},
	})
	return err
}

// KeysOf returns the keys of a hub's bus.
func KeysOf(a *enroll.Authority, operator string) bus.Keys {
	return bus.Keys{Operator: operator, Account: a.Account(), AccountJWT: a.AccountJWT, System: a.System, User: a.User}
}

// closeHub closes the hub's bus.
func (s *Rig) closeHub() error {
	if s.bus == nil {
		return nil
	}
	return s.bus.Close()
}

// readLight reads the points of a job of the fleet. Their set is RIG/JOB.N.
func (s *Rig) readLight(_ context.Context, job string) (trend.Origin, []trend.Measured, error) {
	dir, err := s.hub.Queue().Folder(job)
	if err != nil {
		return trend.Origin{}, nil, err
	}
	if err := sameBuilds(s.builds, dir); err != nil {
		return trend.Origin{}, nil, err
	}
	return trend.ReadLight(dir)
}

// sameBuilds checks that builds of a light folder RIG/JOB.N have the same content on all rigs.
func sameBuilds(known *builds.Cache, folder string) error {
	sums, err := trend.Sums(folder)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b, err := api.ParseBrowser(name)
		if err == nil {
			err = known.Same(b.Feed, b.Build, sums[name])
		}
		if err != nil {
			return fmt.Errorf("rig %s: %w", filepath.Base(filepath.Dir(folder)), err)
		}
	}
	return nil
}

// openAgent makes the rig's part in a fleet. It waits for fleet.json.
func (s *Rig) openAgent() (err error) {
	c := &s.conf
	address := ""
	if _, loopback := c.Loopback(); !loopback && s.cert != nil {
		address = "https://" + shownAddress(s.at, s.hosts()) + "/"
	}
	s.agent, err = agent.New(agent.Options{
		Dir: c.DataDir, Queue: s.daemon.Queue(), Devices: s.daemon.Devices, Open: s.openSet, Files: s.relayed(),
		Superseded: s.superseded, Rest: s.daemon.Rest, Descriptions: s.devices.Descriptions, Tests: s.allTests,
		Feeds: s.feedsOn, Program: s.program, Address: address, Labels: c.Labels, Unbuilt: unbuilt(c), Signs: signs(c),
		Make: s.makeBuild, Fetches: fetches(c), Learn: s.learn, Log: s.daemon.Log(),
		Accept: wire.Accept{Owners: c.Accept.Owners, Kinds: c.Accept.Kinds, Feeds: c.Accept.Feeds},
		Dial: func(f agent.Fleet, seed []byte, jwt func() (string, error)) (agent.Bus, error) {
			return bus.Dial(bus.RigOptions{URL: f.Hub, Path: f.Path, Fingerprint: f.Fingerprint, Rig: f.Rig, JWT: jwt,
				Seed: seed, Log: s.log})
		},
	})
	return err
}

// feedsOn returns the feeds whose builds run on a device.
func (s *Rig) feedsOn(name string) (all []string) {
	devices := device.List{Devices: s.devices.Descriptions()}
	d, err := devices.Find(name)
	if err != nil {
		return nil
	}
	for _, feed := range slices.Sorted(maps.Keys(s.conf.Feed)) {
		if d.RunsBuilds(s.conf.Feed[feed].Of == config.OfAndroid) == nil {
			all = append(all, feed)
		}
	}
	return all
}

// unbuilt returns the feeds of commits whose builds the rig does not make for a fleet. It makes
// those for which its file has a command and a label.
func unbuilt(c *config.Config) (feeds []string) {
	made := strings.Split(c.Labels[""][wire.Builder], ",")
	for name, f := range c.Feed {
		if f.Kind == config.FeedGit && (len(f.Command) == 0 || !slices.Contains(made, name)) {
			feeds = append(feeds, name)
		}
	}
	return feeds
}

// signs returns the feeds whose builds the rig makes for other rigs, within its own limits.
func signs(c *config.Config) (feeds []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Feed)) {
		if c.Feed[name].Sign != "" && !slices.Contains(unbuilt(c), name) &&
			(len(c.Accept.Feeds) == 0 || slices.Contains(c.Accept.Feeds, name)) {
			feeds = append(feeds, name)
		}
	}
	return feeds
}

// fetches returns the feeds whose builds the rig gets from its hub.
func fetches(c *config.Config) (feeds []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Feed)) {
		if c.Feed[name].Kind == config.FeedFleet {
			feeds = append(feeds, name)
		}
	}
	return feeds
}

// makeBuild makes and signs a build for other rigs.
func (s *Rig) makeBuild(ctx context.Context, b wire.Build) (m wire.Made, err error) {
	m.Line, m.SHA256, m.Bytes, err = s.builds.Export(ctx, b.Feed, b.Build, s.daemon.Quiet)
	return m, err
}

// learn keeps a build that another rig has signed.
func (s *Rig) learn(m wire.Made) error { return s.builds.Learn(m.Feed, m.Build.Build, m.Line) }

// relayed answers the requests that the hub passes on, and those of the hub for builds.
func (s *Rig) relayed() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.api.Relayed())
	mux.HandleFunc("GET "+wire.BuildPath+"{sum}", func(w http.ResponseWriter, r *http.Request) {
		sum := r.PathValue("sum")
		f, err := s.builds.Archive(sum)
		if err != nil {
			http.Error(w, "the rig has no such build any more", http.StatusNotFound)
			return
		}
		defer f.Close() // was only read
		w.Header().Set("ETag", `"`+sum[:min(len(sum), 32)]+`"`)
		http.ServeContent(w, r, "", time.Time{}, f)
	})
	return mux
}

// allTests returns the names of all that a job may name as its test, and of tests with a profile.
func (s *Rig) allTests() (names, profiled []string) {
	sources, known := s.daemon.Suite()
	all, _ := suite.Tests(known, sources...) // without files that cannot be read
	for _, t := range all {
		if names = append(names, t.Name); t.Profile.Given() && t.Repeat != 1 { // one run has no plain one
			profiled = append(profiled, t.Name)
		}
	}
	for _, p := range site.Pages() {
		names = append(names, p.Name)
	}
	return names, profiled
}

// openSet opens the folder of a set, which is not deleted before release.
func (s *Rig) openSet(set string) (root *os.Root, release func(), err error) {
	release, err = s.store.Use(set)
	if err == nil {
		if root, err = s.store.Folder(set); err != nil {
			release()
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return root, release, err
}

// superseded has a set deleted before others. Without one there is nothing to delete.
func (s *Rig) superseded(set string) {
	if err := s.store.Supersede(set); err != nil && !errors.Is(err, store.ErrNotFound) {
		s.log.Warn("a superseded attempt could not be marked", "set", set, "error", err)
	}
}

// fleetStatus returns the rig's state in a fleet.
func (s *Rig) fleetStatus() api.FleetStatus {
	if s.agent == nil {
		return api.FleetStatus{Role: "alone"}
	}
	return s.agent.Status()
}

// reservations reads the shares of the configuration.
func reservations(all []config.Reserve) (out []sched.Reservation, err error) {
	for _, r := range all {
		needs, err := sched.ParseNeeds(strings.Fields(r.Labels))
		if err != nil {
			return nil, fmt.Errorf("reserve.labels: %w", err)
		}
		from, to, err := r.Span()
		if err != nil {
			return nil, err
		}
		out = append(out, sched.Reservation{Needs: needs, Class: r.Class, Share: r.Share, From: from, To: to})
	}
	return out, nil
}
