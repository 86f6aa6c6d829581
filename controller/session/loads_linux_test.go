package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
)

// colours serves pages of one colour each, /0f3c7d, and writes down which were asked for.
type colours struct {
	*httptest.Server
	script string // of each page
	mu     sync.Mutex
	asked  []string
}

func serveColours(t *testing.T) *colours {
	c := &colours{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if len(name) != 6 {
			http.NotFound(w, r) // an icon
			return
		}
		if r.Method == http.MethodGet { // the run itself asks whether it could be reached
			c.mu.Lock()
			c.asked = append(c.asked, name)
			c.mu.Unlock()
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>%s</title><style>html { background: #%[1]s }</style><script>%s</script>`,
			name, c.script)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *colours) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

var background = regexp.MustCompile(`background: #([0-9a-f]{3,6})`)

// colourOf goes to a page and returns what it is full of.
func colourOf(address string) (rgb uint32, err error) {
	r, err := http.Get(address)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close() // was only read
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err
	}
	m := background.FindStringSubmatch(string(body))
	if m == nil {
		return 0, fmt.Errorf("%s has no colour", address)
	}
	text := m[1]
	if len(text) == 3 {
		text = string([]byte{text[0], text[0], text[1], text[1], text[2], text[2]})
	}
	v, err := strconv.ParseUint(text, 16, 32)
	return uint32(v), err
}

// needProgram skips a test on a developer's machine where a program is missing; the build machine
// has it.
func needProgram(t *testing.T, err error) {
	t.Helper()
	var missing *device.MissingError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skipf("%v: nothing is played", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// needBrowsers skips a test with -short. Without CI, it also skips a test whose display or browser
// is not installed.
func needBrowsers(t *testing.T, browsers ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	programs := []string{"Xvfb"}
	for _, b := range browsers {
		programs = append(programs, map[string]string{"chromium": "chromium", "firefox": "firefox-esr"}[b])
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v: nothing is started", err)
		}
	}
}

// turns bounds the parallel tests with a browser: a busy machine loses frames, and Firefox keys.
var turns = make(chan struct{}, 2)

// takeTurn waits until the test may start a browser. It has its turn until its end.
func takeTurn(t *testing.T) {
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

// counted makes a run. A busy machine may reject it, or miss the figures of its link. Such a run is
// made again, as sets and the demo do.
func counted(t *testing.T, o Options) (record *Record, found *runfolder.Found, err error) {
	t.Helper()
	for range 3 {
		if record, found, err = Run(t.Context(), o); err != nil ||
			record.State != Rejected && !strings.HasPrefix(record.Reason, NotAsAsked) {
			break
		}
		t.Log(record.Reason)
		if err := os.RemoveAll(o.Dir); err != nil {
			t.Fatal(err)
		}
	}
	return record, found, err
}

// TestLoadsByTheAddressBar goes to two addresses, as a user does. The first page is busy, so the
// browser opens the address bar later. The address must be typed after that. Measures look below
// the bars. With EIDETICKER_SOAK, Firefox runs too; TestUntrustedTest types into its bar.
func TestLoadsByTheAddressBar(t *testing.T) {
	t.Parallel()
	browsers := []string{"chromium"}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		browsers = append(browsers, "firefox")
	}
	for _, browser := range browsers {
		t.Run(browser, func(t *testing.T) {
			t.Parallel()
			d := theLocalDevice(t)
			needBrowsers(t, browser)
			takeTurn(t)
			server := serveColours(t)
			server.script = `addEventListener("keydown", e => {
	if (e.key !== "Control") return;
	const over = performance.now() + 2000;
	while (performance.now() < over);
});`
			o := options(t, d)
			o.Browser, o.NoPictures = browser, true
			o.Test = readTest(t, fmt.Sprintf(`name: two
url: about:blank
end: still 1s
timeout: 4m
window: 800x600
measures: [fps, loadhist]
steps:
  - load: %[1]s/2040c0
  - wait: {colour: "#2040c0", timeout: 1m}
  - load: %[1]s/8020a0
  - wait: {colour: "#8020a0", timeout: 1m}
`, server.URL))
			before, after := 0, 0 // how much was asked for before the last attempt, and up to its end
			o.Observer.Recorded = func(recorder.Result) { before, after = after, len(server.seen()) }
			record, found, err := counted(t, o)
			if err != nil || record.State != Passed {
				t.Fatalf("%s: %s, %v", record.State, record.Reason, err)
			}
			if got := server.seen()[before:]; !slices.Equal(got, []string{"2040c0", "8020a0"}) {
				t.Errorf("asked for %q", got)
			}
			if record.Area[1] < 20 || record.Area[0] != 0 || record.Area[2] != 800 ||
				record.Area[1]+record.Area[3] != 600 {
				t.Errorf("the content is at %v: there is no room for an address bar above it, "+
					"or it is not all that is below", record.Area)
			}
			if env := found.Results.Environment[result.EnvInput]; env != "x11, system" {
				t.Errorf("input %q", env)
			}
			if n := count(t, o.Dir, controller.EventSource, controller.Navigation); n != 2 {
				t.Errorf("%d events of navigation", n)
			}
		})
	}
}

// count returns how many events of a kind a run's recording has.
func count(t *testing.T, dir, source, kind string) (n int) {
	t.Helper()
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, e := range r.Events() {
		if e.Source == source && e.Kind == kind {
			n++
		}
	}
	return n
}

// TestInputOfTheBrowser: a page is clicked, typed into and left by WebDriver BiDi. All results
// state the realism of that input.
func TestInputOfTheBrowser(t *testing.T) {
	t.Parallel()
	d, err := devices(t, "local: {source: x11, input: webdriver, browsers: [firefox]}\n").Find("local")
	if err != nil {
		t.Fatal(err)
	}
	needBrowsers(t, "firefox")
	takeTurn(t)
	server := serveColours(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>keys</title><style>html { background: #2040c0 }</style><script>
let clicked = false;
addEventListener("click", e => clicked = e.clientX === 400 && e.clientY === 300);
addEventListener("keydown", e => {
	if (clicked && e.key === "q") document.documentElement.style.background = "#8020a0";
});
</script>`)
	}))
	defer page.Close()
	o := options(t, d)
	o.Test = readTest(t, fmt.Sprintf(`name: page
url: %s/
end: still 1s
timeout: 5m
window: 800x600
measures: [fps]
steps:
  - wait: {colour: "#2040c0", timeout: 2m}
  - click: [400, 300]
  - text: q
  - wait: {colour: "#8020a0", timeout: 2m}
  - load: %s/10a0a0
  - wait: {colour: "#10a0a0", timeout: 2m}
`, page.URL, server.URL))
	record, found, err := counted(t, o)
	if err != nil || record.State != Passed {
		t.Fatalf("%s: %s, %v", record.State, record.Reason, err)
	}
	if record.Input == nil || record.Input.Realism != input.Page ||
		!strings.Contains(record.Input.Note, "less realistic") {
		t.Errorf("run.json says of the input %+v", record.Input)
	}
	if env := found.Results.Environment[result.EnvInput]; !strings.HasPrefix(env, "webdriver, page: less realistic") {
		t.Errorf("the results say of the input %q", env)
	}
	html, err := os.ReadFile(filepath.Join(o.Dir, runfolder.PageFile))
	if err != nil || !strings.Contains(string(html), "webdriver, page: less realistic") {
		t.Errorf("the report does not say how real the input is: %v", err)
	}
	var kept Record
	raw, err := os.ReadFile(filepath.Join(o.Dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &kept); err != nil ||
		!strings.HasPrefix(kept.Environment[result.EnvInput], "webdriver, page") {
		t.Errorf("%s, %v", raw, err)
	}
	if got := server.seen(); !slices.Equal(got, []string{"10a0a0"}) {
		t.Errorf("asked for %q", got)
	}
}

// TestBrowserThatTakesNoInput says what else there is.
func TestBrowserThatTakesNoInput(t *testing.T) {
	t.Parallel()
	d := local{device.Local()}
	d.Input = device.Input{Kind: device.InputWebdriver}
	needBrowsers(t, "chromium")
	takeTurn(t)
	o := options(t, d)
	o.Browser = "chromium"
	record, _, err := Run(t.Context(), o)
	if err != nil || record.State != Failed || !strings.Contains(record.Reason, "use firefox") {
		t.Errorf("%s: %s, %v", record.State, record.Reason, err)
	}
}

// TestUntrustedTest records tests that load a service of this machine by name and then type the
// address of a file. An untrusted test must show neither. With EIDETICKER_SOAK, a test of one's own
// shows both; the device's TestUntrustedTests has that control too.
//
// Fault: A page, script or typed address that leads to a service of the box
// Fault: A test that opens files, file dialogs or developer tools in the browser
func TestUntrustedTest(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 && device.SandboxWarning() == "" {
		t.Error("root has no sandbox, and there is no warning")
	}
	for _, tc := range []struct {
		browser, name      string
		untrusted, allowed bool
		visible, invisible []string // colours that are waited for, and not
	}{
		{"chromium", "own", false, false, []string{"2040c0", "8020a0"}, nil},
		{"chromium", "untrusted", true, false, nil, []string{"2040c0"}},
		{"firefox", "allowed", true, true, []string{"2040c0"}, []string{"8020a0"}},
	} {
		if !tc.untrusted && os.Getenv("EIDETICKER_SOAK") == "" {
			continue
		}
		t.Run(tc.browser+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			needBrowsers(t, tc.browser)
			takeTurn(t)
			file := filepath.Join(t.TempDir(), "secret.html")
			if err := os.WriteFile(file, []byte(`<!doctype html><style>html { background: #8020a0 }</style>`),
				0o600); err != nil {
				t.Fatal(err)
			}
			service := serveColours(t)
			o := options(t, theLocalDevice(t))
			o.Browser, o.Untrusted, o.AllowLoopback, o.NoPictures = tc.browser, tc.untrusted, tc.allowed, true
			patience := map[string]string{"2040c0": "1m", "8020a0": "1m"}
			for _, colour := range tc.invisible {
				patience[colour] = "10s"
			}
			o.Test = readTest(t, fmt.Sprintf(`name: typed
url: about:blank
end: still 1s
timeout: 5m
window: 800x600
places: screen
measures: [fps]
steps:
  - load: %s/2040c0
  - wait: {colour: "#2040c0", in: 800x400+0+150, timeout: %s}
  - wait: {still: 500ms, timeout: 1m}
  - key: Control+L
  - wait: {change: 400x36+200+44, timeout: 1m}
  - wait: {still: 500ms, timeout: 1m}
  - text: "file://%s\n"
  - wait: {colour: "#8020a0", in: 800x400+0+150, timeout: %s}
`, strings.Replace(service.URL, "127.0.0.1", "localhost", 1), patience["2040c0"], file, patience["8020a0"]))
			record, _, err := counted(t, o)
			if err != nil {
				t.Fatal(err)
			}
			if (record.State == Passed) != (tc.invisible == nil) {
				t.Errorf("%s: %s", record.State, record.Reason)
			}
			warned := slices.ContainsFunc(record.Notes,
				func(n string) bool { return strings.Contains(n, "without its sandbox") })
			if want := tc.browser == "chromium" && device.SandboxWarning() != ""; warned != want {
				t.Errorf("notes are %q; want a warning of the sandbox: %v", record.Notes, want)
			}
			for _, colour := range tc.invisible {
				if !strings.Contains(record.Reason, colour) {
					t.Errorf("%s: %s; want that %s was not seen", record.State, record.Reason, colour)
				}
			}
			if reached := len(service.seen()) > 0; reached != slices.Contains(tc.visible, "2040c0") {
				t.Errorf("the service was asked for %q", service.seen())
			}
		})
	}
}
