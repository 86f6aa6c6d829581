package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	var asked atomic.Int32 // addresses of both kinds are asked for at once
	had := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = had })
	net.DefaultResolver = &net.Resolver{PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			asked.Add(1)
			return nil, errors.New("no names")
		}}
	test := liveTest(t, "http://a.example.:3000/")
	const want = "needs a built-in page or an archive"
	if err := Check(test); err == nil || !strings.Contains(err.Error(), want) || asked.Load() > 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	if err := CheckLive(test); err != nil || asked.Load() > 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	r := &run{Options: Options{Test: test, Untrusted: true}}
	if _, err := r.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), want) || asked.Load() > 0 {
		t.Errorf("untrusted: %v, asked %d times", err, asked.Load())
	}
	_ = loopbackOf(t.Context(), "a.example", net.DefaultResolver)
	once := asked.Swap(0)
	r.Untrusted = false
	if _, err := r.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), want) || asked.Load() != once {
		t.Errorf("%v, asked %d times, want %d", err, asked.Load(), once)
	}
}

// TestLiveRequestsAreAsSent: a server of this machine gets requests as the browser sent them. Parts
// of a response pass at once. Connections that change their protocol pass too.
func TestLiveRequestsAreAsSent(t *testing.T) {
	seen := make(chan *http.Request, 1)
	next := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		switch {
		case r.URL.Path == "/gone":
			panic(http.ErrAbortHandler)
		case r.Header.Get("Upgrade") != "":
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.CopyN(c, rw, 4)
		default:
			fmt.Fprint(w, "part")
			_ = http.NewResponseController(w).Flush()
			<-next
			fmt.Fprint(w, "whole")
		}
	}))
	defer server.Close()
	local := localServerOf(t.Context(), server.URL, hostsFile)
	var at string
	listen := listening{connections: func(string) (net.Listener, string, error) {
		l, host, err := onHost(loopback).connections("")
		if at == "" && err == nil {
			at = host
		}
		return l, host, err
	}}
	p, err := servePages(t.Context(), &suite.Test{URL: server.URL}, nil, local, t.TempDir(), listen)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(path, fields string) (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: app.localhost:3000\r\n%s\r\n", path, fields)
		return c, bufio.NewReader(c)
	}

	c, from := ask("/a%2Fb?x;y=%zz", "Accept-Encoding: br\r\nCookie: a=b\r\n")
	defer c.Close()
	r := <-seen
	if r.RequestURI != "/a%2Fb?x;y=%zz" || r.Host != "app.localhost:3000" || r.Header.Get("Cookie") != "a=b" ||
		!slices.Equal(r.Header["Accept-Encoding"], []string{"br"}) || len(r.Header) != 2 {
		t.Errorf("the server got %s of %s with %v", r.RequestURI, r.Host, r.Header)
	}
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 4)
	if _, err := io.ReadFull(answer.Body, part); err != nil || string(part) != "part" {
		t.Errorf("the first part is %q, %v", part, err)
	}
	close(next)
	if rest, err := io.ReadAll(answer.Body); err != nil || string(rest) != "whole" {
		t.Errorf("the rest is %q, %v", rest, err)
	}

	c, from = ask("/socket", "Connection: Upgrade\r\nUpgrade: echo\r\n")
	defer c.Close()
	<-seen
	if answer, err = http.ReadResponse(from, nil); err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v, %v", answer, err)
	}
	fmt.Fprint(c, "ping")
	if _, err := io.ReadFull(from, part); err != nil || string(part) != "ping" {
		t.Errorf("the echo is %q, %v", part, err)
	}

	c, from = ask("/gone", "")
	defer c.Close()
	<-seen
	if answer, err := http.ReadResponse(from, nil); err == nil {
		t.Errorf("a request without an answer got %s", answer.Status)
	}
	if _, all := p.server.Witnessed(); len(all) != 3 || all[0].URL != "http://app.localhost:3000/a%2Fb?x;y=%zz" {
		t.Errorf("the requests are %+v", all)
	}
}

// liveTest loads a server of this machine over a link.
func liveTest(t *testing.T, address string) *suite.Test {
	t.Helper()
	const text = "name: live\nurl: %s\nend: event teal\nwindow: 800x450\nmeasures: [speedindex]\n" +
		"network: {rtt: 400ms}\nsteps: [{wait: {colour: \"#008080\", timeout: 1m}}, {mark: teal}]\n"
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
	t.Parallel()
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
		NoPictures: true, NoVideo: true, Progress: untold{}, Dir: filepath.Join(t.TempDir(), "run")}
	takeTurn(t)
	r, found, err := counted(t, o)
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
	if n := found.Results.Network; n == nil || len(n.List) == 0 || n.List[0].URL != test.URL ||
		n.List[0].Status != http.StatusOK {
		t.Errorf("the requests are %+v", n)
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
