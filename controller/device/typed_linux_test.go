package device

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input/x11"
)

// TestTypingIntoABrowserThatRuns types addresses into the address bars of real browsers; one of them is the beginning of another, which browsers would complete.
func TestTypingIntoABrowserThatRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			path, err := find(k.pkg, k.programs...)
			need(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // for a machine that is busy with other things
			defer cancel()
			display, err := StartDisplay(ctx, DisplayOptions{Width: 800, Height: 600})
			need(t, err)
			defer display.Close()
			came := make(chan string, 10)
			page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/there": // a page that is loaded: before, it would take the focus from the address bar
					select {
					case came <- r.URL.RawQuery:
					default:
					}
				}
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<title>x</title><script>onload = () => setTimeout(() => fetch(\"/there?\" + location.pathname), 500)</script>")) // what goes away gets nothing
			}))
			defer page.Close()
			b, err := startBrowser(ctx, k, path, BrowserOptions{Display: display, URL: page.URL + "/first", Bars: true})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			hand, err := x11.Open(display.Name())
			if err != nil {
				t.Fatal(err)
			}
			defer hand.Close()
			for _, path := range []string{"/first", "/typed-1", "/typed"} {
				if path == "/first" {
					// it is there already
				} else if _, err := (Typed{Input: hand, Bar: blank("x").AddressBar}).Go(ctx, page.URL+path); err != nil {
					t.Fatal(err)
				}
				select {
				case got := <-came:
					if got != path {
						t.Errorf("%s came, and %s was typed", got, path)
					}
				case <-ctx.Done():
					t.Fatalf("%s was typed, and did not come", path)
				}
			}
		})
	}
}
