package session

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
)

// TestRunOnNetwork: the first change of a page takes three round trips at least: one for its name,
// one to connect, one for the page. With EIDETICKER_SOAK, Firefox runs too; it is on a network in
// TestRunsWithTLS.
func TestRunOnNetwork(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a network of its own takes root")
	}
	browsers := []string{"chromium"}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		browsers = append(browsers, "firefox")
	}
	needBrowsers(t, browsers...)
	// large enough that a busy machine does not distort it
	const rtt = 400 * time.Millisecond
	test, err := suite.Parse("far.yaml",
		[]byte("name: far\npage: /load.html\nwindow: 800x450\nmeasures: [speedindex, loadhist, heatmap]\n"+
			"t0: navigation\nnetwork: {rtt: 400ms, down: 4Mbit, up: 1Mbit}\n"), Known())
	if err != nil {
		t.Fatal(err)
	}
	for _, browser := range browsers {
		t.Run(browser, func(t *testing.T) {
			t.Parallel()
			takeTurn(t)
			dir := filepath.Join(t.TempDir(), "run")
			r, _, err := counted(t, Options{Test: test, Device: theLocalDevice(t), Browser: browser, Dir: dir,
				Program: "test", Seed: 5, MaxLost: 0.9, NoVideo: true, Progress: untold{}})
			if err != nil {
				t.Fatal(err)
			}
			if r.State != Passed || r.Network == nil || r.Network.RTT.Asked != rtt || r.Network.RTT.Got < rtt ||
				r.Network.Down.Got == 0 {
				t.Fatalf("%s: %s %s, %+v", browser, r.State, r.Reason, r.Network)
			}
			if len(r.ChecksFailed) > 0 || r.Checks == 0 {
				t.Errorf("%s: of %d checks %v failed", browser, r.Checks, r.ChecksFailed)
			}
			file, err := result.Read(filepath.Join(dir, "results.json"))
			if err != nil {
				t.Fatal(err)
			}
			if got := file.Environment[result.EnvNetwork]; got != "4Mbit down, 1Mbit up, RTT 400ms" {
				t.Errorf("%s: results say of the network: %q", browser, got)
			}
			i := slices.IndexFunc(file.Windows[0].Results,
				func(r analyze.Result) bool { return r.Measure == "speedindex" })
			if i < 0 {
				t.Fatalf("%s: no speed index was measured", browser)
			}
			first, ok := file.Windows[0].Results[i].Find("first_visual_change")
			if !ok || first.High < 3*rtt.Seconds()*1e3 {
				t.Errorf("%s: the page is first seen after %v ms (%v to %v), which is less than three round trips",
					browser, first.Value, first.Low, first.High)
			}
			if keep := os.Getenv("EIDETICKER_KEEP"); keep != "" { // to look at
				if err := os.CopyFS(filepath.Join(keep, browser), os.DirFS(dir)); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%s: first seen after %.0f ms; %+v", browser, first.Value, *r.Network)
			theWaterfall(t, browser, dir, r, file, rtt)
			log, err := os.ReadFile(filepath.Join(dir, LogFile))
			if err != nil || !strings.Contains(string(log), "name=page.test type=A result=answered") {
				t.Errorf("%s: the log does not say that the page's name was asked for (%v)", browser, err)
			}
		})
	}
}

// theWaterfall compares the waterfall of a page with its files and the conditions of its link.
func theWaterfall(t *testing.T, browser, dir string, r *Record, file *result.Results, rtt time.Duration) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, HARFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, err := har.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	w := &file.Windows[0]
	of := map[string]har.Entry{}
	for i, e := range read.Log.Entries {
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Host != pageHost || e.Response.Status != 200 {
			t.Errorf("%s: %s is answered with %d (%v)", browser, e.Request.URL, e.Response.Status, err)
			continue
		}
		of[u.Path] = e
		m := e.Moments
		for _, order := range [][2]har.Instant{{m.NameFrom, m.NameTo}, {m.NameTo, m.ConnectFrom},
			{m.ConnectFrom, m.ConnectTo}, {m.ConnectTo, m.Sent}, {m.Sent, m.FirstByte}, {m.FirstByte, m.Ended}} {
			if order[0].By != "" && order[1].By != "" && order[0].At > order[1].At {
				t.Errorf("%s: %s: a time is before the one that it follows: %+v", browser, u.Path, m)
			}
		}
		// Nothing is quicker than the line; the emulator's own clock rounds nothing down.
		for what, span := range map[string][2]har.Instant{"the name": {m.NameFrom, m.NameTo},
			"to connect": {m.ConnectFrom, m.ConnectTo}, "the answer": {m.Sent, m.FirstByte}} {
			if took := time.Duration(span[1].At - span[0].At); span[0].By != "" && took < rtt {
				t.Errorf("%s: %s: %s took %v, and a round trip %v", browser, u.Path, what, took, rtt)
			}
		}
		if m.FirstByte.By != har.Line || m.Ended.By != har.Line || *e.WireBytes <= e.Response.BodySize ||
			e.Protocol != "http/1.1" {
			t.Errorf("%s: %s came by %s at %+v, %d bytes of %d", browser, u.Path, e.Protocol, m, *e.WireBytes,
				e.Response.BodySize)
		}
		if n := file.Network.List[i]; n.URL != e.Request.URL || n.WireBytes != *e.WireBytes ||
			n.WaitNS != m.FirstByte.At-m.Sent.At || n.EndNS != m.Ended.At {
			t.Errorf("%s: results have %+v of %s", browser, n, e.Request.URL)
		}
	}
	for _, want := range []string{"/load.html", "/assets/site.css", "/assets/sync.js", "/assets/parts.js"} {
		if _, ok := of[want]; !ok {
			t.Errorf("%s: %s is not in the HAR file", browser, want)
		}
	}
	page := of["/load.html"]
	if m := page.Moments; m.ConnectFrom.By != har.Line || m.ConnectFrom.At < w.T0.AtNS-w.T0.UncertaintyNS ||
		m.FirstByte.At > w.StartNS {
		t.Errorf("%s: the page was connected to at %d and came at %d; it was asked for at %d ± %d and seen at %d",
			browser, m.ConnectFrom.At, m.FirstByte.At, w.T0.AtNS, w.T0.UncertaintyNS, w.StartNS)
	}
	if n := file.Network; n == nil || n.Requests != len(read.Log.Entries) || n.Requests != r.Network.Requests ||
		n.BytesDown < 20_000 || n.File != HARFile || n.RTTNS < int64(rtt) {
		t.Errorf("%s: results say of the network %+v", browser, n)
	}

	// The drawing has the axis of the frames.
	i := slices.IndexFunc(w.Pictures, func(p result.Picture) bool { return p.Kind == result.PictureWaterfall })
	if i < 0 {
		t.Fatalf("%s: no waterfall was drawn: %v", browser, file.Notes)
	}
	svg, err := os.ReadFile(filepath.Join(dir, w.Pictures[i].File))
	if err != nil {
		t.Fatal(err)
	}
	x := 268 + float64(page.Moments.ConnectFrom.At-w.T0.AtNS)/float64(w.EndNS-w.T0.AtNS)*(1184-268)
	if bar := fmt.Sprintf(`class="c-connect" x="%.1f"`, x); !bytes.Contains(svg, []byte(bar)) ||
		!bytes.Contains(svg, []byte("start render")) || !bytes.Contains(svg, []byte("<image")) {
		t.Errorf("%s: %s is not in the waterfall", browser, bar)
	}
	html, err := os.ReadFile(filepath.Join(dir, runfolder.PageFile))
	if err != nil || !bytes.Contains(html, []byte("pictures/waterfall.svg")) ||
		!bytes.Contains(html, []byte("/assets/parts.js")) {
		t.Errorf("%s: the report shows no waterfall, or no requests (%v)", browser, err)
	}

	// Each request is an event on the clock of the frames.
	rec, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	kinds := map[string]int{}
	for n, head := range rec.Events() {
		if head.Source == eventSource {
			e, err := rec.Event(n)
			if err != nil {
				t.Fatal(err)
			}
			kinds[e.Kind]++
			if e.Kind == requestEnded && strings.Contains(string(e.Data), "/load.html") &&
				int64(e.At) != page.Moments.Ended.At {
				t.Errorf("%s: the page ended at %d, by the recording at %d", browser, page.Moments.Ended.At, e.At)
			}
		}
	}
	if n := len(read.Log.Entries); kinds[requestBegun] != n || kinds[requestEnded] != n {
		t.Errorf("%s: the recording tells of %v, there were %d requests", browser, kinds, n)
	}
}

func TestNetworksRefused(t *testing.T) {
	here := device.Description{Name: "local", Source: device.Virtual}
	byPage := device.Description{Name: "page", Source: device.Virtual, Input: device.Input{Kind: device.InputWebdriver}}
	away := device.Description{Name: "phone", Source: "v4l2:0", Input: device.Input{Kind: device.InputADB}}
	fed := away
	fed.Network = "eth3"
	shown := device.Description{Name: "shown", Source: "x11::0", Input: device.Input{Kind: device.InputX11},
		Network: "eth3"}
	cable := suite.Network{Profile: "cable"}
	page := func(n suite.Network) *suite.Test { return &suite.Test{Name: "x", Page: "/load.html", Network: n} }
	for want, tc := range map[string]struct {
		test *suite.Test
		on   device.Description
	}{
		"": {page(cable), here},
		"not a live address": {&suite.Test{Name: "x", URL: "http://a.example/",
			Sync: suite.Sync{Still: 1}, Network: cable}, here},
		"a network needs a built-in page": {&suite.Test{Name: "x", Page: "/load.html", Network: cable,
			Steps: []suite.Step{{Action: suite.Load{URL: "http://a.example/"}}}}, here},
		"needs an interface of this machine for device phone": {page(cable), away},
		"device shown has an existing one":                    {page(cable), shown},
		"cannot be used with the input webdriver":             {page(cable), byPage},
		"unknown network":                                     {page(suite.Network{Profile: "cabel"}), here},
		"a rate of 1bit":                                      {page(suite.Network{Down: 1}), here},
	} {
		var on Device = local{tc.on}
		if tc.on.Source != device.Virtual {
			on = described{tc.on}
		}
		err := Check(tc.test, Variant{Device: on})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNetworkOfADevice: a device behind an interface can have a network, unless its input uses
// that interface.
func TestNetworkOfADevice(t *testing.T) {
	test := &suite.Test{Name: "x", Page: "/load.html", Network: suite.Network{Profile: "cable"}}
	phone := device.Description{Name: "phone", Source: "v4l2:0",
		Input: device.Input{Kind: device.InputHID, Target: "/dev/hidg0"}, Network: "lo"}
	if err := checkNetworkOn(test, false, phone); err != nil {
		t.Error(err)
	}
	if err := controlledBeside(t.Context(), phone); err != nil {
		t.Error(err)
	}
	board := phone
	board.Name = "board"
	for target, beside := range map[string]bool{"127.0.0.1:7070": false, "localhost:7070": false,
		"[fe80::1%lo]:7070": false, "192.0.2.1:7070": true, "[fe80::1%eth9]:7070": true} {
		board.Input = device.Input{Kind: device.InputAgent, Target: target}
		if err := controlledBeside(t.Context(), board); (err == nil) != beside || err != nil &&
			!strings.Contains(err.Error(), "device board: its input, agent:"+target+" is reached by the interface lo") {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestAccessPointOfADevice: an access point has the values of the devices file and of the
// passphrase file. The error of a bad passphrase does not show it.
func TestAccessPointOfADevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wifi")
	phone := device.Description{Name: "phone", Network: "wlan0", AccessPoint: "rig-03?passphrase=" + file +
		"&channel=36&country=DE"}
	if _, err := accessPointOf(phone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	for text, want := range map[string]string{"correct horse\n": "", "short": "8 to 63 letters",
		strings.Repeat("x", 4000): "8 to 63 letters"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := accessPointOf(phone)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), text) {
				t.Errorf("%.20q: %v, want %q", text, err, want)
			}
			continue
		}
		if err != nil || *got != (link.AccessPoint{SSID: "rig-03", Passphrase: "correct horse", Channel: 36,
			Country: "DE"}) {
			t.Errorf("%+v (%v)", got, err)
		}
	}
	phone.AccessPoint = ""
	if got, err := accessPointOf(phone); got != nil || err != nil {
		t.Errorf("with a cable: %+v (%v)", got, err)
	}
}
