package session

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
)

// TestServesBuild: the build of a site is served without its hidden files, and by names that it
// has. Without a test network, other sites cannot read it. The note names the missing files. A run
// whose own page is missing fails, by a fault of the product.
//
// Fault: A build of a site lacks the test's page, or files
// Fault: Another site reads a build that a run plays
func TestServesBuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"shop/index.html": strings.Repeat("shop ", 200), "app.js": "app",
		".env": "secret", ".git/config": "secret"} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, network := range map[string]string{"loopback": "", "network": "network: 3g\n"} {
		t.Run(name, func(t *testing.T) {
			test := readTest(t, "name: shop\nsite: /shop/?x=1\nend: 2s\n"+network)
			listen := onHost(loopback)
			listen.site = dir
			p, err := servePages(t.Context(), test, nil, nil, t.TempDir(), listen)
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			u, err := url.Parse(p.address)
			if err != nil || u.Path != "/shop/" || u.RawQuery != "x=1" || p.green == "" {
				t.Errorf("%s, %v, green at %q", p.address, err, p.green)
			}
			alone := network == ""
			for _, tc := range []struct {
				path, host, from string
				want             int
			}{
				{"/shop/", u.Host, "", 200}, {"/shop", u.Host, "same-origin", 301}, {"/app.js", u.Host, "", 200},
				{"/.env", u.Host, "", 404}, {"/.git/config", u.Host, "", 404}, {"/no.css", u.Host, "", 404},
				{"/app.js", "evil.example:" + u.Port(), "", map[bool]int{true: 404, false: 200}[alone]},
				{"/app.js", u.Host, "same-site", map[bool]int{true: 404, false: 200}[alone]},
				{"/app.js", u.Host, "cross-site", map[bool]int{true: 404, false: 200}[alone]},
			} {
				r, err := http.NewRequest(http.MethodGet, u.Scheme+"://"+u.Host+tc.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Host = tc.host
				r.Header.Set("Accept-Encoding", "br")
				r.Header.Set("Sec-Fetch-Site", tc.from)
				answer, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if answer.StatusCode != tc.want {
					t.Errorf("%s of %s from %q: %d, want %d", tc.path, tc.host, tc.from, answer.StatusCode, tc.want)
				}
				if packed := answer.Header.Get("Content-Encoding") == "br"; packed != (tc.path == "/shop/") {
					t.Errorf("%s is packed: %v", tc.path, packed)
				}
			}
			note := p.missing.note()
			if !strings.HasPrefix(note, "the site lacks ") || !strings.Contains(note, "/no.css") ||
				strings.Contains(note, "shop") {
				t.Errorf("the note is %q", note)
			}
		})
	}
	listen := onHost(loopback)
	listen.site = dir
	test := readTest(t, "name: shop\nsite: /cart.html\nend: 2s\n")
	_, err := servePages(t.Context(), test, nil, nil, t.TempDir(), listen)
	if err == nil || err.Error() != "the build of the site has no /cart.html" || faultOf(inLab(err)) != ProductFault {
		t.Errorf("a page that the build lacks: %v", err)
	}
	var set sites // each build is read once
	first, err := set.open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := set.open(dir); second != first || err != nil {
		t.Errorf("a second read, %v", err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	_, err = servePages(t.Context(), test, nil, nil, t.TempDir(), listen)
	if err == nil || !strings.Contains(err.Error(), "path escapes") || faultOf(inLab(err)) != ProductFault {
		t.Errorf("a link out of the build: %v", err)
	}
}

// TestSiteAndTest: a test and its run agree on a site. Others on a device's network do not read it.
//
// Fault: `--site` is missing, or its folder lacks the test's page
func TestSiteAndTest(t *testing.T) {
	t.Parallel()
	site := readTest(t, "name: shop\nsite: /\nend: 2s\n")
	page := readTest(t, "name: load\npage: /load.html\n")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{CheckSite(site, true), ""}, {CheckSite(page, false), ""},
		{CheckSite(site, false), "it plays a build of a site; give --site DIR"},
		{CheckSite(page, true), "it does not play a build of a site; give it site: /"},
		{checkBuildOn(site, device.Description{Name: "local"}), ""},
		{checkBuildOn(page, device.Description{Name: "phone", Network: "eth3"}), ""},
		{checkBuildOn(site, device.Description{Name: "phone", Network: "eth3"}), "add network: to the test"},
	} {
		if (tc.err == nil) != (tc.want == "") || tc.err != nil && !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%v, want %q", tc.err, tc.want)
		}
	}
	if err := (&SetOptions{Test: site, Variants: []Variant{{Device: theLocalDevice(t)}}}).Check(); err == nil {
		t.Error("a set without a build")
	}
	fast := readTest(t, "name: shop\nsite: /\nend: 2s\nnetwork: {protocol: h3}\n")
	if _, err := checkNetwork(fast, false); err != nil {
		t.Errorf("on a network: %v", err)
	}
	r := &run{Options: Options{Test: site, Untrusted: true}}
	if err := r.checkUntrusted(); !errors.Is(err, device.ErrInside) {
		t.Errorf("an untrusted test: %v", err)
	}
}
