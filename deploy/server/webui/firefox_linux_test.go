package webui

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"
)

// firefox is a page of a rig in Firefox, driven by WebDriver BiDi.
type firefox struct {
	*testing.T
	ctx      context.Context
	conn     *websocket.Conn
	base     string // address of the rig; all requests must go there
	page     string // the browsing context
	calls    int
	problems []string
	addresses
}

var bidi = regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)

// startFirefox starts a browser without a window, which ends with the test with all that it has
// started.
func startFirefox(t *testing.T, base string) *firefox {
	t.Helper()
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Firefox is not installed")
		}
		t.Skip("Firefox is not installed (apt-get install firefox-esr)")
	}
	home, err := os.MkdirTemp("", "f") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", home, "--remote-debugging-port", "0", "--width",
		"1400", "--height", "1000", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group is there: its leader was not waited for
		_ = cmd.Wait()                                      // was killed
		for errors.Is(syscall.Kill(-cmd.Process.Pid, 0), nil) {
			runtime.Gosched() // the kernel is at it
		}
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	f := &firefox{T: t, ctx: ctx, base: base}
	f.connect(endpoint(t, bufio.NewScanner(out)))
	return f
}

// endpoint reads where a browser listens.
func endpoint(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	for lines.Scan() {
		if m := bidi.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // so that it never waits for us
				}
			}()
			return m[1] + "/session"
		}
	}
	t.Fatal("Firefox ended without an endpoint")
	return ""
}

// connect begins a session, in which the browser tells what it logs and what it asks for.
func (f *firefox) connect(url string) {
	f.Helper()
	var err error
	if f.conn, _, err = websocket.DefaultDialer.DialContext(f.ctx, url, nil); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = f.conn.Close() }) // the browser ends too
	deadline, _ := f.ctx.Deadline()
	_ = f.conn.SetReadDeadline(deadline) // of a connection that is open: cannot fail
	f.call("session.new", map[string]any{"capabilities": map[string]any{}})
	// The page that the browser begins with is left alone: it may come to be loaded at any time,
	// and goes before what is asked of it.
	var tab struct{ Context string }
	f.check(json.Unmarshal(f.call("browsingContext.create", map[string]any{"type": "tab"}), &tab))
	f.page = tab.Context
	f.call("session.subscribe", map[string]any{"events": []string{"log.entryAdded", "network.beforeRequestSent"},
		"contexts": []string{f.page}})
}

func (f *firefox) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// call has the browser do a command and fails the test if it cannot.
func (f *firefox) call(method string, params map[string]any) json.RawMessage {
	f.Helper()
	result, refusal := f.try(method, params)
	if refusal != "" {
		f.Fatalf("%s: %s", method, refusal)
	}
	return result
}

// try has the browser do a command and returns its result, or its error message. Events that arrive
// meanwhile are noted.
func (f *firefox) try(method string, params map[string]any) (result json.RawMessage, refusal string) {
	f.Helper()
	f.calls++
	f.check(f.conn.WriteJSON(map[string]any{"id": f.calls, "method": method, "params": params}))
	for {
		var said struct {
			ID              int
			Type            string
			Method, Message string
			Params          struct {
				Level, Text string
				Request     struct{ URL string }
			}
			Result json.RawMessage
		}
		f.check(f.conn.ReadJSON(&said))
		switch {
		case said.Type == "event" && said.Method == "log.entryAdded" && said.Params.Level != "debug" &&
			said.Params.Level != "info":
			f.problems = append(f.problems, "log "+said.Params.Level+": "+said.Params.Text)
		case said.Type == "event" && said.Method == "network.beforeRequestSent" && !f.own(said.Params.Request.URL):
			f.problems = append(f.problems, "request of "+said.Params.Request.URL)
		case said.Type == "error":
			return nil, said.Message
		case said.Type == "success" && said.ID == f.calls:
			return said.Result, ""
		}
	}
}

// own says whether an address is the rig's, or nobody's.
func (f *firefox) own(url string) bool {
	url = strings.TrimPrefix(strings.Replace(url, "ws://", "http://", 1), "blob:")
	// asks nobody; the browser's own video controls do
	return strings.HasPrefix(url, f.base+"/") || url == "about:blank" || strings.HasPrefix(url, "data:")
}

// eval returns what a script comes to as a boolean; it may be a promise.
func (f *firefox) eval(script string) bool {
	f.Helper()
	var got struct {
		Result           struct{ Value bool }
		ExceptionDetails struct{ Text string }
	}
	f.check(json.Unmarshal(f.call("script.evaluate", map[string]any{
		"expression": "(async () => Boolean(" + script + "))()", "target": map[string]any{"context": f.page},
		"awaitPromise": true,
	}), &got))
	if got.ExceptionDetails.Text != "" {
		f.Fatalf("%s: %s", script, got.ExceptionDetails.Text)
	}
	return got.Result.Value
}

// await waits until a script is true, which the browser looks at with every picture that it shows.
func (f *firefox) await(what, script string) {
	f.Helper()
	limit := (patience / 8).Milliseconds()
	if !f.eval(fmt.Sprintf(`await (async () => {
		for (const end = performance.now() + %d; performance.now() < end; await new Promise((r) => setTimeout(r, 20))) {
			if (%s) { return true; }
		}
		return false;
	})()`, limit, script)) {
		f.quiet()
		f.picture("firefox-failed")
		f.Fatalf("%s: not in %s", what, patience/8)
	}
}

// open goes to an address of the page, such as #/runs, as if it was typed. The page may set its own
// address before its load event, which Firefox reports as an interrupted navigation. The document
// stays, so callers await what it shows.
func (f *firefox) open(address string) {
	f.Helper()
	url := f.next(f.base, address)
	_, refusal := f.try("browsingContext.navigate", map[string]any{"context": f.page, "url": url, "wait": "complete"})
	if refusal != "" && !strings.Contains(refusal, "interrupted an unfinished navigation") {
		f.Fatalf("open %s: %s", url, refusal)
	}
	asked, _, _ := strings.Cut(url, "#")
	f.await("its document", fmt.Sprintf("location.href.startsWith('%s#')", asked))
}

// press presses a key, as WebDriver names it.
func (f *firefox) press(key string) {
	f.Helper()
	f.call("input.performActions", map[string]any{"context": f.page, "actions": []any{
		map[string]any{"type": "key", "id": "keys", "actions": []any{map[string]any{"type": "keyDown", "value": key},
			map[string]any{"type": "keyUp", "value": key}}},
	}})
}

// quiet fails the test if anything went wrong on the page.
func (f *firefox) quiet() {
	f.Helper()
	for _, p := range f.problems {
		f.Error(p)
	}
	f.problems = nil
}

// picture keeps a picture of the page where somebody wants to look at it.
func (f *firefox) picture(name string) {
	f.Helper()
	dir := os.Getenv("EIDETICKER_PICTURES")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	f.check(json.Unmarshal(f.call("browsingContext.captureScreenshot", map[string]any{"context": f.page}), &shot))
	content, err := base64.StdEncoding.DecodeString(shot.Data)
	f.check(err)
	f.check(os.WriteFile(filepath.Join(dir, name+".png"), content, 0o644))
}

const keyRight = "\ue014"

// Every page works in Firefox too: it is shown, and nothing is wrong that the browser would tell
// of.
func TestFirefox(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("browsers take long to start; the same pages were shown in Chromium")
	}
	p, base := servePlayed(t)
	f := startFirefox(t, base)
	p.manyRuns(300)
	for _, page := range p.allPages() {
		f.open(page.address)
		f.await(page.name, page.ready)
		if page.then != "" {
			f.eval("(() => { " + page.then + "; return true; })()")
		}
		f.picture("firefox-" + page.name)
	}
	f.Log("a key goes by captured frames, to the exact pixels")
	m := p.makeRun("20261121-201533-framerate-k7f5", smooth)
	f.open("#/runs/" + m.id + "?frame=40")
	for frame := 40; frame < 43; frame++ {
		f.await(fmt.Sprintf("frame %d", frame),
			fmt.Sprintf(`document.querySelector('canvas.exact')?.dataset.frame === '%d' &&
				document.querySelector('.controls .state').textContent === 'exact pixels' &&
				(await %s) === '%s'`, frame, digestScript, m.digest(t, frame)))
		f.press(keyRight)
	}
	f.quiet()
}
