package session

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

func TestCheckBeforeTheStart(t *testing.T) {
	there := filepath.Join(t.TempDir(), "a page.html")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	here := local{device.Description{Name: "local", Source: device.Virtual, Browsers: []string{"chromium", "firefox"}}}
	away := described{device.Description{Name: "phone", Source: "v4l2:0", Input: device.Input{Kind: device.InputADB}}}
	address := func(a string) *suite.Test {
		return &suite.Test{Name: "x", URL: a, Sync: suite.Sync{Still: time.Second}}
	}
	steps := &suite.Test{Name: "x", URL: blankPage, Sync: suite.Sync{Still: time.Second}, Steps: []suite.Step{
		{Action: suite.Loop{Times: 2, Steps: []suite.Step{{Action: suite.Load{URL: "file:///nonexistent.html"}}}}},
	}}
	event := address("http://a.example/")
	event.Sync = suite.Sync{Event: "foo"}
	for name, tc := range map[string]struct {
		test *suite.Test
		on   Variant
		want string // "": it can be run
	}{
		"file": {address("file://" + strings.ReplaceAll(there, " ", "%20")), Variant{Device: here},
			""},
		"no file": {address("file:///nonexistent.html"), Variant{Device: here},
			"file:///nonexistent.html cannot be loaded: no such file or directory"},
		"no file, with power": {address("file:///nonexistent.html"), Variant{Device: &Powered{Device: here}},
			"no such file"},
		"no file, of a step": {steps, Variant{Device: here}, "no such file"},
		"file of another":    {address("file:///nonexistent.html"), Variant{Device: away}, ""},
		"browser":            {address("http://a.example/"), Variant{Device: here, Browser: "firefox"}, ""},
		"no browser": {address("http://a.example/"), Variant{Device: here, Browser: "opera"},
			`device local has no browser "opera"`},
		"an event that is none": {event, Variant{Device: here}, `no step makes the event "foo"`},
	} {
		err := Check(tc.test, tc.on)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestReach: a server that answers is reached, whatever it says; a port that nobody has, and a name
// that is nobody's, are not.
func TestReach(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		case "/none":
			http.NotFound(w, r)
		case "/account":
			http.Redirect(w, r, "/in?token=s3cret", http.StatusFound)
		case "/slash":
			http.Redirect(w, r, "/slash/", http.StatusMovedPermanently)
		case "/round":
			http.Redirect(w, r, "/round?again", http.StatusFound)
		}
	}))
	defer plain.Close()
	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + l.Addr().String() + "/"
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		plain.URL + "/": "", plain.URL + "/away": "", plain.URL + "/none": "answers 404 Not Found",
		secret.URL: "does not trust the certificate",
	} {
		note, _, err := reach(t.Context(), address, nil)
		if err != nil || want == "" && note != "" || !strings.Contains(note, want) {
			t.Errorf("%s: %q, %v; want %q", address, note, err, want)
		}
	}
	for path, want := range map[string]string{"/": "", "/account": strings.TrimPrefix(plain.URL, "http://") + "/in",
		"/slash": "", "/round": "", "/away": "127.0.0.1:1/"} {
		if _, led, err := reach(t.Context(), plain.URL+path, nil); err != nil || led != want {
			t.Errorf("%s led to %q, %v; want %q", path, led, err, want)
		}
	}
	if _, _, err := reach(t.Context(), gone, nil); err == nil ||
		!strings.Contains(err.Error(), "unreachable address: "+gone+": ") {
		t.Errorf("error %v", err)
	}
	// What others' tests do not reach is not asked for by the rig either, which would tell how it
	// answers.
	if note, _, err := reach(t.Context(), plain.URL+"/none", &device.EgressPolicy{}); note != "" ||
		!errors.Is(err, device.ErrInside) {
		t.Errorf("a service of this machine: %q, %v", note, err)
	}
}

// TestUnreachedPage: an unreachable page is an error of a run on this machine. A run on another
// machine only notes that it cannot check.
func TestUnreachedPage(t *testing.T) {
	o := options(t, &scene{name: "d"})
	s := &run{Options: o, journal: newJournal(io.Discard, untold{})}
	s.Test.URL = "http://127.0.0.1:1/"
	if err := s.checkReached(t.Context(), &prepared{}, nil); err != nil || len(s.noted()) != 1 ||
		!strings.Contains(s.noted()[0], "not known here") {
		t.Errorf("on another machine: %v, %q", err, s.noted())
	}
	s.Device = local{device.Description{Name: "local", Source: device.Virtual}}
	err := s.checkReached(t.Context(), &prepared{}, nil)
	if err == nil || !strings.Contains(err.Error(), "unreachable address") {
		t.Errorf("on this machine: %v", err)
	}
}

// TestRedirected: a redirect to another path or host is noted, also one on a network.
//
// Fault: An address leads to another page, such as a login
func TestRedirected(t *testing.T) {
	request := func(address string, status int, to string) har.Request {
		return har.Request{Served: serve.Exchange{Method: http.MethodGet, URL: address, Status: status,
			ResponseHeader: http.Header{"Location": {to}}}}
	}
	for name, tc := range map[string]struct {
		requests []har.Request
		want     string
	}{
		"none":   {nil, ""},
		"shown":  {[]har.Request{request("https://a.test/", 200, "/in")}, ""},
		"a host": {[]har.Request{request("https://a.test/", 302, "https://in.test/?to=s3cret")}, "in.test/"},
		"a path": {[]har.Request{request("https://a.test/", 301, "/de/"), request("https://a.test/de/", 307, "/de/in")},
			"a.test/de/in"},
		"www":          {[]har.Request{request("https://a.test/", 301, "https://www.A.test/")}, ""},
		"another page": {[]har.Request{request("https://b.test/", 302, "https://in.test/")}, ""},
		"not http":     {[]har.Request{request("https://a.test/", 302, "mailto:a@a.test")}, ""},
	} {
		for _, address := range []string{"https://a.test", "http://a.test/"} {
			got := (&traffic{fall: &har.Waterfall{Requests: tc.requests}}).led(address)
			if got != tc.want {
				t.Errorf("%s: %s led to %q, want %q", name, address, got, tc.want)
			}
		}
	}
	o := options(t, &scene{name: "d"})
	o.Test.URL = "https://a.test/?key=s3cret"
	r, record := &run{Options: o, journal: newJournal(io.Discard, untold{}), led: "in.test/"}, &Record{}
	r.noteRedirect(record)
	if n := r.noted(); record.Redirected != "in.test/" || len(n) != 1 || n[0] !=
		"a.test/ redirected to in.test/; if that is a login, the login was measured" {
		t.Errorf("%+v, %q", record, n)
	}
}
