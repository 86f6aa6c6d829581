package testnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

const farRTT = 100 * time.Millisecond

// farSite is a site at the other end of a line.
type farSite struct {
	*Network
	server    *serve.Server
	authority *serve.Authority
}

// farAway serves a page by all protocols, or by HTTP/3 alone if that is announced.
func farAway(t *testing.T, o serve.Options, alpn ...string) *farSite {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a packet link takes root")
	}
	var c link.Conditions
	c.SetRTT(farRTT)
	c.Down.Rate, c.Up.Rate = 20e6, 20e6
	n, err := Open(Options{Conditions: c, Seed: 1, Names: []string{"*.test"}, ALPN: alpn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &farSite{Network: n}
	if f.authority, err = serve.OpenAuthority(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	// Images keep a page loading until all are there: 12 at once are more than a browser asks for
	// by HTTP/1.1.
	files := fstest.MapFS{"index.html": {}}
	page := "<!doctype html><title>far</title><body>"
	for i := range 12 {
		name := fmt.Sprintf("%d.svg", i)
		files[name] = &fstest.MapFile{Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--` +
			strings.Repeat(fmt.Sprintf("%d %d ", i, i*i), 3000) + `--><rect width="9" height="9"/></svg>`)}
		page += "<img src=" + name + ">"
	}
	files["index.html"].Data = []byte(page + "<script>onload = () => fetch('/loaded')</script>")
	if o.Handler, err = serve.NewPages(files,
		[]serve.Rule{{Pattern: "/3.svg", Timing: serve.Timing{Latency: 50 * time.Millisecond}}}); err != nil {
		t.Fatal(err)
	}
	o.Authority = f.authority
	if f.server, err = serve.New(o); err != nil {
		t.Fatal(err)
	}
	for port, add := range map[string]func(net.Listener){"80": f.server.HTTP, "443": f.server.HTTPS} {
		if port == "443" && slices.Contains(alpn, "h3") {
			continue // Firefox would take HTTP/2 if QUIC is late
		}
		l, err := n.Listen(port)
		if err != nil {
			t.Fatal(err)
		}
		add(l)
	}
	p, err := n.Link.Server.ListenPacket("udp", ":443")
	if err != nil {
		t.Fatal(err)
	}
	f.server.QUIC(p)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// check compares the server's times with the link's. The device has the end of each response half
// a round trip later, with as many bytes.
func (f *farSite) check(t *testing.T, protocol string, most int) {
	t.Helper()
	cs, es := f.server.Witnessed()
	flows := map[netip.AddrPort]link.Flow{}
	for _, flow := range f.Link.Flows() {
		flows[flow.Device] = flow
	}
	for _, e := range es {
		c := cs[e.Connection-1]
		if c.Protocol != protocol || e.Error != "" || e.Ended == 0 || c.Name != "page.test" {
			continue // browsers ask for favicons, also at last, and have connections in store
		}
		most--
		flow, ok := flows[c.Client]
		if !ok {
			t.Errorf("the line knows no %s of %v", c.Network, c.Client)
			continue
		}
		if e.Began.Sub(flow.Opened) < farRTT+farRTT/2 || c.Secured.Sub(flow.Opened) < farRTT+farRTT/2 {
			t.Errorf("%s: opened at %v, TLS agreed on %v later, the request there %v later", e.URL, flow.Opened,
				c.Secured.Sub(flow.Opened), e.Began.Sub(flow.Opened))
		}
		if strings.HasSuffix(e.URL, "/3.svg") && e.FirstByte.Sub(e.Began) < 50*time.Millisecond {
			t.Errorf("%s: answered %v after it was asked", e.URL, e.FirstByte.Sub(e.Began))
		}
		if protocol == "h3" {
			continue
		}
		had, ok := flow.Had(e.To)
		// it is on its way
		deadline := time.Now().Add(2 * time.Minute)
		for ; !ok && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			for _, flow := range f.Link.Flows() {
				if flow.Device == c.Client {
					had, ok = flow.Had(e.To)
				}
			}
		}
		// When the first byte went is noted before, when the last went after: a machine that is
		// busy may note that late.
		if !ok || had.Sub(e.FirstByte) < farRTT/2 || e.Ended.Sub(e.FirstByte) < 0 || e.To <= e.From {
			t.Errorf("%s: bytes %d to %d went at %v, and the device had them %v later (%v)", e.URL, e.From, e.To,
				e.FirstByte, had.Sub(e.FirstByte), ok)
		}
	}
	if most > 0 {
		t.Errorf("%d exchanges less than expected by %s: %+v", most, protocol, es)
	}
}

// TestCurlFarAway: curl's own HTTP/1.1 and HTTP/2, and HTTP/3 where it has that.
func TestCurlFarAway(t *testing.T) {
	f := farAway(t, serve.Options{})
	features, err := exec.Command("curl", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	for protocol, flag := range map[string]string{"http/1.1": "--http1.1", "h2": "--http2", "h3": "--http3-only"} {
		if protocol == "h3" && !strings.Contains(string(features), "HTTP3") {
			t.Log("this curl has no HTTP/3; browsers have")
			continue
		}
		var out strings.Builder
		cmd := exec.Command("curl", "--silent", "--show-error", "--fail", "--compressed", "--max-time", "60", flag,
			"--cacert", f.authority.File(), "--write-out", "%{http_version} ",
			"https://page.test/0.svg", "https://page.test/3.svg")
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := f.Link.Device.Start(cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v", protocol, err)
		}
		if n := strings.Count(out.String(), "</svg>"); n != 2 {
			t.Errorf("%s: %d images came: %.100s", protocol, n, &out)
		}
		f.check(t, protocol, 2)
	}
}

// TestBrowsersFarAway: browsers load a page over a link by each protocol. Server and link agree on
// times and bytes. With EIDETICKER_SOAK each browser takes each protocol. Runs with TLS have the
// other pairs.
func TestBrowsersFarAway(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	for i, name := range []string{"chromium", "firefox"} {
		for j, protocol := range []string{"http/1.1", "h2", "h3"} {
			if (i+j)%2 != 0 && os.Getenv("EIDETICKER_SOAK") == "" {
				continue
			}
			t.Run(name+" "+strings.ReplaceAll(protocol, "/", ""), func(t *testing.T) {
				t.Parallel() // no frame is recorded
				var alpn []string
				if protocol == "h3" {
					alpn = []string{"h3"} // without which Firefox begins with HTTP/2
				}
				f := farAway(t, serve.Options{HTTP1: protocol == "http/1.1"}, alpn...)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				display, err := device.StartDisplay(ctx, device.DisplayOptions{Width: 640, Height: 360})
				if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer display.Close()
				browser, err := device.StartBrowser(ctx, device.BrowserOptions{
					Name: name, Display: display, URL: "https://page.test/", Start: f.Link.Device.Start,
					Authority: &device.Authority{File: f.authority.File(), KeyHash: f.authority.KeyHash(),
						HTTP3: protocol == "h3"},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer browser.Close()
				for loaded := false; !loaded; {
					_, es := f.server.Witnessed()
					for _, e := range es {
						loaded = loaded || strings.HasSuffix(e.URL, "/loaded") && e.Ended != 0
					}
					select {
					case <-ctx.Done():
						cs, es := f.server.Witnessed()
						t.Fatalf("the page is not loaded: %+v %+v, browser: %v", cs, es, browser.Err())
					case <-time.After(20 * time.Millisecond):
					}
				}
				f.check(t, protocol, 14)
			})
		}
	}
}
