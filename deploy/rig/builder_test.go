package rig

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/hub"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/schedule/builds"
)

// office is an authority that invites anyone.
type office struct{}

func (office) Invite(rig string, now time.Time) (string, time.Time, error) { return rig, now, nil }
func (office) Join(token, _ string, _ time.Time) (string, string, error)   { return token, "jwt", nil }
func (office) Renew(string, string, time.Time) (string, bool, error)       { return "", false, nil }
func (office) Revoke(string) error                                         { return nil }

// lab is a hub with a builder and other rigs. The hub can be killed.
type lab struct {
	*testing.T
	memory *bus.Memory
	server *httptest.Server
	dir    string
	front  atomic.Pointer[http.Handler]
	stop   func() // of the hub

	mu  sync.Mutex
	hub *hub.Hub
}

func newLab(t *testing.T) *lab {
	l := &lab{T: t, memory: bus.NewMemory(), dir: t.TempDir()}
	l.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*l.front.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(l.server.Close)
	l.start()
	t.Cleanup(func() { l.stop() })
	for _, rig := range []string{"maker", "taker"} {
		if _, err := l.now().Invite(rig); err != nil {
			t.Fatal(err)
		}
		if _, err := l.now().Join(t.Context(), wire.Join{Version: 1, Key: "KEY", Token: rig}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *lab) now() *hub.Hub {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hub
}

func (l *lab) start() {
	h, err := hub.New(l.Context(), hub.Options{Dir: l.dir, Bus: l.memory.Hub(), Authority: office{},
		URL: l.server.URL, Built: func(feed string) bool { return feed == "shop" }})
	if err != nil {
		l.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- h.Run(ctx) }()
	l.stop = sync.OnceFunc(func() { cancel(); <-over })
	l.mu.Lock()
	l.hub = h
	l.mu.Unlock()
	handler := h.Handler()
	l.front.Store(&handler)
}

// patience is the time after which a wait of these tests fails.
const patience = 5 * time.Minute

// until waits for a job to have a state with words in its reason.
func (l *lab) until(id, state, words string) {
	l.Helper()
	var j api.FleetJob
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		j, err = l.now().Job(l.Context(), id)
		if err == nil && j.State == state && strings.Contains(fmt.Sprint(j), words) {
			return
		}
	}
	l.Fatalf("%+v, want %s with %q", j, state, words)
}

func (l *lab) submit(id, browser string) {
	l.Helper()
	if _, err := l.now().Submit(l.Context(), "ann", api.JobParams{Job: id, Replace: true,
		StartParams: api.StartParams{Test: "load", Browsers: []string{browser}}}); err != nil {
		l.Fatal(err)
	}
}

// fetched is a queue whose jobs only get their builds.
type fetched struct {
	*builds.Cache
	mu   sync.Mutex
	jobs map[string]api.Job
	path map[string]string
}

func (q *fetched) Submit(ctx context.Context, id, _ string, p api.StartParams) (api.Job, error) {
	b, err := api.ParseBrowser(p.Browsers[0])
	var build api.Build
	if err == nil {
		build, err = q.Resolve(ctx, b.Feed, b.Build)
	}
	if err != nil {
		return api.Job{}, err
	}
	q.set(id, api.Job{ID: id, State: "running"}, "")
	go func() {
		path, _, err := q.Program(context.Background(), b.Kind, build)
		end := api.Job{ID: id, State: "ok", EndedWallNS: 1}
		if err != nil {
			end.State, end.Fault, end.Reason = "failed", "product", err.Error()
		}
		q.set(id, end, path)
	}()
	return api.Job{ID: id, State: "running"}, nil
}

func (q *fetched) set(id string, j api.Job, path string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs[id], q.path[id] = j, path
}

func (q *fetched) Job(id string) (api.Job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j, is := q.jobs[id]
	return j, is
}

func (*fetched) Cancel(string) error { return nil }

// prompt is a bus whose requests end with their context.
type prompt struct{ agent.Bus }

func (p prompt) Request(ctx context.Context, kind string, request []byte) ([]byte, error) {
	type answer struct {
		raw []byte
		err error
	}
	done := make(chan answer, 1)
	go func() {
		raw, err := p.Bus.Request(ctx, kind, request)
		done <- answer{raw, err}
	}()
	select {
	case got := <-done:
		return got.raw, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join starts a rig of the lab.
func (l *lab) join(rig, dir string, feed config.Feed, change func(*agent.Options)) (*Rig, *fetched, func()) {
	l.Helper()
	s := &Rig{conf: config.Config{Feed: map[string]config.Feed{"shop": feed},
		Labels: config.Labels{"": {wire.Builder: "shop"}}}}
	if feed.Kind == config.FeedFleet {
		s.conf.Labels = nil
	}
	var err error
	if s.builds, err = builds.Open(builds.Options{Dir: dir, Feeds: s.conf.Feed, Log: slog.New(slog.DiscardHandler),
		Fetch: func(ctx context.Context, sum string, to *os.File, limit int64) error {
			return s.agent.Fetch(ctx, sum, to, limit)
		}}); err != nil {
		l.Fatal(err)
	}
	s.daemon = daemontest.Start(l, l.TempDir(), daemontest.Devices{daemontest.New("a")}, nil).Daemon
	q := &fetched{Cache: s.builds, jobs: map[string]api.Job{}, path: map[string]string{}}
	o := agent.Options{Dir: dir, Queue: q, Program: "test", Files: s.relayed(), Labels: s.conf.Labels,
		Devices: s.daemon.Devices, Feeds: func(string) []string { return []string{"shop"} },
		Unbuilt: unbuilt(&s.conf), Signs: signs(&s.conf), Make: s.makeBuild, Fetches: fetches(&s.conf), Learn: s.learn,
		Dial: func(agent.Fleet, []byte, func() (string, error)) (agent.Bus, error) {
			return prompt{l.memory.Rig(rig)}, nil
		},
		Open: func(string) (*os.Root, func(), error) { return nil, nil, os.ErrNotExist },
		Poll: 100 * time.Millisecond, Look: 20 * time.Millisecond}
	if rig == "maker" { // it has no device that fits
		o.Feeds = func(string) []string { return []string{} }
	}
	if change != nil {
		change(&o)
	}
	if s.agent, err = agent.New(o); err == nil {
		err = agent.Write(dir, agent.Fleet{Hub: l.server.URL, Rig: rig, Path: "/",
			Fingerprint: fingerprint.Of(l.server.Certificate().Raw)}, []byte("seed"), "jwt")
	}
	if err != nil {
		l.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- s.agent.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			l.Error(err)
		}
	})
	l.Cleanup(stop)
	return s, q, stop
}

// keys writes a pair of keys.
func keys(t *testing.T) (private, public string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	write := func(name, kind string, der []byte, err2 error) string {
		path := filepath.Join(t.TempDir(), name)
		err = errors.Join(err, err2, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	der, err2 := x509.MarshalPKCS8PrivateKey(key)
	private = write("a.key", "PRIVATE KEY", der, err2)
	der, err2 = x509.MarshalPKIXPublicKey(pub)
	public = write("a.pem", "PUBLIC KEY", der, err2)
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

// commits makes a repository of sites with so many commits, and returns their names.
func commits(t *testing.T, n int) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c",
			"user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q", "-b", "main")
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, "index.html"), fmt.Append(nil, i), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "-q", "-m", "x")
		names = append(names, git("rev-parse", "HEAD")[:12])
	}
	return dir, names
}

// TestBuilder: a builder makes each commit once. The hub relays it to the rigs that fetch it, also
// after the builder has left. Each rig checks the builder's signature and the bytes itself.
//
// Fault: The builder of a fleet is away
// Fault: A hub is killed while it relays a build
func TestBuilder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	private, public := keys(t)
	repo, names := commits(t, 6)
	script := "mkdir dist && cp index.html dist && head -c 9000000 /dev/urandom >dist/a.bin && echo x >>" +
		repo + "/made"
	makes := config.Feed{Kind: config.FeedGit, Of: config.OfSite, Dir: repo, Branch: "main", Sign: private,
		Command: []string{"sh", "-c", script}, Output: "dist"}
	takes := config.Feed{Kind: config.FeedFleet, Of: config.OfSite, Key: public}
	makerDir := t.TempDir()
	var asked sync.Map // ranges of archives, with their number
	var onPiece atomic.Pointer[func(string)]
	watched := func(o *agent.Options) {
		files := o.Files
		o.Files = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, _ := asked.LoadOrStore(r.URL.Path+" "+r.Header.Get("Range"), new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			if do := onPiece.Swap(nil); do != nil {
				(*do)(r.Header.Get("Range"))
			}
			files.ServeHTTP(w, r)
		})
	}
	var tamper atomic.Bool
	_, q, stopTaker := l.join("taker", t.TempDir(), takes, func(o *agent.Options) {
		learn := o.Learn
		o.Learn = func(m wire.Made) error {
			if tamper.Load() {
				m.Line = bytes.Replace(m.Line, []byte(`"seq":`), []byte(`"seq":1`), 1)
			}
			return learn(m)
		}
	})
	for end := time.Now().Add(patience); !l.now().Online("taker") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	build := func(i int) string { return "chromium@shop:" + names[i] }

	// The builder has never been here, comes, and leaves.
	l.submit("s-0", build(0))
	l.until("s-0", "queued", "waits for build "+names[0]+" of feed shop: no rig signs builds of this feed")
	maker, _, stop := l.join("maker", makerDir, makes, watched)
	l.until("s-0", "ok", "")
	own, err := maker.builds.Resolve(t.Context(), "shop", names[0])
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := maker.builds.Program(t.Context(), "chromium", own)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b string) {
		t.Helper()
		one, err := os.ReadFile(filepath.Join(a, "a.bin"))
		two, err2 := os.ReadFile(filepath.Join(b, "a.bin"))
		if err != nil || err2 != nil || len(one) != 9000000 || !bytes.Equal(one, two) {
			t.Errorf("%d and %d bytes, %v, %v", len(one), len(two), err, err2)
		}
	}
	same(path, q.path["s-0.1"])
	stop()

	// The hub is killed while it gets a build. Its pieces are not sent again.
	l.submit("s-1", build(1))
	killed := make(chan struct{})
	restart := func(string) {
		go func() {
			l.stop()
			l.start()
			close(killed)
		}()
	}
	var second func(string)
	second = func(ranged string) {
		if strings.HasPrefix(ranged, "bytes=4194304-") {
			restart(ranged)
		} else {
			onPiece.Store(&second)
		}
	}
	onPiece.Store(&second)
	_, _, stop = l.join("maker", makerDir, makes, watched)
	<-killed
	l.until("s-1", "ok", "")
	asked.Range(func(key, n any) bool {
		if strings.Contains(key.(string), " bytes=0-") && n.(*atomic.Int64).Load() != 1 {
			t.Errorf("%s was sent %d times", key, n.(*atomic.Int64).Load())
		}
		return true
	})

	// A hub that changes lines or bytes has no effect.
	tamper.Store(true)
	l.submit("s-2", build(2))
	l.until("s-2", "failed", "the signature is not one of the feed's key")
	tamper.Store(false)
	handler := *l.front.Load()
	hostile := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w = &flipped{w, 0}
		}
		handler.ServeHTTP(w, r)
	}))
	l.front.Store(&hostile)
	l.submit("s-3", build(3))
	l.until("s-3", "failed", "its SHA-256 changed")
	l.front.Store(&handler)
	l.submit("s-4", build(3))
	l.until("s-4", "ok", "")

	// A builder that is away has left what the hub has.
	l.submit("s-5", build(4))
	l.until("s-5", "ok", "")
	made, err := os.ReadFile(filepath.Join(repo, "made"))
	if err != nil || len(made) != 2*5 {
		t.Errorf("the command has run %d times for 5 builds, %v", len(made)/2, err)
	}
	stop()
	l.submit("s-6", build(5))
	l.until("s-6", "queued", "waits for build "+names[5]+" of feed shop: maker")
	_, _, stop = l.join("maker", makerDir, makes, watched)
	l.until("s-6", "ok", "")
	stop()
	stopTaker()
}

// flipped changes the first byte of each answer.
type flipped struct {
	http.ResponseWriter
	n int
}

func (f *flipped) Write(b []byte) (int, error) {
	if f.n == 0 && len(b) > 100 {
		b = bytes.Clone(b)
		b[len(b)/2] ^= 1
	}
	f.n += len(b)
	return f.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (f *flipped) Unwrap() http.ResponseWriter { return f.ResponseWriter }
