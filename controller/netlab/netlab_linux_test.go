package netlab_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/netlab"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// patience bounds waiting. No result depends on it.
const patience = 5 * time.Minute

// file is a file without a disk.
type file struct{ io.Writer }

func (file) Sync() error { return nil }

func lives(ctx context.Context) error { <-ctx.Done(); return nil }

// TestServersThatFail: the end of a server ends the client, and its error is returned.
func TestServersThatFail(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, program := range map[string][]string{"nothing": nil, "a program": {"sleep", "600"}} {
		c := &netlab.Client{Program: program}
		err := c.Run(ctx, lives, func(context.Context) error { return errors.New("no more") })
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "no more") {
			t.Fatalf("behind %s: %v", name, err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		got, err := c.Record(ctx, file{io.Discard}, netlab.RecordOptions{Entrances: []replay.Entrance{{Listener: l}}})
		if got == nil || err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "wait for devices") {
			t.Fatalf("behind %s: %v", name, err)
		}
	}
}

// TestProgramEnds: the end of the program ends the servers. Its error is returned, except after the
// end of ctx.
func TestProgramEnds(t *testing.T) {
	var out strings.Builder
	c := &netlab.Client{Program: []string{"sh", "-c", `echo "$http_proxy"; exit 3`}, Out: &out}
	c.UseProxy(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8899})
	if err := c.Run(t.Context(), lives); err == nil || err.Error() != "exit status 3" {
		t.Error(err)
	}
	if out.String() != "http://127.0.0.1:8899\n" {
		t.Errorf("proxy %q", &out)
	}
	r, w := io.Pipe()
	c.Program, c.Out = []string{"sh", "-c", "echo; exec sleep 600"}, w
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Run(ctx, lives, func(context.Context) error {
		_, err := r.Read(make([]byte, 1))
		cancel()
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFolderWithoutRecords: a folder of records is removed if it has none.
func TestFolderWithoutRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	if _, err := netlab.Instrument([]string{"unknown"}, dir); err == nil {
		t.Error("an unknown policy is used")
	}
	s, err := netlab.Instrument([]string{"errors"}, dir)
	if err = errors.Join(err, s.Discard()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder remains: %v", err)
	}
}

// realSite is a site with what replaying is said to cope with. Its page tells at /done what it has
// found.
func realSite() http.Handler {
	const app = `
const text = async (...a) => (await fetch(...a)).text();
const controlled = new Promise((ok) => navigator.serviceWorker.addEventListener('controllerchange', ok));
(async () => {
  const v = {};
  v.vrandom = Math.random();
  v.vdate = Date.now();
  v.vpost = await text('/api', {method: 'POST', body: 'question'});
  v.vmoved = await text('/moved');
  v.vpart = await text('/blob', {headers: {Range: 'bytes=2-5'}});
  v.vcounts = [await text('/count', {cache: 'no-store'}), await text('/count', {cache: 'no-store'})].join();
  v.vstyle = getComputedStyle(document.querySelector('p')).color;
  v.vmeta = document.querySelectorAll('script').length;
  await navigator.serviceWorker.register('/worker.js');
  await controlled;
  v.vworker = await text('/made-by-worker');
  await fetch('/done?' + new URLSearchParams(v));
})().catch((e) => fetch('/done?' + new URLSearchParams({vfailed: e})));
`
	sum := sha256.Sum256([]byte(app))
	counted := 0
	mux := http.NewServeMux()
	say := func(kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, text)
		}
	}
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; script-src 'nonce-abc'; style-src 'self'; connect-src 'self'; worker-src 'self'")
		say("text/html; charset=utf-8", `<!doctype html><html lang=en><head><meta http-equiv=Content-Security-Policy
content="script-src 'nonce-abc'; worker-src 'self'"><title>site</title><link rel=stylesheet href=/style.css></head>
<body><p>text</p><script nonce=abc src=/app.js integrity="sha256-`+
			base64.StdEncoding.EncodeToString(sum[:])+`"></script></body></html>`)(w, r)
	})
	mux.HandleFunc("/style.css", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond)
		say("text/css", "p { color: rgb(1, 2, 3) }")(w, r)
	})
	mux.HandleFunc("/app.js", say("text/javascript", app))
	mux.HandleFunc("/worker.js", say("text/javascript", `
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (e) => {
  if (e.request.url.endsWith('/made-by-worker')) e.respondWith(new Response('from the worker'));
});
`))
	mux.HandleFunc("POST /api", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		say("text/plain", "answer to "+string(b))(w, r)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/there",
			http.StatusFound)
	})
	mux.HandleFunc("/there", say("text/plain", "it is there"))
	mux.HandleFunc("/blob", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "blob.bin", time.Time{}, strings.NewReader("0123456789"))
	})
	mux.HandleFunc("/count", func(w http.ResponseWriter, r *http.Request) {
		counted++
		say("text/plain", fmt.Sprint(counted))(w, r)
	})
	mux.HandleFunc("/done", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// served runs a server on sockets until the test ends.
func served(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func authority(t *testing.T) *serve.Authority {
	t.Helper()
	a, err := serve.OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// needed skips the test without a browser or a display.
func needed(t *testing.T, err error) {
	t.Helper()
	if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// visitor is a browser that loads the site's page, which reports to done.
type visitor struct {
	name      string
	display   *device.Display
	authority *serve.Authority
	done      chan url.Values
}

// visits returns the page's findings in a network.
func (v visitor) visits(t *testing.T, n *testnet.Network) url.Values {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	browser, err := device.StartBrowser(ctx, device.BrowserOptions{Name: v.name, Display: v.display,
		URL: "https://site.test/", Start: n.Link.Device.Start,
		Authority: &device.Authority{File: v.authority.File(), KeyHash: v.authority.KeyHash()}})
	needed(t, err)
	defer browser.Close()
	select {
	case found := <-v.done:
		return found
	case <-ctx.Done():
		t.Fatalf("the page tells nothing; browser: %v", browser.Err())
		return nil
	}
}

// TestBrowsersAreRecordedAndReplayed: a browser loads a real site by the names of a network, in
// which the recorder is all sites. Then it and another browser are answered from the archive. The
// page finds the same in both. With EIDETICKER_SOAK each of them is recorded.
func TestBrowsersAreRecordedAndReplayed(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a packet link takes root")
	}
	t.Parallel()
	names := []string{"chromium"}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		names = append(names, "firefox")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { recordedAndReplayed(t, name) })
	}
}

func network(t *testing.T) *testnet.Network {
	t.Helper()
	n, err := testnet.Open(testnet.Options{Seed: 1, Names: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func recordedAndReplayed(t *testing.T, name string) {
	theirs, ours := authority(t), authority(t)
	display, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 640, Height: 360})
	needed(t, err)
	defer display.Close()
	v := visitor{name, display, ours, make(chan url.Values, 10)}
	site, err := serve.New(serve.Options{Handler: realSite(), Authority: theirs})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site.HTTPS(l)
	served(t, site.Run)

	path := filepath.Join(t.TempDir(), "site.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := replay.NewWriter(f, replay.Info{Writer: "test", Created: time.Now()}, replay.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(theirs.PEM())
	recorder := replay.NewRecorder(replay.RecorderOptions{To: w, Limits: replay.DefaultLimits(), Roots: roots,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "site.test:443" {
				return nil, fmt.Errorf("there is no %s", address)
			}
			return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
		}})
	// The end is told once it is recorded: what is under way then is cut off.
	done := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder.ServeHTTP(w, r)
		if r.URL.Path == "/done" {
			v.done <- r.URL.Query()
		}
	})
	n := network(t)
	secure, err := n.Listen("443")
	if err != nil {
		t.Fatal(err)
	}
	stop := served(t, func(ctx context.Context) error {
		return replay.NewProxy(replay.ProxyOptions{Handler: done,
			TLS:         &tls.Config{GetCertificate: ours.CertificateFor},
			ConnContext: recorder.ConnContext}).Run(ctx, replay.Entrance{Listener: secure, Door: replay.Secure})
	})
	first := v.visits(t, n)
	stop()
	recorder.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{"vpost": "answer to question", "vmoved": "it is there", "vpart": "2345",
		"vcounts": "1,2", "vworker": "from the worker", "vstyle": "rgb(1, 2, 3)"} {
		if got := first.Get(field); got != want {
			t.Fatalf("recorded: %s is %q, want %q; %v", field, got, want, first)
		}
	}

	a, err := replay.Open(path, replay.DefaultLimits())
	if err != nil || len(a.Notes) > 0 {
		t.Fatalf("%v %v", err, a)
	}
	var again []url.Values
	for _, v.name = range []string{"chromium", "firefox"} {
		v.done = make(chan url.Values, 10)
		again = append(again, replayedTo(t, v, a))
	}
	for i, v := range again {
		for _, field := range []string{"vpost", "vmoved", "vpart", "vcounts", "vworker", "vstyle", "vmeta"} {
			if v.Get(field) != first.Get(field) {
				t.Errorf("replay %d: %s is %q, recorded was %q; %v", i, field, v.Get(field), first.Get(field), v)
			}
		}
		var ms int64
		if _, err := fmt.Sscan(v.Get("vdate"), &ms); err != nil ||
			time.UnixMilli(ms).Sub(a.Info.Created).Abs() > time.Minute {
			t.Errorf("replay %d: the page's clock says %v, which is not when it was recorded, %v", i,
				time.UnixMilli(ms), a.Info.Created)
		}
	}
	if again[0].Get("vrandom") != again[1].Get("vrandom") || again[0].Get("vrandom") == first.Get("vrandom") {
		t.Errorf("chance was %s, replayed %s and %s", first.Get("vrandom"), again[0].Get("vrandom"),
			again[1].Get("vrandom"))
	}
}

// replayedTo has a browser load the site from an archive.
func replayedTo(t *testing.T, v visitor, a *replay.Archive) url.Values {
	t.Helper()
	r, err := replay.NewReplayer(a, replay.ReplayerOptions{Recorded: true, Rules: replay.Rules{Ignore: []string{"v*"}},
		Determinism: &replay.Determinism{Seed: 4}, OnAnswer: func(a replay.Answer) {
			if u, err := url.Parse(a.URL); err == nil && u.Path == "/done" {
				v.done <- u.Query()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Handler: r, Authority: v.authority})
	if err != nil {
		t.Fatal(err)
	}
	n := network(t)
	l, err := n.Listen("443")
	if err != nil {
		t.Fatal(err)
	}
	s.HTTPS(l)
	stop := served(t, s.Run)
	found := v.visits(t, n)
	stop()
	f := r.Fidelity()
	for _, m := range f.Misses {
		if strings.HasPrefix(m.URL, "https://site.test/") && m.URL != "https://site.test/favicon.ico" {
			t.Errorf("not answered: %+v", m)
		}
	}
	t.Logf("%s: %d requests, %.0f %% answered, %.0f %% of the recorded bytes; %v", v.name, f.Requests, 100*f.Score(),
		100*float64(f.AskedBytes)/float64(max(1, f.ReplayableBytes)), found)
	return found
}
