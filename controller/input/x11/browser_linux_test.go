package x11

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
)

// editor is a page that says what was typed into it, when F2 is pressed.
const editor = `<!doctype html><meta charset=utf-8><title>editor</title><style>textarea { position: fixed; inset: 0; width: 100%; height: 100% }</style>
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

// TestBrowsersReadTheText: what is typed is what stands in a page of the browsers that are measured, among it more characters that no key types than there are keycodes
// to spare.
func TestBrowsersReadTheText(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	for _, name := range []string{"chromium", "firefox"} {
		t.Run(name, func(t *testing.T) {
			tmp, err := os.MkdirTemp("/tmp", "e") // short: sockets lie in it
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(tmp)
			t.Setenv("TMPDIR", tmp)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for a machine that is busy with other things
			defer cancel()
			told := make(chan [2]string, 100)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
					if err == nil {
						told <- [2]string{r.URL.Path, string(b)}
					}
					return
				}
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, editor)
			}))
			defer server.Close()
			await := func(what string) string {
				t.Helper()
				for {
					select {
					case m := <-told:
						if m[0] == "/"+what {
							return m[1]
						}
					case <-ctx.Done():
						t.Fatalf("the page does not tell of %s: %v", what, ctx.Err())
					}
				}
			}
			display := startDisplay(t, device.DisplayOptions{Width: 640, Height: 480})
			browser, err := device.StartBrowser(ctx, device.BrowserOptions{Name: name, Display: display, URL: server.URL})
			var missing *device.MissingError
			if errors.As(err, &missing) && os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer browser.Close()
			await("load")
			before := mapping(t, display.Name())
			d := openDriver(t, display.Name())
			for focused := false; !focused; { // Chromium leaves clicks unheard until it has shown the page
				do(t, d, input.Move{X: 320, Y: 400}, input.ButtonDown{Button: input.Left}, input.ButtonUp{Button: input.Left})
				select {
				case m := <-told:
					focused = m[0] == "/focus"
				case <-time.After(200 * time.Millisecond):
				case <-ctx.Done():
					t.Fatal("the page is not given the keyboard")
				}
			}
			if w, err := d.listener(); err != nil || w == 0 {
				t.Errorf("the browser's window answers no pings: %v, %v", w, err)
			}
			var many strings.Builder
			for i := range 200 {
				many.WriteRune(rune(0x4e00 + i))
			}
			for _, text := range []string{ascii, "two\nlines", sample, many.String(), sample + ascii} {
				began := timeline.Monotonic().Now()
				do(t, d, input.Text{Text: text}, input.KeyDown{Key: "F2"}, input.KeyUp{Key: "F2"})
				took := timeline.Monotonic().Now().Sub(began)
				got, _, _ := strings.Cut(await("typed"), "\x00")
				if got != text {
					t.Errorf("typed %q\nwant  %q", got, text)
				}
				t.Logf("%d characters in %v", len([]rune(text)), took)
			}
			do(t, d, input.KeyDown{Key: "ArrowDown"}, input.KeyUp{Key: "ArrowDown"}, input.KeyDown{Key: "Q"}, input.KeyUp{Key: "Q"},
				input.KeyDown{Key: "F2"}, input.KeyUp{Key: "F2"})
			if _, keys, _ := strings.Cut(await("typed"), "\x00"); keys != "ArrowDown=ArrowDown ShiftLeft=Shift KeyQ=Q F2=F2" {
				t.Errorf("the page has seen %s", keys)
			}
			for _, w := range []input.Wheel{{Y: 1}, {Y: -1}, {X: 1}, {X: -1}} {
				do(t, d, w)
				if got, want := await("wheel"), fmt.Sprintf("%d,%d", w.X, w.Y); got != want {
					t.Errorf("the wheel turned by %s, want %s", got, want)
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if mapping(t, display.Name()) != before {
				t.Error("the mapping is not what it was")
			}
		})
	}
}
