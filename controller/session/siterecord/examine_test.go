package siterecord

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/replay"
)

func got(method, address string, status int, more ...func(*replay.Exchange)) *replay.Exchange {
	e := &replay.Exchange{Method: method, URL: address, Status: status}
	for _, change := range more {
		change(e)
	}
	return e
}

func to(address string) func(*replay.Exchange) {
	return func(e *replay.Exchange) { e.ResponseHeader = replay.Fields{{Name: "location", Value: address}} }
}

func asking(name, value string) func(*replay.Exchange) {
	return func(e *replay.Exchange) { e.Header = replay.Fields{{Name: name, Value: value}} }
}

func failed(why string) func(*replay.Exchange) { return func(e *replay.Exchange) { e.Error = why } }

// TestPageOfAnArchive: an archive without a page that can be shown is refused with the reason.
//
// Fault: A site is recorded that does not answer, answers with an error, or is not reached
func TestPageOfAnArchive(t *testing.T) {
	for name, tc := range map[string]struct {
		page string
		has  []*replay.Exchange
		want string // the page's address, or the error
		how  int    // redirects
	}{
		"there": {"https://a.test", []*replay.Exchange{got("GET", "https://a.test/", 200)}, "https://a.test/", 0},
		"a fragment": {"https://A.test:443/#x", []*replay.Exchange{got("GET", "https://a.test/", 200)},
			"https://a.test/", 0},
		"a login": {"https://a.test/me", []*replay.Exchange{got("GET", "https://a.test/me", 302, to("/in?to=me")),
			got("GET", "https://a.test/in?to=me", 200)}, "https://a.test/in?to=me", 1},
		"another host": {"http://a.test/", []*replay.Exchange{got("GET", "http://a.test/", 301, to("https://b.test#y")),
			got("GET", "https://b.test/", 200)}, "https://b.test/", 1},
		"https at once": {"http://a.test/", []*replay.Exchange{got("GET", "https://a.test/", 200)}, "https://a.test/",
			1},
		"second try": {"https://a.test/", []*replay.Exchange{got("GET", "https://a.test/", 0, failed("broken off")),
			got("GET", "https://a.test/", 200), got("GET", "https://a.test/", 0, failed("broken off"))},
			"https://a.test/", 0},
		"fetched by a script later": {"https://a.test/", []*replay.Exchange{
			got("GET", "https://a.test/", 200, asking("sec-fetch-dest", "document")),
			got("GET", "https://a.test/", 404, asking("sec-fetch-dest", "empty"))}, "https://a.test/", 0},
		"fetched by a script without TLS": {"http://a.test/", []*replay.Exchange{
			got("GET", "http://a.test/", 200, asking("accept", "text/html,*/*")),
			got("GET", "http://a.test/", 404, asking("accept", "*/*"))}, "http://a.test/", 0},
		"nothing": {"https://a.test/", nil, "the browser did not request https://a.test/", 0},
		"another": {"https://a.test/", []*replay.Exchange{got("GET", "https://a.test/favicon.ico", 200)},
			"the browser did not request https://a.test/", 0},
		"posted only": {"https://a.test/", []*replay.Exchange{got("POST", "https://a.test/", 200)},
			"did not request", 0},
		"down": {"https://a.test/", []*replay.Exchange{got("GET", "https://a.test/", 0, failed("a.test is down"))},
			"recorded: a.test is down", 0},
		"an error page": {"https://a.test/", []*replay.Exchange{got("GET", "https://a.test/", 403)},
			"https://a.test/ answers 403 Forbidden", 0},
		"moved to nothing": {"https://a.test/", []*replay.Exchange{got("GET", "https://a.test/", 302, to("/x"))},
			"did not request https://a.test/x", 1},
		"moved to an app": {"https://a.test/", []*replay.Exchange{got("GET", "https://a.test/", 302, to("app:x"))},
			"must be an http or https address", 0},
		"a circle": {"https://a.test/", []*replay.Exchange{got("GET", "https://a.test/", 302, to("/"))},
			"redirects more than 20 times", 21},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := parse(tc.page)
			if err != nil {
				t.Fatal(err)
			}
			p, err := find(&replay.Archive{Exchanges: tc.has}, page)
			text := p.Address
			if err != nil {
				text = err.Error()
			}
			if err == nil && text != tc.want || !strings.Contains(text, tc.want) || len(p.Moves) != tc.how {
				t.Errorf("%q after %q, want %q", text, p.Moves, tc.want)
			}
		})
	}
}

// TestRequestsOfTheBrowser: requests of the browser itself are dropped, and those of pages are not.
func TestRequestsOfTheBrowser(t *testing.T) {
	for name, tc := range map[string]struct {
		address, site, dest string
		want                bool
	}{
		"a document":      {"https://a.test/", "none", "document", false},
		"a picture":       {"https://a.test/a.png", "same-origin", "image", false},
		"without headers": {"http://a.test/a.png", "", "", false},
		"an update":       {"https://a.test/update", "none", "empty", true},
		"a known service": {"https://Detectportal.firefox.com:443/x", "", "", true},
	} {
		r := httptest.NewRequest(http.MethodGet, tc.address, nil)
		r.Header.Set("Sec-Fetch-Site", tc.site)
		r.Header.Set("Sec-Fetch-Dest", tc.dest)
		passed := false
		traffic := traffic{next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })}
		traffic.ServeHTTP(httptest.NewRecorder(), r)
		if passed == tc.want || len(traffic.background()) > 0 != tc.want {
			t.Errorf("%s: passed on %v, dropped %v", name, passed, traffic.background())
		}
	}
}

// TestDoubts: requests that a replay answers in another way than the site are listed once.
func TestDoubts(t *testing.T) {
	worker := func(e *replay.Exchange) { e.Header = replay.Fields{{Name: "service-worker", Value: "script"}} }
	a := &replay.Archive{Exchanges: []*replay.Exchange{got("GET", "https://a.test/", 200),
		got("GET", "https://a.test/live", 101), got("POST", "https://b.test:8443/api", 200),
		got("POST", "https://b.test:8443/api", 200), got("GET", "https://a.test/sw.js", 200, worker)}}
	want := []string{"websocket, which is not replayed: https://a.test/live",
		"POST, whose answer stays the recorded one: https://b.test:8443/api",
		"service worker, whose later requests may be missing: https://a.test/sw.js"}
	if all := doubts(a); strings.Join(all, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", all)
	}
	if all := hosts(a); len(all) != 2 || all[0] != (Host{"a.test", 3, 0}) || all[1] != (Host{"b.test:8443", 2, 0}) {
		t.Errorf("%v", all)
	}
}

// TestNamesOfATestNetwork: addresses that a browser would not ask the test network for are refused.
//
// Fault: A site to record is in /etc/hosts
func TestNamesOfATestNetwork(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte("127.0.0.1 localhost\n# 1.2.3.4 no.test\n10.0.0.1 a.test Shop.test # x\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"shop.test": "10.0.0.1", "no.test": "", "10.0.0.1": "", "x": ""} {
		if at := inHosts(file, name); at != want {
			t.Errorf("%s: %q", name, at)
		}
	}
	if inHosts(file+"x", "a.test") != "" {
		t.Error("a missing file has a name")
	}
	for address, want := range map[string]bool{"https://a.test/": true, "http://a.test:80/": true,
		"https://a.test:444/": false, "http://10.0.0.1/": false, "http://[::1]/": false, "http://localhost/": false,
		"http://x.localhost/": false} {
		page, err := parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if named(page) != want {
			t.Errorf("%s: %v", address, !want)
		}
		if err := (&Options{InNetwork: true}).check(page); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestNamesOfArchives: each address has its own archive, with the host in its name.
func TestNamesOfArchives(t *testing.T) {
	seen := map[string]string{}
	for _, address := range []string{"https://a.test/", "http://a.test/", "https://a.test/?x=/../..", "https://b.test/",
		"https://a.test/#/a", "https://a.test/#/b", "https://me@a.test/", "https://you@a.test/",
		"https://" + strings.Repeat("long.", 40) + "test/"} {
		page, err := parse(address)
		if err != nil {
			t.Fatal(err)
		}
		name := Cache{}.name(page, address)
		if seen[name] != "" || filepath.Base(name) != name || len(name) > 100 ||
			!strings.HasPrefix(name, page.Host[:5]) {
			t.Errorf("%s: %q, as %q", address, name, seen[name])
		}
		seen[name] = address
	}
}

// TestAddressesOfBrowsers: an address is compared as a browser requests it.
func TestAddressesOfBrowsers(t *testing.T) {
	for address, want := range map[string]string{
		"https://A.test:443":               "https://a.test/",
		"https://a.test/?q=ä&r='\"<>":      "https://a.test/?q=%C3%A4&r=%27%22%3C%3E",
		"https://a.test/?q=a b%20c":        "https://a.test/?q=a%20b%20c",
		"https://Bücher.example:8443/ä b":  "https://xn--bcher-kva.example:8443/%C3%A4%20b",
		"https://a.test/a/../b/./c//d":     "https://a.test/b/c//d",
		"https://a.test/a%2Fb/..":          "https://a.test/",
		"http://[0:0::1]:3000/":            "http://[::1]:3000/",
		"http://127.0.0.1:80/?":            "http://127.0.0.1/?",
		"https://my_app.test/it's":         "https://my_app.test/it's",
		"https://me:secret@a.test/x?y#z?ä": "https://a.test/x?y",
	} {
		got, err := parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
		if again, err := parse(want); err != nil || again.String() != want {
			t.Errorf("%s: %s %v", want, again, err)
		}
	}
}

// TestOnlyFilesAreReplaced: a recording does not replace a link or a device.
func TestOnlyFilesAreReplaced(t *testing.T) {
	link := filepath.Join(t.TempDir(), "site.zip")
	if err := os.Symlink("other.zip", link); err != nil {
		t.Fatal(err)
	}
	_, err := Record(t.Context(), Options{URL: "http://127.0.0.1:1/", Path: link})
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
}
