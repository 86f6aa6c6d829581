package device

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// asked is a proxy that writes down what it is asked for, and gives nothing.
type asked struct {
	mu   sync.Mutex
	urls []string
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.urls = append(a.urls, r.Method+" "+r.RequestURI)
	http.Error(w, "there is no way out", http.StatusBadGateway)
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.urls)
}

// through has a kind of browser ask a proxy for all that is not on this machine.
func through(k kind, proxy string) kind {
	host, port, err := net.SplitHostPort(proxy)
	if err != nil {
		panic(err) // of a listener
	}
	if k.name == "firefox" {
		k.files = maps.Clone(k.files)
		k.files["user.js"] += fmt.Sprintf(`user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", %q);
user_pref("network.proxy.http_port", %s);
user_pref("network.proxy.ssl", %[1]q);
user_pref("network.proxy.ssl_port", %[2]s);
`, host, port)
		return k
	}
	arguments := k.arguments
	k.arguments = func(profile string, width, height int, o BrowserOptions) []string {
		return append([]string{"--proxy-server=http://" + proxy}, arguments(profile, width, height, o)...)
	}
	return k
}

// TestBrowsersAskNobody: while a page is shown, browsers request that page only. A page with
// another request proves that the proxy would see one. With EIDETICKER_SOAK, the page is shown for
// a minute.
func TestBrowsersAskNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			path, err := find(k.pkg, k.programs...)
			need(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			display, err := StartDisplay(ctx, DisplayOptions{Width: 640, Height: 360})
			need(t, err)
			defer display.Close()
			proxy := &asked{}
			listening := httptest.NewServer(proxy)
			defer listening.Close()

			// what browsers do by themselves begins within seconds, and most of it at once
			quiet := 20 * time.Second
			if os.Getenv("EIDETICKER_SOAK") != "" {
				quiet = time.Minute
			}
			told := make(chan struct{})
			var once sync.Once
			page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/told" {
					once.Do(func() { close(told) })
					return
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<script>setTimeout(async () => {
  try { await fetch("http://asked.example/asked", {mode: "no-cors"}); } catch {}
  fetch("/told");
}, %d)</script>`, quiet.Milliseconds())
			}))
			defer page.Close()
			b, err := startBrowser(ctx, through(k, listening.Listener.Addr().String()), path,
				BrowserOptions{Display: display, URL: page.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			select {
			case <-told:
			case <-b.Done():
				t.Fatal(b.Err())
			case <-ctx.Done():
				t.Fatal("the page did not get to its end")
			}
			heard := false
			for _, u := range proxy.all() {
				if strings.HasPrefix(u, "GET http://asked.example/") {
					heard = true
					continue
				}
				t.Errorf("it asked for %s", u)
			}
			if !heard {
				t.Error("the proxy did not hear the page itself: the test shows nothing")
			}
		})
	}
}
