package x11

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// TestBrowsersReadTheText: typed text appears in a page of the tested browsers. It has more
// characters without a key than there are spare keycodes.
func TestBrowsersReadTheText(t *testing.T) {
	for _, name := range []string{"chromium", "firefox"} {
		t.Run(name, func(t *testing.T) {
			e := edit(t, name)
			d := e.driver
			if w, err := d.listener(); err != nil || w == 0 {
				t.Errorf("the browser's window answers no pings: %v, %v", w, err)
			}
			var many strings.Builder
			for i := range 200 {
				many.WriteRune(rune(0x4e00 + i))
			}
			for _, text := range []string{ascii, "two\nlines", sample, many.String(), sample + ascii} {
				began := timeline.Monotonic().Now()
				got, _ := e.typed(input.Text{Text: text})
				if got != text {
					t.Errorf("typed %q\nwant  %q", got, text)
				}
				t.Logf("%d characters in %v", len([]rune(text)), timeline.Monotonic().Now().Sub(began))
			}
			_, keys := e.typed(input.KeyDown{Key: "ArrowDown"}, input.KeyUp{Key: "ArrowDown"}, input.KeyDown{Key: "Q"},
				input.KeyUp{Key: "Q"})
			if keys != "ArrowDown=ArrowDown ShiftLeft=Shift KeyQ=Q F2=F2" {
				t.Errorf("the page has seen %s", keys)
			}
			for _, w := range []input.Wheel{{Y: 1}, {Y: -1}, {X: 1}, {X: -1}} {
				do(t, d, w)
				if got, want := e.await("wheel"), fmt.Sprintf("%d,%d", w.X, w.Y); got != want {
					t.Errorf("the wheel turned by %s, want %s", got, want)
				}
			}
			e.end()
		})
	}
}
