package siterecord

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// shop is a site of two hosts with TLS on the loopback. It returns what records it by its names.
func shop(t *testing.T) (o Options, stop func()) {
	t.Helper()
	if testing.Short() {
		t.Skip("browsers take long to start")
	}
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a test network needs root")
	}
	files := map[string][2]string{
		"shop.test/": {"text/html; charset=utf-8", `<!doctype html><title>Shop</title>` +
			`<link rel=stylesheet href="https://cdn.test/a.css">` +
			`<h1>Shop</h1><script>fetch("/api", {method: "POST", body: "x"})</script>`},
		"cdn.test/a.css": {"text/css", "h1 { color: teal }"},
		"shop.test/api":  {"text/plain", "answer"},
	}
	authority, err := serve.OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	posted, post := make(chan struct{}), sync.Once{}
	site, err := serve.New(serve.Options{Authority: authority, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/account" {
				http.Redirect(w, r, "/", http.StatusFound)
				return
			}
			f, ok := files[strings.TrimSuffix(r.Host, ":8443")+r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", f[0])
			_, _ = io.WriteString(w, f[1])
			switch r.URL.Path {
			case "/":
				// A busy browser may be still for long before it asks for the rest, so the document ends
				// after that. Without a charset Firefox waits for the end.
				_ = http.NewResponseController(w).Flush()
				select {
				case <-posted:
				case <-r.Context().Done():
				}
			case "/api":
				post.Do(func() { close(posted) })
			}
		})})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site.HTTPS(l)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- site.Run(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	const limit = 10 * time.Minute // a browser's start on a busy machine takes minutes
	return Options{URL: "https://shop.test/account", Program: "test", Roots: roots, Limit: limit,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if !strings.HasSuffix(address, ".test:443") {
				return nil, fmt.Errorf("there is no %s", address)
			}
			return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
		}}, stop
}

// TestSitesAreRecordedOnce: a cache records a site at its first use, and again if asked. A failed
// recording leaves the old archive and nothing else.
//
// Fault: A recording of a site fails, or is interrupted
func TestSitesAreRecordedOnce(t *testing.T) {
	t.Parallel() // only the stillness of the screen counts
	o, stop := shop(t)
	o.InNetwork, o.Browser = true, "chromium"
	c := Cache{Dir: filepath.Join(t.TempDir(), "state", "archives")}
	begun := 0
	ensure := func(ctx context.Context, fresh bool) (*Cached, error) {
		return c.Ensure(ctx, o, fresh, func() { begun++ })
	}
	first, err := ensure(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	r := first.Recorded
	if r == nil || r.Address != "https://shop.test/" || len(r.Moves) != 1 || r.Moving || r.Proxy || begun != 1 {
		t.Fatalf("%+v, begun %d times", r, begun)
	}
	if len(r.Hosts) != 2 || r.Hosts[0].Name != "shop.test" || r.Hosts[1].Name != "cdn.test" || len(r.Doubts) != 1 {
		t.Errorf("%+v", r)
	}
	path := filepath.Join(c.Dir, first.Name)
	for _, p := range []struct {
		path string
		mode os.FileMode
	}{{path, 0o600}, {c.Dir, 0o700}} {
		if st, err := os.Stat(p.path); err != nil || st.Mode().Perm() != p.mode {
			t.Errorf("%s: %v %v", p.path, st.Mode(), err)
		}
	}
	again, err := ensure(t.Context(), false)
	if err != nil || again.Recorded != nil || begun != 1 || again.Name != first.Name {
		t.Fatalf("%+v, begun %d times, %v", again, begun, err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ensure(interrupted, true); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	stop()
	if _, err := ensure(t.Context(), true); err == nil || !strings.Contains(err.Error(), "shop.test does not answer") {
		t.Errorf("a site that is down: %v", err)
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	a, err := replay.Open(path, replay.DefaultLimits())
	if err != nil || len(a.Notes) > 0 || !a.Info.Created.Equal(again.Created) {
		t.Errorf("the archive changed: %v", err)
	}
}

// TestSitesAreRecordedByProxy: a site at another port, which no test network serves, is recorded by
// a proxy, also with Firefox.
func TestSitesAreRecordedByProxy(t *testing.T) {
	t.Parallel()
	o, _ := shop(t)
	o.URL, o.Browser, o.Path = "https://shop.test:8443/", "firefox", filepath.Join(t.TempDir(), "site.zip")
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, strings.Replace(address, ":8443", ":443", 1))
	}
	r, err := Record(t.Context(), o)
	if err != nil || !r.Proxy || r.Address != o.URL || len(r.Hosts) != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := replay.Open(o.Path, replay.DefaultLimits()); err != nil {
		t.Error(err)
	}
}
