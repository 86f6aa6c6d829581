package session

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/replay"
)

// shop is an archive of a page with a picture. A square turns blue when all is loaded.
func shop(t *testing.T) []byte {
	t.Helper()
	return archiveOf(t, [3]string{"https://shop.example/", "text/html",
		`<!doctype html><title>Shop</title><body style="background: #eef"><h1>Shop</h1>` +
			`<img src="https://cdn.example/a.svg" width="300">` + square +
			`<script>onload = () => document.querySelector("i").style.background = "#00f"</script>`},
		[3]string{"https://cdn.example/a.svg", "image/svg+xml",
			`<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200">` +
				`<rect width="300" height="200" fill="teal"/></svg>`})
}

// square is the place of a page for the colour that ends the run of shopTest.
const square = `<i style="position: absolute; left: 700px; top: 400px; width: 40px; height: 40px"></i>`

// archiveOf is a HAR, as browsers export them, of responses: address, type and text.
func archiveOf(t *testing.T, responses ...[3]string) []byte {
	t.Helper()
	type object = map[string]any
	entry := func(address, kind, text string) object {
		return object{
			"startedDateTime": "2026-11-20T10:00:00.000Z", "time": 120,
			"request": object{"method": "GET", "url": address, "httpVersion": "HTTP/1.1", "headers": []any{},
				"queryString": []any{}, "cookies": []any{}, "headersSize": -1, "bodySize": 0},
			"response": object{
				"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1",
				"headers": []object{{"name": "Content-Type", "value": kind}}, "cookies": []any{},
				"content": object{"size": len(text), "mimeType": kind, "text": text}, "redirectURL": "",
				"headersSize": -1, "bodySize": len(text),
			},
			"cache": object{}, "timings": object{"send": 0, "wait": 100, "receive": 20},
		}
	}
	var entries []object
	for _, r := range responses {
		entries = append(entries, entry(r[0], r[1], r[2]))
	}
	b, err := json.Marshal(object{"log": object{"version": "1.2", "creator": object{"name": "test", "version": "1"},
		"entries": entries}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shopTest plays a page of an archive until its square is blue.
func shopTest(t *testing.T, dir fs.FS, address, network string) *suite.Test {
	t.Helper()
	known := Known()
	known.Dir = dir
	test, err := suite.Parse("shop.yaml",
		[]byte("name: shop\nurl: "+address+"\nend: event blue\nwindow: 800x450\nmeasures: [speedindex]\n"+
			"network: "+network+"\ntimeout: 3m\n"+
			"steps: [{wait: {colour: \"#0000ff\", in: 30x30+705+405, timeout: 2m}}, {mark: blue}]\n"), known)
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// onArchive: a site is loaded from its archive over the link of the test. HTTPS and all its names
// work. Misses are reported.
func onArchive(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{"shop.har": {Data: shop(t)}}
	run := func(t *testing.T, browser, address, protocol string, bare bool) (*Record, string) {
		t.Helper()
		takeTurn(t)
		out := filepath.Join(t.TempDir(), "run")
		test := shopTest(t, dir, address,
			"{rtt: 400ms, down: 4Mbit, up: 1Mbit, replay: shop.har, determinism: 7, key-log: "+
				strconv.FormatBool(browser == "firefox")+protocol+"}")
		if bare { // the archive has no page that turns blue
			test.Steps, test.Sync = nil, suite.Sync{Still: 2 * time.Second}
		}
		r, _, err := counted(t, Options{Test: test, Device: theLocalDevice(t), Browser: browser, Dir: out,
			Program: "test", Seed: 5, MaxLost: 0.9, NoVideo: true, Bare: bare, Progress: untold{}})
		if err != nil {
			t.Fatal(err)
		}
		return r, out
	}
	runs := [][2]string{{"chromium", "h2"}}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		runs = append(runs, [2]string{"chromium", "h3"}, [2]string{"firefox", "h2"}, [2]string{"firefox", "h3"})
	}
	for _, by := range runs {
		t.Run(strings.Join(by[:], " "), func(t *testing.T) {
			t.Parallel()
			browser, protocol, asked := by[0], by[1], ""
			if protocol != "h2" {
				asked = ", protocol: " + protocol
			}
			r, out := run(t, browser, "https://shop.example/", asked, false)
			if r.State != Passed || r.Network == nil || r.Network.Replay == nil {
				t.Fatalf("%s: %s %s, %+v", browser, r.State, r.Reason, r.Network)
			}
			if got := r.Network.Replay; got.Archive != "shop.har" || got.Exact != 2 || got.Loose != 0 ||
				got.Missed != len(got.Misses) {
				t.Errorf("%s: %+v", browser, got)
			}
			for _, m := range r.Network.Replay.Misses {
				if !strings.HasSuffix(m.URL, "/favicon.ico") {
					t.Errorf("%s: missed %+v", browser, m)
				}
			}
			f, err := os.Open(filepath.Join(out, HARFile))
			if err != nil {
				t.Fatal(err)
			}
			fall, err := har.Read(f)
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			came := map[string]bool{}
			for _, e := range fall.Log.Entries {
				if e.Response.Status == 200 && e.Protocol == protocol {
					came[e.Request.URL] = true
				}
			}
			if !came["https://shop.example/"] || !came["https://cdn.example/a.svg"] {
				t.Errorf("%s: by %s came %v", browser, protocol, came)
			}
			if _, err := os.Stat(filepath.Join(out, "pictures", "waterfall.svg")); err != nil {
				t.Error(err)
			}
			theKeys(t, browser, out, r, browser == "firefox")
		})
	}
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		r, _ := run(t, "chromium", "https://Closed.example:443", "", true)
		if want := "shop.har has no answer for https://Closed.example:443: it was not recorded"; r.State != Failed ||
			!strings.Contains(r.Reason, want) {
			t.Errorf("an address that is not in the archive: %s %s", r.State, r.Reason)
		}
	})
}

// TestSecureNames: DNS announces HTTPS only for names whose responses all used it. Browsers would
// request the others by HTTPS too.
func TestSecureNames(t *testing.T) {
	a := &replay.Archive{}
	for _, address := range []string{"https://Shop.example/", "https://shop.example:8443/", "https://cdn.example/a.svg",
		"http://cdn.example/b.svg", "http://old.example/", "https://old.example/", "http://plain.example/",
		"wss://shop.example/live", "%"} {
		a.Exchanges = append(a.Exchanges, &replay.Exchange{URL: address})
	}
	names := secureNames(a)
	for name, want := range map[string]bool{"shop.example": true, "cdn.example": false, "old.example": false,
		"plain.example": false, "": false} {
		if names[name] != want {
			t.Errorf("%q: %v", name, names[name])
		}
	}
}

// TestArchiveIsChecked: what cannot be replayed is refused before anything is started.
func TestArchiveIsChecked(t *testing.T) {
	both := bytes.Replace(shop(t), []byte(`"https://cdn.example/a.svg"`), []byte(`"http://shop.example/a.svg"`), 1)
	other := bytes.Replace(shop(t), []byte(`"https://cdn.example/a.svg"`), []byte(`"http://cdn.example/a.svg"`), 1)
	dir := fstest.MapFS{"both.har": {Data: both}, "other.har": {Data: other}, "shop.har": {Data: shop(t)},
		"cut.har": {Data: shop(t)[:200]}, "notes.txt": {Data: []byte("what is this\n")}}
	here := Variant{Device: theLocalDevice(t)}
	chromium, firefox := Variant{Device: here.Device, Browser: "chromium"},
		Variant{Device: here.Device, Browser: "firefox"}
	const cannot = "has answers of shop.example over http://, so Firefox cannot use h3"
	phone := Variant{Device: described{Description: device.Description{Name: "phone", Source: "v4l2:/dev/video0",
		Network: "eth3"}}}
	for name, tc := range map[string]struct {
		address, network string
		on               Variant
		want             string
	}{
		"good": {"https://shop.example/", "{replay: shop.har}", here, ""},
		"cut":  {"https://shop.example/", "{replay: cut.har}", here, "read cut.har: "},
		"something else": {"https://shop.example/", "{replay: notes.txt}", here,
			"read notes.txt: neither a site archive"},
		"a device": {"https://shop.example/", "{replay: shop.har}", phone,
			"needs a virtual display instead of device phone"},
		"a file": {"file:///etc/hostname", "{replay: shop.har}", here,
			"cannot serve the file file:///etc/hostname"},
		"h3, Firefox, by both": {"https://shop.example/", "{replay: both.har, protocol: h3}", firefox,
			"test shop: both.har " + cannot},
		"h3, Firefox, by TLS alone": {"https://shop.example/", "{replay: shop.har, protocol: h3}", firefox, ""},
		"h3, Firefox, one without":  {"https://shop.example/", "{replay: other.har, protocol: h3}", firefox, ""},
		"h3, Chromium, by both":     {"https://shop.example/", "{replay: both.har, protocol: h3}", chromium, ""},
		"h2, Firefox, by both":      {"https://shop.example/", "{replay: both.har, protocol: h2}", firefox, ""},
		"nothing to replay":         {"https://shop.example/", "cable", here, "needs a built-in page or an archive"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Check(shopTest(t, dir, tc.address, tc.network), tc.on); err != nil {
				got = err.Error()
			}
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
