package testnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/link"
)

// TestForward: the device reaches one server of this machine, by its own loopback and at the far
// end, over the link. It reaches no other port. Several connections are made at once.
func TestForward(t *testing.T) {
	const rtt = 400 * time.Millisecond
	var conditions link.Conditions
	conditions.SetRTT(rtt)
	n, err := Open(Options{Conditions: conditions, Names: []string{"dev.test"}})
	if no := (*link.PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	closed := sync.OnceValue(n.Close)
	defer closed()
	hosts := []string{"127.0.0.1", "[::1]", "198.18.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"}
	var arrived atomic.Int32
	all := make(chan struct{})
	// It answers when all have arrived: one connection after another would be late.
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if int(arrived.Add(1)) == len(hosts) {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(time.Minute):
			t.Error("the requests are not made at once")
		}
		_, _ = io.WriteString(w, r.Host+" "+r.Header.Get("Origin"))
	}))
	defer echo.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	served, err := url.Parse(echo.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Forward(served.Port(), func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", served.Host)
	}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var asking sync.WaitGroup
	for _, host := range hosts {
		asking.Go(func() {
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
				DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					return n.Link.Device.Dial(ctx, network, host+":"+served.Port())
				}}}
			address := "http://dev.test:" + served.Port()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Origin", "http://dev.test")
			answer, err := client.Do(request)
			if err != nil {
				t.Errorf("%s: %v", host, err)
				return
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if want := "dev.test:" + served.Port() + " http://dev.test"; err != nil || string(text) != want {
				t.Errorf("%s: %q %v", host, text, err)
			}
		})
	}
	asking.Wait()
	// one round trip to connect and one for the answer
	if took := time.Since(began); took < 2*rtt {
		t.Errorf("six requests at once took %v, with round trips of %v", took, rtt)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "198.18.0.1"} {
		if c, err := n.Link.Device.Dial(t.Context(), "tcp", host+":"+port); err == nil {
			c.Close()
			t.Errorf("another server is reached at %s:%s", host, port)
		}
	}
	if err := closed(); err != nil {
		t.Error(err)
	}
}
