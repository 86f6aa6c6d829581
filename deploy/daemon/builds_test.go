package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// shelf has builds 1 to newest of the feed "f".
type shelf struct {
	mu      sync.Mutex
	newest  int
	ready   map[string]bool
	fetched []string
	inUse   int
	fail    error
	dir     string // with the builds of the feed of a site, "shop"
}

func (s *shelf) Resolve(_ context.Context, feed, build string) (api.Build, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if build == "" {
		build = fmt.Sprint(s.newest)
	}
	if feed != "f" && feed != "shop" && feed != "fenix" || build > fmt.Sprint(s.newest) {
		return api.Build{}, api.Errorf(api.NotFound, "feed %s has no build %q", feed, build)
	}
	return api.Build{Feed: feed, Name: build, State: "usable"}, nil
}

func (s *shelf) Site(feed string) bool { return feed == "shop" }

func (s *shelf) App(feed string) string { return map[string]string{"fenix": "org.mozilla.fenix"}[feed] }

func (s *shelf) Sum(b api.Build) string { return "sum-" + b.Name }

func (s *shelf) Ready(b api.Build) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready[b.Name]
}

func (s *shelf) Program(_ context.Context, kind string, b api.Build) (string, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return "", nil, s.fail
	}
	s.fetched = append(s.fetched, b.Name)
	s.ready[b.Name] = true
	s.inUse++
	path := "/builds/" + b.Name + "/" + kind
	if b.Feed == "shop" {
		path = filepath.Join(s.dir, b.Name)
	}
	return path, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inUse--
	}, nil
}

func (s *shelf) has() (fetched []string, inUse int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.fetched), s.inUse
}

// virtual returns devices with virtual displays, of any browser.
func virtual(names ...string) (all daemontest.Devices) {
	for _, name := range names {
		d := daemontest.New(name)
		d.About.Source, d.About.Browsers = device.Virtual, nil
		all = append(all, d)
	}
	return all
}

func withBuilds(s *shelf) func(*daemon.Options) {
	return func(o *daemon.Options) { o.Builds = s }
}

func TestBuildsOfFeeds(t *testing.T) {
	t.Parallel()
	s := &shelf{newest: 2, ready: map[string]bool{}}
	devices := virtual("local")
	r := daemontest.Start(t, t.TempDir(), devices, withBuilds(s))
	j := r.Scene("ci", api.StartParams{Browsers: []string{"firefox@f", "chrome@feed.f:1"}, Repeat: 1})
	if want := []string{"firefox@f:2", "chromium@f:1"}; !slices.Equal(j.Browsers, want) ||
		!slices.Equal(j.Params.Variants, []string{"firefox-f-2", "chromium-f-1"}) {
		t.Errorf("browsers %q, variants %q, want %q", j.Browsers, j.Params.Variants, want)
	}
	if j = r.Ended(j.ID); j.State != "ok" || len(j.Runs) != 2 {
		t.Fatalf("%+v", j)
	}
	if w := devices[0].Wanted(); w.Program != "/builds/2/firefox" && w.Program != "/builds/1/chromium" {
		t.Errorf("program %s", w.Program)
	}
	if _, inUse := s.has(); inUse != 0 {
		t.Errorf("%d builds are still in use", inUse)
	}
	dir, err := r.Store.Path(j.ID)
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Builds map[string]string
		Sums   map[string]string `json:"build_sha256"`
	}
	raw, err := os.ReadFile(filepath.Join(dir, "set.json"))
	if err == nil {
		err = json.Unmarshal(raw, &set)
	}
	if err != nil || set.Builds["firefox-f-2"] != "firefox@f:2" || set.Builds["chromium-f-1"] != "chromium@f:1" {
		t.Errorf("set.json has %v, error %v", set.Builds, err)
	}
	if got := fmt.Sprint(set.Sums); got != "map[chromium@f:1:sum-1 firefox@f:2:sum-2]" {
		t.Errorf("set.json has the sums %s", got)
	}
	if run, err := r.Store.Get(t.Context(), j.ID+"~firefox-f-2~run-01"); err != nil ||
		run.Environment["build"] != "firefox@f:2" || run.Browser != "firefox" {
		t.Errorf("environment %v of %q, error %v", run.Environment, run.Browser, err)
	}
	s.fail = fmt.Errorf("the server answers 404")
	j = r.Ended(r.Scene("ci", api.StartParams{Browsers: []string{"firefox@f"}}).ID)
	if j.State != "failed" || j.Reason != "browser firefox@f:2: the server answers 404" {
		t.Errorf("%s: %s", j.State, j.Reason)
	}
}

// TestLabFailure: a build cannot be fetched, or the disk is full. A submitted job is interrupted.
// Its schedule can submit it again.
//
// Fault: A scheduled job cannot fetch its build, or has no space on the disk
func TestLabFailure(t *testing.T) {
	t.Parallel()
	s, devices := &shelf{newest: 1, ready: map[string]bool{}, fail: errors.New("no route")}, virtual("a")
	var full atomic.Bool
	r := daemontest.Start(t, t.TempDir(), devices, func(o *daemon.Options) {
		o.Builds = s
		o.Room = func() error {
			if full.Load() {
				return errors.New("3 bytes are free")
			}
			return nil
		}
	})
	p := scheduled()
	p.Variants[0].Browser = "firefox@f"
	if _, err := r.Queue().Submit(t.Context(), scheduledID, "schedule", p); err != nil {
		t.Fatal(err)
	}
	if j := r.Ended(scheduledID); j.State != "interrupted" || !strings.Contains(j.Reason, "no route") {
		t.Errorf("%+v", j)
	}
	free := devices[0].Hold()
	defer free()
	blocker := r.Scene("x", api.StartParams{Devices: []string{"a"}})
	r.State(blocker.ID, "running")
	if _, err := r.Queue().Submit(t.Context(), scheduledID+"-2", "schedule", p); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	free()
	if j := r.Ended(scheduledID + "-2"); j.State != "interrupted" || !strings.Contains(j.Reason, "3 bytes are free") {
		t.Errorf("%+v", j)
	}
}

// Fault: A job names an unknown build, or a device that cannot run it
// Fault: An untrusted page attacks an old browser
func TestBuildsAreRefused(t *testing.T) {
	t.Parallel()
	s := &shelf{newest: 2}
	devices := append(virtual("local"), daemontest.New("card"))
	with := daemontest.Start(t, t.TempDir(), devices, withBuilds(s))
	without := daemontest.Start(t, t.TempDir(), devices, nil)
	const wrong = "must be KIND, KIND@FEED or KIND@FEED:BUILD"
	for _, tc := range []struct {
		name, want string
		builds     *shelf
		p          api.StartParams
	}{
		{"no feeds", "browser firefox@f: no feeds are configured", nil,
			api.StartParams{Browsers: []string{"firefox@f"}}},
		{"unknown feed", "feed g has no build", s, api.StartParams{Browsers: []string{"firefox@g"}}},
		{"unknown build", `feed f has no build "3"`, s, api.StartParams{Browsers: []string{"firefox@f:3"}}},
		{"no feed", wrong, s, api.StartParams{Browsers: []string{"firefox@"}}},
		{"no build", wrong, s, api.StartParams{Browsers: []string{"firefox@f:"}}},
		{"path", wrong, s, api.StartParams{Browsers: []string{"firefox@f:../1"}}},
		{"twice", "is given twice", s, api.StartParams{Browsers: []string{"firefox@f", "firefox@f:latest"}}},
		{"another screen", "browser one@f:2: device card is not a virtual display of this", s,
			api.StartParams{Variants: []api.Variant{{Name: "a"}, {Name: "b", Device: "card", Browser: "one@f"}}}},
		{"no phone", "browser firefox@fenix:2: device local is not an Android device, which builds for Android need", s,
			api.StartParams{Browsers: []string{"firefox@fenix"}}},
		{"an address", "cannot run in builds of feeds", s,
			api.StartParams{Browsers: []string{"firefox@f:1"}, URL: "https://example.org/"}},
		{"an address beside a test", "cannot run in builds of feeds", s, api.StartParams{Variants: []api.Variant{
			{Name: "a", Test: "scene", Browser: "firefox@f:1"}, {Name: "b", URL: "https://example.org/"}}}},
		{"an upload", "cannot run in builds of feeds", s, api.StartParams{Browsers: []string{"firefox@f"},
			Upload: &api.Upload{Test: "t.yaml", Files: map[string]string{
				"t.yaml": "name: t\nurl: https://example.org/\nend: still 1s\n"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := with
			if tc.builds == nil {
				r = without
			}
			if tc.p.URL == "" && tc.p.Upload == nil {
				tc.p.Test = "scene"
			}
			_, err := r.Start(context.Background(), "ci", tc.p)
			if err == nil || !strings.Contains(err.Error(), tc.want) || code(err) == 0 {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestBuildsAreFetchedInQuiet(t *testing.T) {
	t.Parallel()
	s := &shelf{newest: 2, ready: map[string]bool{}}
	devices := virtual("a", "b")
	r := daemontest.Start(t, t.TempDir(), devices, withBuilds(s))
	free := devices[0].Hold()
	defer free()
	measured := r.Scene("ci", api.StartParams{Devices: []string{"a"}})
	r.State(measured.ID, "running")
	r.Until("the run to begin", func() bool { return devices[0].Wanted().Log != nil })
	j := r.Scene("ci", api.StartParams{Devices: []string{"b"}, Browsers: []string{"firefox@f"}})
	r.Until("the job to wait", func() bool {
		j, err := r.Job(j.ID)
		return err == nil && strings.Contains(j.Reason, "until nothing is measured")
	})
	if fetched, _ := s.has(); len(fetched) > 0 {
		t.Errorf("fetched while a test measures: %q", fetched)
	}
	free()
	if j := r.Ended(j.ID); j.State != "ok" || j.Reason != "" {
		t.Fatalf("%+v", j)
	}
	// the build is there: another test does not matter
	r.Ended(measured.ID)
	free = devices[0].Hold()
	defer free()
	measured = r.Scene("ci", api.StartParams{Devices: []string{"a"}})
	r.State(measured.ID, "running")
	j = r.Scene("ci", api.StartParams{Devices: []string{"b"}, Browsers: []string{"firefox@f"}})
	if j = r.Ended(j.ID); j.State != "ok" {
		t.Fatalf("%+v", j)
	}
	free()
}

func TestBuildsAreFixedWhenQueued(t *testing.T) {
	t.Parallel()
	s, dir, devices := &shelf{newest: 2, ready: map[string]bool{"2": true, "3": true}}, t.TempDir(), virtual("local")
	r := daemontest.Start(t, dir, devices, withBuilds(s))
	free := devices[0].Hold()
	defer free()
	r.State(r.Scene("ci", api.StartParams{}).ID, "running")
	j := r.Scene("ci", api.StartParams{Browsers: []string{"firefox@f:latest"}})
	s.mu.Lock()
	s.newest = 3
	s.mu.Unlock()
	r.Stop()
	free()
	r = daemontest.Start(t, dir, devices, withBuilds(s))
	if j = r.Ended(j.ID); j.State != "ok" || !slices.Equal(j.Browsers, []string{"firefox@f:2"}) {
		t.Errorf("%+v", j)
	}
	if fetched, _ := s.has(); !slices.Equal(fetched, []string{"2"}) {
		t.Errorf("builds used: %q", fetched)
	}
}

// TestBuildsOfSites: the installed browsers play builds of a site, with the folders of the builds.
// A test that does not play them, or that has none, is refused with the way out.
//
// Fault: A schedule's test does not play the builds of its feed
func TestBuildsOfSites(t *testing.T) {
	t.Parallel()
	s := &shelf{newest: 2, ready: map[string]bool{}, dir: t.TempDir()}
	for _, name := range []string{"1", "2"} {
		dir := filepath.Join(s.dir, name)
		if err := errors.Join(os.Mkdir(dir, 0o755),
			os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	devices := virtual("local")
	r := daemontest.Start(t, t.TempDir(), devices, func(o *daemon.Options) {
		o.Builds = s
		o.Suite = append(o.Suite, suite.Source{Name: "shop", FS: fstest.MapFS{"shop.yaml": {Data: []byte(
			"name: shop\nsite: /\nsync: markers\nmeasures: [fps]\ntimeout: 2m\n")}}})
	})
	site := &api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": "name: t\nsite: /\nend: still 1s\n"}}
	start := func(name string, p api.StartParams, want string) {
		t.Helper()
		_, err := r.Start(t.Context(), "ci", p)
		if err == nil || !strings.Contains(err.Error(), want) || code(err) == 0 {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	start("a test of another page", api.StartParams{Test: "scene", Browsers: []string{"firefox@shop"}},
		"test scene: it does not play a build of a site; give it site: /")
	start("a browser of a feed", api.StartParams{Test: "shop", Browsers: []string{"firefox@f"}},
		`test shop: it plays a build of a site; give --site DIR, or on a rig a feed with of = "site"`)
	start("the installed browser", api.StartParams{Test: "shop", Browsers: []string{"firefox"}},
		"plays a build of a site")
	start("a rival without a build", api.StartParams{Test: "shop", Browsers: []string{"firefox@shop", "chromium"}},
		"plays a build of a site")
	start("an upload", api.StartParams{Upload: site, Browsers: []string{"firefox@shop"}},
		"cannot run in builds of feeds")
	start("an upload without a build", api.StartParams{Upload: site}, "plays a build of a site")
	j := r.Scene("ci", api.StartParams{Test: "shop", Repeat: 1, Browsers: []string{"firefox@shop:1", "chromium@shop"}})
	if want := []string{"firefox@shop:1", "chromium@shop:2"}; !slices.Equal(j.Browsers, want) {
		t.Errorf("browsers %q", j.Browsers)
	}
	if j = r.Ended(j.ID); j.State != "ok" || len(j.Runs) != 2 {
		t.Fatalf("%+v", j)
	}
	if w := devices[0].Wanted(); w.Program != "" || !strings.HasPrefix(w.Link, "http://127.0.0.1:") {
		t.Errorf("the browser is %q and plays %s", w.Program, w.Link)
	}
	if _, inUse := s.has(); inUse != 0 {
		t.Errorf("%d builds are still in use", inUse)
	}
}
