package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/suite"
)

// planted is a page whose script moves a bar. In the middle a slow function keeps the page still.
// The page measures that function itself. Each picture stays for some animation frames. The square
// turns blue at the end.
const planted = `<!doctype html><title>planted</title><link rel="icon" href="data:,"><style>
html { background: #fff }
p { position: absolute; left: 0; top: 100px; width: 10px; height: 200px; margin: 0; background: #c22 }
i { position: absolute; left: 700px; top: 400px; width: 40px; height: 40px }
</style><p></p><i></i><script src="/app.js?every=%[1]d&amp;steps=%[2]d&amp;busy=%[3]d"></script>`

// plantedScript is its script. Its second function is the slow one. It has work for some time: on a
// busy machine, samples would not show a function that only waits for the clock.
const plantedScript = `"use strict";
const bar = document.querySelector("p"), now = performance.now.bind(performance);
function slow(ms) {
	const begun = now();
	let at = begun, x = 1;
	for (let n = 0; n < 5000 || at - begun < ms; n++) {
		for (let i = 0; i < 10000; i++) x = x * 31 + i | 0;
		at = now();
	}
	return at - begun;
}
function step(n) { bar.style.width = 10 + 10 * n + "px"; }
let frames = 0, sent = Promise.resolve();
function frame() {
	const n = Math.floor(++frames / %[1]d);
	if (n > %[2]d) {
		sent.then(() => { document.querySelector("i").style.background = "#00f"; });
		return;
	}
	step(n);
	if (frames === Math.floor(%[1]d * %[2]d / 2) && %[3]d > 0) {
		const before = now();
		const inside = slow(%[3]d);
		const outside = now() - before;
		sent = fetch("/truth", { method: "POST", body: JSON.stringify({ inside, outside }) });
		setTimeout(() => { throw new Error("planted 7"); });
	}
	requestAnimationFrame(frame);
}
setTimeout(() => requestAnimationFrame(frame), 500);
`

// held is the time for which the server holds the response to the page's measurement.
const held = 150 * time.Millisecond

// plantedServer serves that page, and takes its own measurement.
type plantedServer struct {
	*httptest.Server
	mu    sync.Mutex
	truth []struct{ Inside, Outside float64 } // ms
	hosts []string                            // that requests name
}

func servePlanted(t *testing.T, every, steps, busy int) *plantedServer {
	s := &plantedServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if !slices.Contains(s.hosts, r.Host) {
			s.hosts = append(s.hosts, r.Host)
		}
		s.mu.Unlock()
		switch r.URL.Path {
		case "/app.js":
			s.mu.Lock()
			s.truth = nil // of a run that was rejected
			s.mu.Unlock()
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprintf(w, plantedScript, every, steps, busy)
		case "/truth":
			raw, err := io.ReadAll(r.Body)
			var one struct{ Inside, Outside float64 }
			if err == nil {
				err = json.Unmarshal(raw, &one)
			}
			if err != nil {
				t.Error(err)
			}
			s.mu.Lock()
			s.truth = append(s.truth, one)
			s.mu.Unlock()
			time.Sleep(held)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, planted, every, steps, busy)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// needNetwork skips a test without the privileges for a network of its own. Under CI it fails.
func needNetwork(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a network of its own needs root")
	}
}

// playScripts runs a test of a page in a browser. site is the folder of a site; "": none.
func playScripts(t *testing.T, test *suite.Test, browser, site string) (*Made, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	set, err := RunSet(t.Context(), SetOptions{Test: test,
		Variants: []Variant{{Device: theLocalDevice(t), Browser: browser, Site: site}}, Repeat: 1,
		Retries: 3, Dir: dir, Program: "test", Seed: 1, MaxLost: 0.5, NoPictures: true, NoVideo: true,
		Progress: untold{}})
	if err != nil || len(set.Of(0)) != 1 {
		t.Fatalf("%s, %v", reasons(set, 0), err)
	}
	return set.Of(0)[0], set.Dir
}

// plantedTest plays the page over a link until the square is blue.
func plantedTest(t *testing.T, address string, policies string) *suite.Test {
	t.Helper()
	test := plantedNear(t, address+"/", policies)
	test.Network = test.Network.On("3g")
	return test
}

// plantedNear plays the page without a network.
func plantedNear(t *testing.T, address string, policies string) *suite.Test {
	t.Helper()
	text := "name: planted\nurl: " + address + "\nend: event blue\nwindow: 800x450\nmeasures: [fps]\n" +
		"steps: [{wait: {colour: \"#0000ff\", in: 30x30+705+405, timeout: 1m}}, {mark: blue}]\n"
	if policies != "" {
		text += "script: " + policies + "\n"
	}
	test, err := suite.Parse("planted.yaml", []byte(text), Known())
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// TestScriptsNameTheSlowFunction: in real browsers, behind a link, the result names the function
// that kept the screen still. Its bounds hold the time that the page measured itself. Firefox runs
// with EIDETICKER_SOAK, and the standard test stutter.
func TestScriptsNameTheSlowFunction(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	browsers := []string{"chromium"}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		browsers = append(browsers, "firefox")
	}
	for _, browser := range browsers {
		t.Run(browser, func(t *testing.T) {
			t.Parallel()
			needBrowsers(t, browser)
			takeTurn(t)
			server := servePlanted(t, 1, 60, 400)
			made, dir := playScripts(t, plantedTest(t, server.URL, "[calls, errors]"), browser, "")
			s := made.Found.Results.Script
			if s == nil {
				t.Fatal("no script in the results")
			}
			if made.Record.Environment[result.EnvScript] != "calls, errors" {
				t.Errorf("environment %v", made.Record.Environment)
			}
			checkPlanted(t, server, s)
			checkScriptFolder(t, dir, made, s)
		})
	}
}

func checkPlanted(t *testing.T, server *plantedServer, s *result.Script) {
	t.Helper()
	server.mu.Lock()
	truth := slices.Clone(server.truth)
	server.mu.Unlock()
	if len(truth) != 1 {
		t.Fatalf("the page measured itself %d times", len(truth))
	}
	i := slices.IndexFunc(s.Functions, func(f result.Function) bool { return f.Name == "slow" })
	if i < 0 {
		t.Fatalf("functions %+v, warnings %q, plain %+v", s.Functions, s.Warnings, s.Plain)
	}
	f := s.Functions[i]
	if f.Calls != 1 || f.Line != 3 || !strings.HasSuffix(f.URL, "/app.js") || f.Self.Low > truth[0].Outside*1e6 ||
		f.Self.High < truth[0].Inside*1e6 || f.Self.Low < 0.9*truth[0].Inside*1e6 {
		t.Errorf("%+v, and the page measured %+v ms", f, truth[0])
	}
	if i != 0 {
		t.Errorf("slow is function %d by self time", i)
	}
	// The frame before may have appeared while the function ran. It is then before two late ones.
	own := func(l result.LateFrame) float64 {
		if len(l.Functions) == 0 || l.Functions[0].Function != i {
			return -1
		}
		return l.Functions[0].Self.High
	}
	l := slices.MaxFunc(append(slices.Clone(s.Late), result.LateFrame{}), func(a, b result.LateFrame) int {
		return cmp.Compare(own(a), own(b))
	})
	if own(l) < 0 {
		t.Fatalf("late %+v, clock %d ns", s.Late, s.ClockNS)
	}
	lasted := float64(l.ToNS - l.FromNS)
	if ran := l.Functions[0].Self; ran.High < truth[0].Inside*1e6/2 || ran.Low > min(lasted, truth[0].Outside*1e6) {
		t.Errorf("%+v lasted %.0f ns, and the page measured %+v ms", l, lasted, truth[0])
	}
	var told []string
	for _, e := range s.Errors {
		told = append(told, e.Kind+" "+e.Message)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "error ") || !strings.Contains(told[0], "planted") ||
		strings.Contains(told[0], "7") {
		t.Errorf("errors %q", told)
	}
	k := slices.IndexFunc(s.Requests, func(q result.SlowRequest) bool { return strings.HasSuffix(q.URL, "/truth") })
	if k < 0 {
		t.Errorf("requests %+v", s.Requests)
	} else if q := s.Requests[k]; q.By != "fetch" || q.WaitNS < int64(held) || q.TookNS < q.WaitNS ||
		q.BeginNS < l.FromNS || q.BeginNS > l.ToNS+int64(time.Second) {
		t.Errorf("%+v after %+v", q, l)
	}
	// frame and step ran once for each picture
	for name, least := range map[string]int64{"frame": 61, "step": 60} {
		k := slices.IndexFunc(s.Functions, func(f result.Function) bool { return f.Name == name })
		if k < 0 || s.Functions[k].Calls < least || s.Functions[k].Calls > least+2 {
			t.Errorf("%s: %+v", name, s.Functions)
		}
	}
}

// measuredAgain measures the recording of a run folder again, with the run's data.
func measuredAgain(t *testing.T, dir string, r *recording.Reader) (*Earlier, *runfolder.Found) {
	t.Helper()
	e, err := ReadEarlier(t.Context(), filepath.Join(dir, runfolder.RecordingFile), r)
	if err != nil {
		t.Fatal(err)
	}
	found, err := runfolder.Run(t.Context(), r, runfolder.Settings{Measures: []string{"fps"}, EndEvent: "end",
		Name: e.Name()}, "test", untold{})
	if err != nil {
		t.Fatal(err)
	}
	e.Keep(found)
	return e, found
}

// checkScriptFolder checks the files of the run, its events and its network.
func checkScriptFolder(t *testing.T, dir string, made *Made, s *result.Script) {
	t.Helper()
	dir = filepath.Join(dir, made.Dir)
	r := opened(t, filepath.Join(dir, runfolder.RecordingFile))
	seen := map[string]int{}
	for _, e := range r.Events() {
		if e.Source == scripts.EventSource {
			seen[e.Kind]++
		}
	}
	if seen[scripts.ErrorEvent] != 1 || seen[scripts.TaskEvent] < 20 {
		t.Errorf("events %v", seen)
	}
	e, found := measuredAgain(t, dir, r)
	if again := found.Results.Script; again == nil || len(again.Functions) != len(s.Functions) ||
		again.Records != s.Records {
		t.Errorf("again: %+v", again)
	}
	for _, request := range made.Found.Results.Network.List {
		if strings.Contains(request.URL, ".eideticker") {
			t.Errorf("the waterfall has %s", request.URL)
		}
	}
	info := e.script.Info
	if info.Received.BytesUp < uint64(info.Received.Bytes) || info.Received.Bytes == 0 {
		t.Errorf("%d bytes went up beside the link, with records of %d", info.Received.BytesUp, info.Received.Bytes)
	}
	if up := made.Found.Results.Network.BytesUp; up > 100_000 {
		t.Errorf("the page sent %d bytes over the link", up)
	}
}

// TestScriptsKeepThePicture: an instrumented page has the pictures of the plain page, and no
// others.
// A busy machine may miss some of them in either run.
func TestScriptsKeepThePicture(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	needBrowsers(t, "chromium")
	takeTurn(t)
	const steps = 10
	server := servePlanted(t, 12, steps, 0)
	seed := maphash.MakeSeed()
	var runs [2]map[uint64]bool
	var last [2]uint64
	for i, policies := range []string{"", "[calls, errors]"} {
		made, dir := playScripts(t, plantedTest(t, server.URL, policies), "chromium", "")
		if s := made.Found.Results.Script; (s != nil) != (policies != "") {
			t.Fatalf("%s: script %+v", policies, s)
		}
		runs[i], last[i] = pictures(t, seed, opened(t, filepath.Join(dir, made.Dir, runfolder.RecordingFile)),
			&made.Found.Results.Windows[0])
	}
	all := maps.Clone(runs[0])
	maps.Copy(all, runs[1])
	const drawn = steps + 2 // the first one, and the blue square
	if len(all) > drawn || min(len(runs[0]), len(runs[1])) < drawn/2 || last[0] != last[1] {
		t.Errorf("%d pictures in all, %d plain, %d instrumented, want %d; the last ones are %x and %x", len(all),
			len(runs[0]), len(runs[1]), drawn, last[0], last[1])
	}
}

// pictures returns the hashes of a window's pictures, and of the last one.
func pictures(t *testing.T, seed maphash.Seed, r *recording.Reader, w *result.Window) (map[uint64]bool, uint64) {
	t.Helper()
	all, last := map[uint64]bool{}, uint64(0)
	for n := w.Start; n <= w.End; n++ {
		img, err := r.Image(n)
		if err != nil {
			t.Fatal(err)
		}
		last = maphash.Bytes(seed, frame.NewConverter(img.Layout).Picture(img).Pix)
		all[last] = true
	}
	return all, last
}

// TestScriptsOfArchives: scripts of a replayed site are instrumented on all its names, with TLS.
// Scripts that do not parse are served as they are, and listed.
func TestScriptsOfArchives(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	needBrowsers(t, "chromium")
	takeTurn(t)
	dir := fstest.MapFS{"shop.har": {Data: archiveOf(t,
		[3]string{"https://shop.example/", "text/html", `<!doctype html><title>Shop</title>` +
			`<body style="background: #eef"><link rel="icon" href="data:,"><h1>Shop</h1>` +
			`<script src="https://cdn.example/a.js?v=1"></script>` +
			square + `<script src="/broken.js"></script><script>function inline() { outside(); }; inline();</script>`},
		[3]string{"https://cdn.example/a.js?v=1", "text/javascript",
			"function outside() { document.querySelector('i').style.background = '#00f'; }"},
		[3]string{"https://shop.example/broken.js", "text/javascript", "function (\n"})}}
	test := shopTest(t, dir, "https://shop.example/", "{rtt: 40ms, replay: shop.har}")
	test.Script.Policies = []string{"calls", "errors"}
	made, _ := playScripts(t, test, "chromium", "")
	s := made.Found.Results.Script
	if s == nil || len(s.Realms) != 1 || s.Realms[0].URL != "https://shop.example/" {
		t.Fatalf("%+v", s)
	}
	calls := map[string]string{}
	for _, f := range s.Functions {
		calls[f.Name] = fmt.Sprint(f.URL, " ", f.Calls)
	}
	if calls["outside"] != "https://cdn.example/a.js 1" || calls["inline"] != "https://shop.example/ 1" {
		t.Errorf("functions %q", calls)
	}
	if len(s.Plain) != 1 || !strings.HasSuffix(s.Plain[0].URL, "/broken.js") || s.Plain[0].Reason == "" {
		t.Errorf("plain %+v", s.Plain)
	}
	if len(s.Errors) != 1 || !strings.Contains(s.Errors[0].Message, "SyntaxError") {
		t.Errorf("errors %+v", s.Errors)
	}
	if replayed := made.Record.Network.Replay; replayed == nil || replayed.Exact != 3 {
		t.Errorf("replayed %+v", replayed)
	}
}
