package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
)

// TestRunsWithTLS makes runs whose servers have certificates. Afterwards no authority is left.
func TestRunsWithTLS(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a network of its own takes root")
	}
	needBrowsers(t, "chromium", "firefox")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Run("runs", func(t *testing.T) {
		t.Run("by protocol", byProtocol)
		t.Run("on an archive", onArchive)
	})
	if left, err := filepath.Glob(filepath.Join(tmp, authorityPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("authorities are left: %q, %v", left, err)
	}
}

// byProtocol: a built-in page is loaded with the protocol of its test only. It is measured like
// others, and its waterfall has TLS.
func byProtocol(t *testing.T) {
	t.Parallel()
	type run struct {
		browser  string
		protocol suite.Protocol
		keys     bool
		first    bool // the browser is started with the page
	}
	// onArchive has the other browser and protocol, and TestBrowsersFarAway the other pairs
	runs := []run{{"firefox", suite.HTTP3, true, true}}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		runs = append(runs, run{"chromium", suite.HTTP2, false, false}, run{"chromium", suite.HTTP3, true, false},
			run{"firefox", suite.HTTP2, false, false}, run{"firefox", suite.HTTP3, false, false})
	}
	for _, tc := range runs {
		t.Run(fmt.Sprintf("%s %s first=%v", tc.browser, strings.ReplaceAll(string(tc.protocol), "/", ""), tc.first),
			func(t *testing.T) {
				t.Parallel()
				takeTurn(t)
				t0 := "t0: navigation\n"
				if tc.first {
					t0 = ""
				}
				test, err := suite.Parse("far.yaml",
					fmt.Appendf(nil,
						"name: far\npage: /load.html\nwindow: 800x450\nmeasures: [speedindex]\n"+
							"%snetwork: {rtt: 400ms, down: 4Mbit, up: 1Mbit, protocol: %s, key-log: "+
							"%v}\n", t0, tc.protocol, tc.keys), Known())
				if err != nil {
					t.Fatal(err)
				}
				dir := filepath.Join(t.TempDir(), "run")
				r, _, err := counted(t, Options{Test: test, Device: theLocalDevice(t), Browser: tc.browser,
					Dir: dir, Program: "test", Seed: 5, MaxLost: 0.9, NoPictures: true, NoVideo: true,
					Progress: untold{}})
				if err != nil {
					t.Fatal(err)
				}
				if r.State != Passed || r.Network.Protocol != tc.protocol ||
					!strings.HasSuffix(r.Network.String(), ", "+string(tc.protocol)) {
					t.Fatalf("%s %s, %+v", r.State, r.Reason, r.Network)
				}
				if len(r.ChecksFailed) > 0 || r.Checks == 0 {
					t.Errorf("of %d checks %v failed", r.Checks, r.ChecksFailed)
				}
				cameBy(t, dir, tc.protocol)
				theKeys(t, tc.browser, dir, r, tc.keys)
			})
	}
}

// cameBy wants all requests of the load page over a protocol with TLS. The first one must have
// waited for the handshake.
func cameBy(t *testing.T, dir string, protocol suite.Protocol) {
	t.Helper()
	const rtt = 400 * time.Millisecond
	f, err := os.Open(filepath.Join(dir, HARFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, err := har.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]har.Entry{}
	for _, e := range read.Log.Entries {
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "https" || u.Host != pageHost || e.Protocol != string(protocol) ||
			e.TLS != "TLS 1.3" {
			t.Errorf("%s came by %s and %s (%v)", e.Request.URL, e.Protocol, e.TLS, err)
			continue
		}
		of[u.Path] = e
	}
	for _, want := range []string{"/load.html", "/assets/site.css", "/assets/sync.js", "/assets/parts.js"} {
		if e := of[want]; e.Response.Status != 200 {
			t.Errorf("%s is answered with %d", want, e.Response.Status)
		}
	}
	page := of["/load.html"]
	m := page.Moments
	trips := 2 * rtt // one to connect, one for TLS
	if protocol == suite.HTTP3 {
		trips = rtt // for both
	}
	if m.TLSFrom.By == "" || m.TLSTo.By == "" || m.ConnectFrom.By != har.Line ||
		time.Duration(m.TLSTo.At-m.ConnectFrom.At) < trips || page.Timings.SSL < float64(rtt/time.Millisecond) {
		t.Errorf("%+v, %v ms of TLS", m, page.Timings.SSL)
	}
}

// theKeys wants the secrets of TLS in the run folder, readable by the owner only. It wants none if
// the test did not ask for them.
func theKeys(t *testing.T, what, dir string, r *Record, asked bool) {
	t.Helper()
	file := filepath.Join(dir, KeyLogFile)
	text, err := os.ReadFile(file)
	if !asked {
		if !errors.Is(err, fs.ErrNotExist) || r.Network.KeyLog != "" {
			t.Errorf("%s: nobody asked for keys: %v, %q", what, err, r.Network.KeyLog)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "SERVER_TRAFFIC_SECRET_0 ") || !strings.HasSuffix(string(text), "\n") ||
		st.Mode() != 0o600 || r.Network.KeyLog != KeyLogFile {
		t.Errorf("%s: %d bytes of keys, %v, %q", what, len(text), st.Mode(), r.Network.KeyLog)
	}
}

// TestProtocolsRefused: what cannot be had is said before anything is started.
func TestProtocolsRefused(t *testing.T) {
	here := device.Description{Name: "local", Source: device.Virtual}
	fed := device.Description{Name: "phone", Source: "v4l2:0", Input: device.Input{Kind: device.InputADB},
		Network: "eth3"}
	by := func(p suite.Protocol) suite.Test {
		return suite.Test{Name: "x", Page: "/load.html", T0: "navigation", Network: suite.Network{Protocol: p}}
	}
	held := by(suite.HTTP3)
	held.T0 = ""
	for name, tc := range map[string]struct {
		test    suite.Test
		on      device.Description
		browser string
		want    string
	}{
		"h2": {by(suite.HTTP2), here, "firefox", ""},
		"h3": {by(suite.HTTP3), here, "firefox", ""},
		"a device": {by(suite.HTTP2), fed, "",
			"asks for h2, which device phone"},
		"h3, first page": {held, here, "firefox", ""},
	} {
		var on Device = local{tc.on}
		if tc.on.Source != device.Virtual {
			on = described{tc.on}
		}
		err := Check(&tc.test, Variant{Device: on, Browser: tc.browser})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestKeysOfARefusedNetwork: a run on a refused network has no file of keys, and does not name
// one.
func TestKeysOfARefusedNetwork(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a network of its own takes root")
	}
	is, asked := link.Conditions{}, link.Conditions{}
	is.Up.Delay, asked.Up.Delay = 10*time.Millisecond, 300*time.Millisecond
	n, err := testnet.Open(testnet.Options{Conditions: is, Seed: 1, Names: []string{"*.test"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := &run{Options: Options{Test: &suite.Test{Network: suite.Network{Protocol: suite.HTTP2, KeyLog: true}}},
		journal: newJournal(io.Discard, untold{})}
	figures, err := r.probe(t.Context(), n, asked)
	if err == nil || !strings.Contains(err.Error(), NotAsAsked) {
		t.Fatalf("a line of 10 ms is taken for one of 300: %v", err)
	}
	if figures == nil || figures.KeyLog != "" {
		t.Errorf("%+v", figures)
	}
}
