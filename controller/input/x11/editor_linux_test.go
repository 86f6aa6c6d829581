package x11

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
)

// editor is a page that reports its typed text when F2 is pressed.
const editor = `<!doctype html><meta charset=utf-8><title>editor</title>
<style>textarea { position: fixed; inset: 0; width: 100%; height: 100% }</style>
<textarea spellcheck=false autocomplete=off></textarea><script>
const area = document.querySelector("textarea"), tell = (what, body) => fetch("/" + what, {method: "POST", body});
const pressed = [];
area.addEventListener("focus", () => tell("focus", ""));
area.addEventListener("wheel", e => tell("wheel", Math.sign(e.deltaX) + "," + Math.sign(e.deltaY)));
addEventListener("keydown", e => {
	pressed.push(e.code + "=" + e.key);
	if (e.code == "F2") { tell("typed", area.value + "\0" + pressed.slice(-4).join(" ")); area.value = ""; }
});
addEventListener("load", () => tell("load", ""));
</script>`

// editing is a browser that shows the editor, and the driver that types into it.
type editing struct {
	t       *testing.T
	ctx     context.Context
	display string
	driver  *Driver
	before  string // mapping of the display, before the driver came
	told    chan [2]string
}

// edit starts a browser with the editor on a display of its own, and gives it the keyboard.
func edit(t *testing.T, browser string) *editing {
	t.Helper()
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	tmp, err := os.MkdirTemp("/tmp", "e") // short: it contains sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for a machine that is busy with other things
	t.Cleanup(cancel)
	e := &editing{t: t, ctx: ctx, told: make(chan [2]string, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if err == nil {
				e.told <- [2]string{r.URL.Path, string(b)}
			}
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, editor)
	}))
	t.Cleanup(server.Close)
	display := startDisplay(t, device.DisplayOptions{Width: 640, Height: 480})
	e.display = display.Name()
	b, err := device.StartBrowser(ctx, device.BrowserOptions{Name: browser, Display: display, URL: server.URL})
	var missing *device.MissingError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	e.await("load")
	e.before = mapping(t, e.display)
	e.driver = openDriver(t, e.display)
	for focused := false; !focused; { // Chromium leaves clicks unheard until it has shown the page
		do(t, e.driver, input.Move{X: 320, Y: 400}, input.ButtonDown{Button: input.Left},
			input.ButtonUp{Button: input.Left})
		select {
		case m := <-e.told:
			focused = m[0] == "/focus"
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the page is not given the keyboard")
		}
	}
	return e
}

// await returns the page's report of a kind.
func (e *editing) await(what string) string {
	e.t.Helper()
	for {
		select {
		case m := <-e.told:
			if m[0] == "/"+what {
				return m[1]
			}
		case <-e.ctx.Done():
			e.t.Fatalf("the page does not tell of %s: %v", what, e.ctx.Err())
		}
	}
}

// typed does actions and returns the text that they brought, and the last keys that the page has
// seen.
func (e *editing) typed(actions ...input.Action) (text, keys string) {
	e.t.Helper()
	do(e.t, e.driver, append(actions, input.KeyDown{Key: "F2"}, input.KeyUp{Key: "F2"})...)
	text, keys, _ = strings.Cut(e.await("typed"), "\x00")
	return text, keys
}

// end closes the driver, and holds what it leaves against what it found.
func (e *editing) end() {
	e.t.Helper()
	if err := e.driver.Close(); err != nil {
		e.t.Fatal(err)
	}
	if mapping(e.t, e.display) != e.before {
		e.t.Error("the mapping is not what it was")
	}
}
