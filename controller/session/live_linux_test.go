package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/suite"
)

// TestLocalServers: addresses of this machine's loopback are detected, and no others.
func TestLocalServers(t *testing.T) {
	for address, want := range map[string]string{
		"http://localhost:3000/a": "localhost:3000", "https://LOCALHOST": "localhost:443",
		"http://app.localhost:80": "localhost:80", "http://127.0.0.2:81": "127.0.0.2:81", "http://[::1]:9": "[::1]:9",
		"http://[::ffff:127.0.0.1]": "[::ffff:127.0.0.1]:80",
		"http://192.0.2.1:3000":     "", "http://0.0.0.0/": "", "file:///localhost": "", "http://": "",
		"http://nowhere.invalid/": "",
	} {
		got := ""
		if s := localServerOf(t.Context(), address, hostsFile); s != nil {
			got = s.at
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// TestNamesAreAskedOnce: a check asks no server for names, nor does the run of an untrusted test.
// Another run asks once.
func TestNamesAreAskedOnce(t *testing.T) {
	asked := 0
	had := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = had })
	net.DefaultResolver = &net.Resolver{PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			asked++
			return nil, errors.New("no names")
		}}
	test := liveTest(t, "http://a.example.:3000/")
	const want = "needs a built-in page or an archive"
	if err := Check(test); err == nil || !strings.Contains(err.Error(), want) || asked > 0 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	if err := CheckLive(test); err != nil || asked > 0 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	r := &run{Options: Options{Test: test, Untrusted: true}}
	if _, err := r.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), want) || asked > 0 {
		t.Errorf("untrusted: %v, asked %d times", err, asked)
	}
	_ = loopbackOf(t.Context(), "a.example", net.DefaultResolver)
	once := asked
	asked, r.Untrusted = 0, false
	if _, err := r.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), want) || asked != once {
		t.Errorf("%v, asked %d times, want %d", err, asked, once)
	}
}

// liveTest loads a server of this machine over a link.
func liveTest(t *testing.T, address string) *suite.Test {
	t.Helper()
	const text = "name: live\nurl: %s\nend: still 1s\nwindow: 800x450\nmeasures: [speedindex]\nnetwork: {rtt: 400ms}\n"
	test, err := suite.Parse("live.yaml", fmt.Appendf(nil, text, address), Known())
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// TestLiveServer: a developer's own server is loaded over the link, by the name and the port of the
// test. An untrusted test is refused.
//
// Fault: The server of a live test is not running
func TestLiveServer(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a network of its own needs root")
	}
	needBrowsers(t, "chromium")
	var mu sync.Mutex
	asked := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.Host+r.URL.Path] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><body style='background: teal'>")
	}))
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	test := liveTest(t, "http://localhost:"+port+"/app")
	if is, err := Live(t.Context(), test); !is || err != nil {
		t.Fatalf("live: %v, %v", is, err)
	}
	o := Options{Test: test, Device: theLocalDevice(t), Browser: "chromium", Program: "test", Seed: 5, MaxLost: 0.9,
		NoPictures: true, Progress: untold{}, Dir: filepath.Join(t.TempDir(), "run")}
	takeTurn(t)
	r, found, err := Run(t.Context(), o)
	if err != nil || r.State != Passed {
		t.Fatalf("%+v %v", r, err)
	}
	v, ok := found.Results.Windows[0].Results[0].Find("first_visual_change")
	if least := 2 * 400.0; !ok || v.High < least {
		t.Errorf("the first change after %v ms, want two round trips, %v", v, least)
	}
	mu.Lock()
	defer mu.Unlock()
	if !asked["localhost:"+port+"/app"] || r.Network.BytesDown == 0 {
		t.Errorf("%v, %+v", asked, r.Network)
	}
	o.Untrusted, o.Dir = true, filepath.Join(t.TempDir(), "untrusted")
	if r, _, err = Run(t.Context(), o); err != nil || !strings.Contains(r.Reason, "address of this machine") {
		t.Errorf("untrusted: %s %v", r.Reason, err)
	}
	server.Close()
	if is, err := Live(t.Context(), test); !is || err == nil || !strings.Contains(err.Error(), "no server answers at") {
		t.Errorf("a server that has ended: %v, %v", is, err)
	}
	o.Untrusted, o.Dir = false, filepath.Join(t.TempDir(), "ended")
	began := time.Now()
	if r, _, err = Run(t.Context(), o); err != nil || !strings.Contains(r.Reason, "no server answers at") {
		t.Errorf("a server that has ended: %s %v after %v", r.Reason, err, time.Since(began))
	}
}
