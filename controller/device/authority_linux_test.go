package device_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/netsim/serve"
)

// TestBrowsersTrustTheAuthority: browsers with new profiles load a page by HTTP/3. Its server has a
// certificate of an authority that nobody else trusts. Without that authority, they fail. The
// session's TestRunsWithTLS and TestBrowsersFarAway load pages with it, by HTTP/2 and HTTP/3, so
// here that is for EIDETICKER_SOAK.
func TestBrowsersTrustTheAuthority(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	t.Parallel()
	authority, err := serve.OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chromium", "firefox"} {
		for _, tc := range []struct {
			name  string
			trust *device.Authority
			major int
		}{
			{"h3", &device.Authority{File: authority.File(), KeyHash: authority.KeyHash(), HTTP3: true}, 3},
			{"nobody", nil, 0},
		} {
			if tc.trust != nil && os.Getenv("EIDETICKER_SOAK") == "" {
				continue
			}
			t.Run(name+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				major := make(chan int, 100)
				refused := make(chan struct{}, 100)
				server := secureServer(t, ctx, authority,
					http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						major <- r.ProtoMajor
						w.Header().Set("Content-Type", "text/html")
						_, _ = io.WriteString(w, `<!doctype html><script>
const ask = () => fetch('/again', {cache: 'no-store'}).finally(() => setTimeout(ask, 200)); ask();</script>`)
					}))
				host := map[string]string{"chromium": "127.0.0.1", "firefox": "localhost"}[name]
				display, err := device.StartDisplay(ctx, device.DisplayOptions{Width: 640, Height: 360})
				need(t, err)
				defer display.Close()
				browser, err := device.StartBrowser(ctx, device.BrowserOptions{Name: name, Display: display,
					URL: "https://" + host + ":" + server.port + "/", Authority: tc.trust})
				need(t, err)
				defer browser.Close()
				go server.watch(ctx, refused)
				for {
					select {
					case got := <-major:
						if tc.major == 0 {
							t.Fatalf("it was asked by HTTP/%d of a browser that trusts nobody", got)
						}
						if got == tc.major {
							return
						}
					case <-refused:
						if tc.major == 0 {
							return
						}
					case <-ctx.Done():
						cs, es := server.Witnessed()
						t.Fatalf("nothing comes: %+v, %d exchanges, browser: %v", cs, len(es), browser.Err())
					}
				}
			})
		}
	}
}

type secure struct {
	*serve.Server
	port string
}

func secureServer(t *testing.T, ctx context.Context, authority *serve.Authority, h http.Handler) *secure {
	t.Helper()
	s, err := serve.New(serve.Options{Handler: h, Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.HTTPS(l)
	s.QUIC(p)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &secure{s, fmt.Sprint(l.Addr().(*net.TCPAddr).Port)}
}

// watch tells when a client has refused the server's certificate.
func (s *secure) watch(ctx context.Context, refused chan<- struct{}) {
	for ctx.Err() == nil {
		cs, _ := s.Witnessed()
		for _, c := range cs {
			if c.Closed != 0 && c.BytesOut > 0 {
				refused <- struct{}{}
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}
