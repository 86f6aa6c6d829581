package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/inspect"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
)

// claiming is a page with known vitals. The bar moves by 150 of 800 pixels and touches 350 of 600
// lines. Frames are made between the steps, so that each step is painted. The square turns blue
// after the last one. A click keeps the page busy.
const claiming = `<!doctype html><title>vitals</title><link rel="icon" href="data:,"><style>
html { background: #fff }
h1 { position: absolute; left: 100px; top: 20px; margin: 0; font: 64px sans-serif; color: #000 }
p { position: absolute; left: 0; top: 100px; width: 800px; height: 200px; margin: 0; background: #ddf }
i { position: absolute; left: 700px; top: 540px; width: 40px; height: 40px }
</style><p></p><i></i><script src="/own.js"></script><script>
const busy = (ms) => { for (const end = performance.now() + ms; performance.now() < end;); };
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const after = (ms) => new Promise((done) => setTimeout(done, ms));
performance.mark("begun");
(async () => {
	await frames();
	await after(500);
	const h = document.createElement("h1");
	h.id = "hero";
	h.textContent = "The largest text";
	document.body.append(h);
	performance.measure("until hero", "begun");
	await frames();
	document.querySelector("p").style.top = "250px";
	await frames();
	await after(0);
	busy(120);
	console.error("known error", 7);
	setTimeout(() => { throw new TypeError("known exception"); });
	await after(1);
	await frames();
	document.querySelector("i").style.background = "#00f";
})();
onpointerdown = () => {
	busy(80);
	document.querySelector("p").style.background = "#cfc";
};
</script>`

// shift is the layout shift of that page.
const shift = 350.0 / 600 * 150 / 800

// TestVitals reads the claims of a known page in real browsers. The pixels prove the frame in which
// the largest paint was seen, whatever the load of the machine.
func TestVitals(t *testing.T) {
	t.Parallel()
	for _, browser := range []string{"chromium", "firefox"} {
		t.Run(browser, func(t *testing.T) {
			t.Parallel()
			d := theLocalDevice(t)
			needBrowsers(t, browser)
			takeTurn(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/own.js" {
					w.Header().Set("Content-Type", "text/javascript")
					fmt.Fprint(w, "var own = 1;")
					return
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, claiming)
			}))
			t.Cleanup(server.Close)
			test, err := Gestures{Click: []string{"400,500"}}.Test(server.URL + "/")
			if err != nil {
				t.Fatal(err)
			}
			test.Steps = slices.Insert(test.Steps, 0, suite.Step{Action: suite.Wait{Colour: &suite.Colour{B: 255},
				In: frame.Region{X: 710, Y: 550, Width: 20, Height: 20}, Timeout: time.Minute}})
			test.Window, test.Measures, test.Vitals = suite.Size{Width: 800, Height: 600}, []string{"response"}, true
			set, err := RunSet(t.Context(), SetOptions{Test: test, Variants: []Variant{{Device: d, Browser: browser}},
				Repeat: 1, Retries: 3, Dir: filepath.Join(t.TempDir(), "set"), Program: "test", Seed: 1, MaxLost: 0.5,
				NoPictures: true, NoVideo: true, Progress: untold{}})
			if err != nil || len(set.Of(0)) != 1 {
				t.Fatalf("%s, %v", reasons(set, 0), err)
			}
			made := set.Of(0)[0]
			if made.Record.Environment[result.EnvVitals] == "" {
				t.Error("the environment does not tell that the page was observed")
			}
			checkClaims(t, browser, made.Found.Results.Vitals)
			checkSight(t, filepath.Join(set.Dir, runfolder.RecordingFile), made.Found.Results.Vitals)
		})
	}
}

// checkClaims compares claims with the known ones.
func checkClaims(t *testing.T, browser string, c *vitals.Claims) {
	t.Helper()
	if c == nil || c.Result.Refusal != "" {
		t.Fatalf("claims %+v", c)
	}
	for name, want := range map[string][2]float64{
		"lcp": {500, 60_000}, "cls": {shift - 1e-4, shift + 1e-4}, "inp": {80, 60_000}, "ttfb": {0, 60_000},
		"long_tasks": {2, 1000}, "long_task_time": {198, 60_000}, "console_errors": {2, 2}, "requests": {2, 2},
		"bytes": {float64(len(claiming)), float64(len(claiming) + 2000)}, "lcp_seen": {0, 60_000},
		"lcp_difference": {-60_000, 60_000},
	} {
		v, ok := c.Result.Find(name)
		if browser == "firefox" && slices.Contains([]string{"cls", "inp", "long_tasks", "long_task_time"}, name) {
			if v.State != measure.Refused || v.Note == "" {
				t.Errorf("%s: %+v: firefox now offers it; test its value", name, v)
			}
			continue
		}
		if !ok || v.State == measure.Refused || v.Value < want[0] || v.Value > want[1] ||
			!(v.Low <= v.Value && v.Value <= v.High) {
			t.Errorf("%s is %+v, want %v", name, v, want)
		}
	}
	if got := strings.Join(c.Errors, "; "); !strings.HasPrefix(got, "known error 7; ") ||
		!strings.HasSuffix(got, "known exception") {
		t.Errorf("errors %q", got)
	}
	if len(c.Timings) != 2 || c.Timings[0].Name != "begun" || c.Timings[1].Name != "until hero" ||
		c.Timings[1].LastMS == nil || *c.Timings[1].LastMS < 499 {
		t.Fatalf("timings %+v", c.Timings)
	}
	made := c.Timings[1].AtMS + *c.Timings[1].LastMS // the text, up to 1 ms before this by rounding
	if seen, _ := c.Result.Find("lcp_seen"); seen.High < made-1 {
		t.Errorf("seen by %g ms, made at %g ms", seen.High, made)
	}
	if len(c.ByType) != 2 || c.ByType[0].Name != "document" || c.ByType[1].Name != "script" ||
		len(c.ByDomain) != 1 || c.ByDomain[0].Requests != 2 {
		t.Errorf("traffic %v, %v", c.ByType, c.ByDomain)
	}
	if c.Element != "h1#hero" || !strings.HasPrefix(c.Sentence, "The page claims its largest paint after ") {
		t.Errorf("%s: %q", c.Element, c.Sentence)
	}
}

// checkSight looks for the black text in the frame in which it was seen, and in the frame before.
func checkSight(t *testing.T, file string, c *vitals.Claims) {
	t.Helper()
	seen, _ := c.Result.Find("lcp_seen")
	if len(seen.Frames) != 1 || len(c.Region) != 4 || math.Abs(float64(c.Region[0]-100)) > 1 {
		t.Fatalf("seen %+v in %v", seen, c.Region)
	}
	r, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n, want := range map[int]bool{seen.Frames[0] - 1: false, seen.Frames[0]: true} {
		img, err := r.Image(n)
		if err != nil {
			t.Fatal(err)
		}
		picture, black := frame.NewConverter(img.Layout).Picture(img), false
		for y := c.Region[1]; y < c.Region[1]+c.Region[3]; y++ {
			for x := c.Region[0]; x < c.Region[0]+c.Region[2]; x++ {
				red, green, blue, _ := picture.At(x, y).RGBA()
				black = black || red+green+blue < 0x3000
			}
		}
		if black != want {
			t.Errorf("frame %d has black text: %v", n, black)
		}
	}
}

// TestVitalsOnDevices: vitals that cannot be read are refused before the start.
//
// Fault: --vitals for a device whose browser this machine does not start
func TestVitalsOnDevices(t *testing.T) {
	here := local{device.Description{Name: "local", Source: device.Virtual, Browsers: []string{"chromium", "firefox"}}}
	phone := described{device.Description{Name: "phone", Source: "v4l2:/dev/video9", Browsers: []string{"chrome"}}}
	desk := described{device.Description{Name: "desk", Source: "x11::0", Browsers: []string{"chromium"},
		Input: device.Input{Kind: device.InputX11, Target: ":0"}}}
	plain, starts, replayed := URLTest("http://127.0.0.1:1/"), URLTest("about:blank"), URLTest("http://127.0.0.1:1/")
	starts.Steps = []suite.Step{{Action: suite.Launch{}}}
	replayed.Network = suite.Network{Profile: "cable"}
	for name, tc := range map[string]struct {
		test *suite.Test
		on   Variant
		want string
	}{
		"here":    {plain, Variant{Device: here}, ""},
		"firefox": {plain, Variant{Device: here, Browser: "firefox"}, ""},
		"network": {replayed, Variant{Device: here, Browser: "chromium"}, ""},
		"network, firefox": {replayed, Variant{Device: here, Browser: "firefox"},
			"firefox on a test network has no vitals"},
		"phone":  {plain, Variant{Device: phone}, "device phone: vitals need a browser on a virtual display"},
		"desk":   {plain, Variant{Device: desk}, "device desk: vitals need a browser on a virtual display"},
		"launch": {starts, Variant{Device: here}, "vitals cannot be read if the test starts the browser"},
	} {
		tc.test.Vitals = true
		err := CheckLive(tc.test, tc.on)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := &run{Options: Options{Test: plain, Device: here, Untrusted: true}}
	if _, err := r.prepare(t.Context()); !errors.Is(err, ErrUntrustedVitals) {
		t.Errorf("untrusted: %v", err)
	}
}

// TestClaimsAsPrimary: a test with vitals may compare by them, also if it names its measures.
func TestClaimsAsPrimary(t *testing.T) {
	test := URLTest("http://127.0.0.1:1/")
	for _, measures := range [][]string{nil, {"fps"}} {
		for name, want := range map[string]string{"vitals.lcp_seen": "", "vitals.fcpp": "is not a value of vitals"} {
			test.Measures, test.Vitals = measures, true
			if err := test.CheckValue(name, Known()); (err == nil) != (want == "") ||
				err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
			test.Vitals = false
			err := test.CheckValue(name, Known())
			if err == nil || !strings.Contains(err.Error(), "no measure vitals") {
				t.Errorf("%s without vitals: %v", name, err)
			}
		}
	}
}

// claimant is a page that answers expressions after some time.
type claimant struct {
	inspect.Page
	clock   *stepped
	answers map[string][]string // of an expression, in order; the last one stays
	takes   timeline.Time
}

func (c *claimant) Evaluate(ctx context.Context, expression string) (string, error) {
	c.clock.at += c.takes
	c.takes = max(c.takes/2, 1_000_000)
	all := c.answers[expression]
	if len(all) > 1 {
		c.answers[expression] = all[1:]
	}
	if len(all) == 0 {
		return "", context.Cause(ctx)
	}
	return all[0], nil
}

// TestPageClock: the shortest reading gives the page's origin, and an impossible clock none.
func TestPageClock(t *testing.T) {
	const claims = `{"width": 800, "height": 600}`
	for name, tc := range map[string]struct {
		answer string
		clock  []string
		want   string
	}{
		"good":       {claims, []string{"100"}, ""},
		"impossible": {claims, []string{"100", "-5"}, `the page's clock has the time "-5"`},
		"not a time": {claims, []string{"soon"}, `the page's clock has the time "soon"`},
		"endless":    {claims, []string{"1e300"}, `the page's clock has the time "1e300"`},
		"nothing":    {"", []string{"100"}, "read the page's claims"},
	} {
		page := &claimant{clock: &stepped{5_000_000_000}, takes: 64_000_000,
			answers: map[string][]string{vitals.Answer: {tc.answer}, vitals.Clock: tc.clock}}
		c := readPage(t.Context(), page, page.clock)
		if (c.err == nil) != (tc.want == "") || c.err != nil && !strings.Contains(c.err.Error(), tc.want) {
			t.Errorf("%s: %v", name, c.err)
		}
		if width := c.origin.Width(); c.err == nil && (width != 2*clockCoarse+1_000_000 ||
			c.origin.Earliest > page.clock.at-100_000_000) {
			t.Errorf("%s: origin %v, %v wide", name, c.origin, width)
		}
		if got := c.compare(&runfolder.Found{}, nil, &take{}); (got.Result.Refusal == "") != (tc.want == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestHiddenRequests: a test network that sees no requests does not replace those of the page.
func TestHiddenRequests(t *testing.T) {
	page, err := vitals.Read(`{"width": 800, "height": 600, "resources": [{"initiator": "img", "bytes": 5}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for hidden, want := range map[bool]float64{false: 0, true: 1} {
		c := &pageClaims{page: page}
		got := c.compare(&runfolder.Found{}, nil, &take{traffic: &traffic{fall: &har.Waterfall{}, hidden: hidden}})
		v, ok := got.Result.Find("requests")
		if !ok || v.Value != want || (v.Note == vitals.FromNetwork) == hidden {
			t.Errorf("hidden %v: %+v", hidden, v)
		}
	}
}
