package webdriver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// page writes down what happens to it.
const page = `data:text/html,<!doctype html><body style="margin:0;height:2000px">
<textarea style="position:fixed;left:0;top:100px;width:300px;height:100px"></textarea><script>
var seen = [];
const saw = e => seen.push(e.type + (e.pointerType || "") + Math.round(e.clientX) + "," + Math.round(e.clientY));
for (const kind of ["pointerdown", "pointerup", "wheel"]) addEventListener(kind, saw, {passive: true});
addEventListener("keydown", e => seen.push(e.code));
</script>`

// TestFirefox gives input to a real browser, and asks it what it saw.
func TestFirefox(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Firefox is not installed")
		}
		t.Skip("Firefox is not installed (apt-get install firefox-esr)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for a machine that is busy
	defer cancel()
	d, err := Open(ctx, firefox(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	// The browser may load its start page only now, in place of the command's page. So the command
	// is repeated.
	for range 3 {
		err = d.conn.call(ctx, "browsingContext.navigate",
			map[string]any{"context": d.page, "url": page, "wait": "complete"}, nil)
		if err == nil || !strings.Contains(err.Error(), "new navigation interrupted") {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, actions := range [][]input.Action{
		{input.Move{X: 50, Y: 150}, input.ButtonDown{Button: input.Left}, input.ButtonUp{Button: input.Left}},
		{input.Text{Text: "aß日"}},
		{input.KeyDown{Key: "F4"}, input.KeyUp{Key: "F4"}},
		{input.Move{X: 400, Y: 400}, input.Wheel{Y: 1}},
		{input.TouchDown{X: 10, Y: 20}},
		{input.TouchUp{}},
	} {
		if _, err := d.Do(ctx, 0, actions...); err != nil {
			t.Fatalf("%v: %v", actions, err)
		}
	}
	var said struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
	}
	if err := d.conn.call(ctx, "script.evaluate", map[string]any{
		"expression": "JSON.stringify({seen, text: document.querySelector('textarea').value})",
		"target":     map[string]any{"context": d.page}, "awaitPromise": false,
	}, &said); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Seen []string
		Text string
	}
	if err := json.Unmarshal([]byte(said.Result.Value), &got); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(got.Seen, " ")
	for _, want := range []string{"pointerdownmouse50,150 pointerupmouse50,150", "KeyA", "F4", "wheel400,400",
		"pointerdowntouch10,20 pointeruptouch10,20"} {
		if !strings.Contains(all, want) {
			t.Errorf("the page saw %q, want %q", all, want)
		}
	}
	if got.Text != "aß日" {
		t.Errorf("it holds %q", got.Text)
	}
}

var listening = regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)

// firefox starts a browser without a window and returns its endpoint. It ends with the test, with
// all processes that it started.
func firefox(t *testing.T, path string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "e") // short: it contains sockets
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", dir, "--remote-debugging-port", "0",
		"about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir)
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
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
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
