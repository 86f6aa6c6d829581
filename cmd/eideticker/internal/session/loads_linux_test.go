package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// colours serves pages of one colour each, /0f3c7d, and writes down which were asked for.
type colours struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
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
		fmt.Fprintf(w, `<!doctype html><title>%s</title><style>html { background: #%[1]s }</style>`, name)
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

// readTest reads a test file of this text.
func readTest(t *testing.T, text string) *suite.Test {
	t.Helper()
	test, err := suite.Parse("test.yaml", []byte(text), suite.Known{})
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// needProgram skips a test on a developer's machine where a program is missing; the build machine has it.
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

// needDisplay skips a test on a developer's machine where no display or browser can be started; the build machine has them.
func needDisplay(t *testing.T, d Device, browser string) {
	t.Helper()
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	s, err := d.Open(t.Context(), Wanted{Browser: browser})
	needProgram(t, err)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLoadsByTheAddressBar: a test goes to two addresses, one after the other, as a user does. Both are asked for, both are seen in pixels, and what is
// measured is below the bars.
func TestLoadsByTheAddressBar(t *testing.T) {
	for _, browser := range []string{"chromium", "firefox"} {
		t.Run(browser, func(t *testing.T) {
			d := theLocalDevice(t)
			needDisplay(t, d, browser)
			server := serveColours(t)
			o := options(t, d)
			o.Browser = browser
			o.Test = readTest(t, fmt.Sprintf(`name: two
url: about:blank
end: still 1s
timeout: 2m
window: 800x600
measures: [fps, loadhist]
steps:
  - load: %[1]s/2040c0
  - wait: {colour: "#2040c0", timeout: 30s}
  - load: %[1]s/8020a0
  - wait: {colour: "#8020a0", timeout: 30s}
`, server.URL))
			record, found, err := Run(t.Context(), o)
			if err != nil || record.State != Passed {
				t.Fatalf("%s: %s, %v", record.State, record.Reason, err)
			}
			if got := server.seen(); !slices.Equal(got, []string{"2040c0", "8020a0"}) {
				t.Errorf("asked for %q", got)
			}
			if record.Area[1] < 20 || record.Area[0] != 0 || record.Area[2] != 800 || record.Area[1]+record.Area[3] != 600 {
				t.Errorf("the content is at %v: there is no room for an address bar above it, or it is not all that is below", record.Area)
			}
			if env := found.Results.Environment[report.EnvInput]; env != "x11, system" {
				t.Errorf("input %q", env)
			}
			if n := count(t, o.Dir, controller.EventSource, controller.Navigation); n != 2 {
				t.Errorf("%d events of navigation", n)
			}
		})
	}
}

// TestLoadsFromABusyPage: a page that is busy when the address bar is reached has the browser open that later. The address is typed when it is seen to be open.
func TestLoadsFromABusyPage(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>busy</title><style>html { background: #2040c0 }</style><script>
addEventListener("keydown", e => { if (e.key === "Control") { const over = performance.now() + 2000; while (performance.now() < over); } });
</script>`)
	}))
	defer page.Close()
	for _, browser := range []string{"chromium", "firefox"} {
		t.Run(browser, func(t *testing.T) {
			d := theLocalDevice(t)
			needDisplay(t, d, browser)
			server := serveColours(t)
			o := options(t, d)
			o.Browser, o.NoPictures = browser, true
			o.Test = readTest(t, fmt.Sprintf(`name: busy
url: about:blank
end: still 1s
timeout: 2m
window: 800x600
measures: [fps]
steps:
  - load: %s/
  - wait: {colour: "#2040c0", timeout: 30s}
  - load: %s/8020a0
  - wait: {colour: "#8020a0", timeout: 30s}
`, page.URL, server.URL))
			if record, _, err := Run(t.Context(), o); err != nil || record.State != Passed {
				t.Errorf("%s: %s, %v", record.State, record.Reason, err)
			}
			if got := server.seen(); !slices.Equal(got, []string{"8020a0"}) {
				t.Errorf("asked for %q", got)
			}
		})
	}
}

// count returns how many events of a kind a run's recording has.
func count(t *testing.T, dir, source, kind string) (n int) {
	t.Helper()
	r, err := recording.Open(filepath.Join(dir, analysis.RecordingFile))
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

// TestInputOfTheBrowser: by WebDriver BiDi a page is clicked, typed into and left, and everything that comes of it says how real that is.
func TestInputOfTheBrowser(t *testing.T) {
	d, err := devices(t, "local: {source: x11, input: webdriver, browsers: [firefox]}\n").Find("local")
	if err != nil {
		t.Fatal(err)
	}
	needDisplay(t, d, "firefox")
	server := serveColours(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>keys</title><style>html { background: #2040c0 }</style><script>
let clicked = false;
addEventListener("click", e => clicked = e.clientX === 400 && e.clientY === 300);
addEventListener("keydown", e => { if (clicked && e.key === "q") document.documentElement.style.background = "#8020a0" });
</script>`)
	}))
	defer page.Close()
	o := options(t, d)
	o.Test = readTest(t, fmt.Sprintf(`name: page
url: %s/
end: still 1s
timeout: 2m
window: 800x600
measures: [fps]
steps:
  - wait: {colour: "#2040c0", timeout: 30s}
  - click: [400, 300]
  - text: q
  - wait: {colour: "#8020a0", timeout: 30s}
  - load: %s/10a0a0
  - wait: {colour: "#10a0a0", timeout: 30s}
`, page.URL, server.URL))
	record, found, err := Run(t.Context(), o)
	if err != nil || record.State != Passed {
		t.Fatalf("%s: %s, %v", record.State, record.Reason, err)
	}
	if record.Input == nil || record.Input.Realism != input.Page || !strings.Contains(record.Input.Note, "less realistic") {
		t.Errorf("run.json says of the input %+v", record.Input)
	}
	if env := found.Results.Environment[report.EnvInput]; !strings.HasPrefix(env, "webdriver, page: less realistic") {
		t.Errorf("the results say of the input %q", env)
	}
	html, err := os.ReadFile(filepath.Join(o.Dir, analysis.PageFile))
	if err != nil || !strings.Contains(string(html), "webdriver, page: less realistic") {
		t.Errorf("the report does not say how real the input is: %v", err)
	}
	var kept Record
	raw, err := os.ReadFile(filepath.Join(o.Dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &kept); err != nil || !strings.HasPrefix(kept.Environment[report.EnvInput], "webdriver, page") {
		t.Errorf("%s, %v", raw, err)
	}
	if got := server.seen(); !slices.Equal(got, []string{"10a0a0"}) {
		t.Errorf("asked for %q", got)
	}
}

// TestBrowserThatTakesNoInput says what else there is.
func TestBrowserThatTakesNoInput(t *testing.T) {
	d := local{device.Local()}
	d.Input = device.Input{Kind: device.InputWebdriver}
	needDisplay(t, d, "chromium")
	o := options(t, d)
	o.Browser = "chromium"
	record, _, err := Run(t.Context(), o)
	if err != nil || record.State != Failed || !strings.Contains(record.Reason, "take firefox") {
		t.Errorf("%s: %s, %v", record.State, record.Reason, err)
	}
}

// TestForeignTestReadsNoFile films a test that types the address of a file of this machine: the file is seen in a run of one's own test, and not in that of another's.
func TestForeignTestReadsNoFile(t *testing.T) {
	for _, browser := range []string{"chromium", "firefox"} {
		for _, foreign := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/foreign=%v", browser, foreign), func(t *testing.T) {
				d := theLocalDevice(t)
				needDisplay(t, d, browser)
				file := filepath.Join(t.TempDir(), "secret.html")
				if err := os.WriteFile(file, []byte(`<!doctype html><style>html { background: #8020a0 }</style>`), 0o600); err != nil {
					t.Fatal(err)
				}
				o := options(t, d)
				o.Browser, o.Foreign, o.AllowLoopback = browser, foreign, true
				patience := "1m"
				if foreign {
					patience = "10s" // for what must not come
				}
				o.Test = readTest(t, fmt.Sprintf(`name: typed
url: about:blank
end: still 1s
timeout: 2m
window: 800x600
places: screen
measures: [fps]
steps:
  - load: %s/2040c0
  - wait: {colour: "#2040c0", in: 800x400+0+150, timeout: 1m}
  - wait: {still: 500ms, timeout: 1m}
  - key: Control+L
  - wait: {change: 800x80+0+0, timeout: 1m}
  - sleep: 500ms
  - text: "file://%s\n"
  - wait: {colour: "#8020a0", in: 800x400+0+150, timeout: %s}
`, serveColours(t).URL, file, patience))
				record, _, err := Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if read := record.State == Passed; read == foreign || foreign && !strings.Contains(record.Reason, "8020a0") {
					t.Errorf("%s: %s", record.State, record.Reason)
				}
			})
		}
	}
}

// TestForeignTestReachesNoService films a test that goes to a service of this machine by a name: it is seen in a run of one's own test, in that of
// another's where the rig's owner allows it, and not else. The green page before it, which is the run's own, is seen in all of them.
func TestForeignTestReachesNoService(t *testing.T) {
	for _, browser := range []string{"chromium", "firefox"} {
		for _, who := range []struct {
			name             string
			foreign, allowed bool
		}{{"own", false, false}, {"foreign", true, false}, {"allowed", true, true}} {
			t.Run(browser+"/"+who.name, func(t *testing.T) {
				d := theLocalDevice(t)
				needDisplay(t, d, browser)
				service := serveColours(t)
				o := options(t, d)
				o.Browser, o.Foreign, o.AllowLoopback = browser, who.foreign, who.allowed
				o.Test = readTest(t, fmt.Sprintf(`name: typed
url: about:blank
end: still 1s
timeout: 2m
window: 800x600
measures: [fps]
steps:
  - load: %s/8020a0
  - wait: {colour: "#8020a0", timeout: 10s}
`, strings.Replace(service.URL, "127.0.0.1", "localhost", 1)))
				record, _, err := Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				hidden := who.foreign && !who.allowed
				if hidden == (record.State == Passed) || hidden == (len(service.seen()) > 0) || hidden && !strings.Contains(record.Reason, "8020a0") {
					t.Errorf("%s: %s; asked for %q", record.State, record.Reason, service.seen())
				}
			})
		}
	}
}
