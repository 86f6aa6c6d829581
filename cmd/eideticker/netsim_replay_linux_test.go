package main

import (
	"bytes"
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
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

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
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
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

// TestNetsimRecordAndReplay: the commands, with curl behind a proxy, and behind a line where that
// may be made.
func TestNetsimRecordAndReplay(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("STATE_DIRECTORY", "")
	body := strings.Repeat("a line of the site\n", 5000)
	server := serverOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	archive := filepath.Join(t.TempDir(), "site.zip")
	page := "http://" + server + "/page"
	command := func(want int, args ...string) (out, told string) {
		t.Helper()
		var o, e bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &o, &e); code != want {
			t.Fatalf("%q: exit code %d, want %d: %s%s", args, code, want, &o, &e)
		}
		return o.String(), e.String()
	}
	curl := []string{"--", "curl", "--silent", "--show-error", "--max-time", "60"}
	out, _ := command(exitOK, append([]string{"netsim", "record", "--proxy", "localhost:0", "-o", archive},
		append(curl, page)...)...)
	if !strings.HasPrefix(out, body) || !strings.Contains(out, "1 exchange, ") {
		t.Errorf("%.300s", strings.TrimPrefix(out, body))
	}
	// it is there
	command(exitFailure, append([]string{"netsim", "record", "--proxy", "localhost:0", "-o", archive},
		append(curl, page)...)...)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive, in which cookies are: %v %v", info.Mode(), err)
	}
	if err := os.Chmod(archive, 0o644); err != nil { // as one that is there may be
		t.Fatal(err)
	}
	command(exitOK, append([]string{"netsim", "record", "--proxy", "localhost:0", "--force", "-o", archive},
		append(curl, page)...)...)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive in the place of another: %v %v", info.Mode(), err)
	}
	out, _ = command(exitOK, "netsim", "replay", archive, "--list")
	if !strings.Contains(out, page) || !strings.Contains(out, "1 exchange of eideticker") {
		t.Errorf("%s", out)
	}
	har := archive + ".har"
	command(exitOK, "netsim", "replay", archive, "--export", har)
	if info, err := os.Stat(har); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the HAR, in which cookies are: %v %v", info.Mode(), err)
	}
	for _, from := range []string{archive, har} {
		out, _ = command(exitOK, append([]string{"netsim", "replay", from, "--proxy", "localhost:0"},
			append(curl, page, page+"s")...)...)
		if !strings.HasPrefix(out, body) || !strings.Contains(out, "1 × GET "+page+"s: it was not recorded") ||
			!strings.Contains(out, "nearest: "+page+"\n") || !strings.Contains(out, "fidelity   50.0 %") {
			t.Errorf("%.600s", strings.TrimPrefix(out, body))
		}
	}
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a packet link takes root")
	}
	// Behind the line any name leads to the replay, which knows sites by what they are asked as.
	_, port, _ := net.SplitHostPort(server)
	out, _ = command(exitOK, append([]string{"netsim", "replay", archive, "--profile", "cable"},
		append(curl, "--header", "Host: 127.0.0.1:"+port, "http://any.test/page")...)...)
	if !strings.HasPrefix(out, body) || !strings.Contains(out, "fidelity   100.0 %") {
		t.Errorf("%.300s", strings.TrimPrefix(out, body))
	}
	// By DNS, TLS is ours, and a site that is not there is said not to be.
	file := filepath.Join(t.TempDir(), "none.zip")
	out, _ = command(exitOK, append([]string{"netsim", "record", "--dns", "-o", file},
		append(curl, "https://nowhere.invalid/")...)...)
	if !strings.Contains(out, "nowhere.invalid does not answer") || !strings.Contains(out, "failed    1") {
		t.Errorf("%s", out)
	}
}

// TestProxyBeyondLoopback: a recording proxy that other machines reach connects them to no address
// of this machine.
func TestProxyBeyondLoopback(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("STATE_DIRECTORY", "")
	asked := make(chan string, 100)
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l,
		Config: &http.Server{Handler: http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host })}}
	server.Start()
	defer server.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"localhost", "127.0.0.1", "127.0.0.2", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]"}
	for _, a := range addresses {
		if ip := a.(*net.IPNet).IP; ip.To4() != nil {
			hosts = append(hosts, ip.String())
		}
	}
	curl := []string{"--", "curl", "--silent", "--insecure", "--max-time", "60"}
	for _, host := range hosts {
		curl = append(curl, "http://"+host+":"+port, "https://"+host+":"+port)
	}
	var out, told bytes.Buffer
	args := append([]string{"netsim", "record", "--proxy", "0.0.0.0:0", "-o", filepath.Join(t.TempDir(), "site.zip")},
		curl...)
	if code := run(t.Context(), args, strings.NewReader(""), &out, &told); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, &out, &told)
	}
	select {
	case host := <-asked:
		t.Errorf("the proxy connected to %s, which is this machine", host)
	default:
	}
	if got := strings.Count(out.String(), device.ErrInside.Error()); got < 2*len(hosts) ||
		!strings.Contains(told.String(), "rejects requests to this machine") {
		t.Errorf("%d of %d requests were refused as to this machine: %s%s", got, 2*len(hosts), &out, &told)
	}
}

// TestServersThatFail: nobody waits for Ctrl-C, or a program's end, where nothing serves any more.
func TestServersThatFail(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, program := range map[string][]string{"nothing": nil, "a program": {"sleep", "600"}} {
		e := &env{ctx: ctx, in: strings.NewReader(""), out: io.Discard, err: io.Discard}
		b := &behind{env: os.Environ(), program: program}
		lives := func(ctx context.Context) error { <-ctx.Done(); return nil }
		if err := during(e, b, lives, func(context.Context) error { return errors.New("no more") }); err == nil ||
			ctx.Err() != nil || !strings.Contains(err.Error(), "no more") {
			t.Fatalf("behind %s: %v", name, err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		f, err := os.Create(filepath.Join(t.TempDir(), "site.zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := (netsimRecordCmd{}).record(e, f, b, nil, nil,
			[]replay.Entrance{{Listener: l}}); err == nil || ctx.Err() != nil ||
			!strings.Contains(err.Error(), "wait for devices") {
			t.Fatalf("behind %s: %v", name, err)
		}
	}
}

// serverOf serves on loopback and returns where.
func serverOf(t *testing.T, h http.Handler) string {
	t.Helper()
	s, err := serve.New(serve.Options{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.HTTP(l)
	served(t, s.Run)
	return l.Addr().String()
}
