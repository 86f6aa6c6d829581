package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// TestBodyThatNeverComes: a connection on which a request begins and stops is closed, even if the
// answer does not need the rest.
//
// Fault: Endless messages, garbage, half-open connections and floods
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Needed = true })
	if real := s.api.HTTP().ReadTimeout; real != bodyTime {
		t.Errorf("a request with its body may take %v, want %v", real, bodyTime)
	}
	hurried := s.hurried(300*time.Millisecond, time.Second)
	for _, request := range []string{
		"POST /api/v1/login HTTP/1.1\r\nContent-Type: application/json",
		"POST /api/v1/rpc HTTP/1.1\r\nContent-Type: application/json",
		"POST /api/v1/runs HTTP/1.1\r\nContent-Type: text/plain",
		"POST /healthz HTTP/1.1",
	} {
		closed(t, hurried.raw(request+"\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"), request)
	}
}

// TestAnswersMayTakeTime: the time limit of a request does not apply to its answer. It calls with a
// body, and requests without one.
func TestAnswersMayTakeTime(t *testing.T) {
	t.Parallel()
	const readTime = 4 * time.Second // a machine may stand still for less
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(readTime + time.Second):
			return errors.New("it took its time")
		}
	}
	s := serve(t, func(o *Options) {
		o.Compare = func(ctx context.Context, _, _ string, _ CompareOptions) (*api.Compared, error) {
			return nil, wait(ctx)
		}
		o.Page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, wait(r.Context())) })
	})
	run := s.scene()
	hurried := s.hurried(readTime, readTime)
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() {
		if res, text := hurried.ask("GET", "/", ""); res.StatusCode != 200 || text != "it took its time" {
			t.Errorf("%d %s", res.StatusCode, text)
		}
	})
	if e := hurried.call("compare", api.CompareParams{Base: run, With: run}, nil); e == nil ||
		!strings.Contains(e.Message, "it took its time") {
		t.Errorf("%+v", e)
	}
}

// TestConnectionsOfOneAddress: an address at its limit of connections gets no more until one ends.
// Websockets are counted separately.
//
// Fault: Endless messages, garbage, half-open connections and floods
func TestConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.api.each = 3
	h := httptest.NewUnstartedServer(nil)
	h.Config = s.api.HTTP()
	h.Start()
	t.Cleanup(h.Close)
	open := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", h.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(daemontest.Patience)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	get := func(c net.Conn) error {
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return err
		}
		var answer [12]byte
		if _, err := io.ReadFull(c, answer[:]); err != nil {
			return err
		}
		if string(answer[:]) != "HTTP/1.1 200" {
			return fmt.Errorf("%s", answer[:])
		}
		return nil
	}
	var all []net.Conn
	for range 3 {
		c := open()
		all = append(all, c)
		if err := get(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := get(open()); err == nil {
		t.Error("there is a fourth")
	}
	all[0].Close()
	s.Until("there is room again", func() bool { return get(open()) == nil })
}

// TestSlowUploads: an upload below the minimum rate is rejected, however steady it is. One above it
// may take long.
//
// Fault: Endless messages, garbage, half-open connections and floods
func TestSlowUploads(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes int
		each  time.Duration
		want  error
	}{
		{"a byte a minute", 1, time.Minute, errSlow},
		{"half of it", minSpeed / 2, time.Second, errSlow},
		{"as fast as it must", minSpeed, time.Second, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Unix(1_000_000, 0)
			s := &steadily{ResponseController: http.NewResponseController(httptest.NewRecorder()), r: zeros{},
				now: func() time.Time { return now }}
			var err error
			for range 1000 {
				if _, err = s.Read(make([]byte, tc.bytes)); err != nil {
					break
				}
				now = now.Add(tc.each)
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}

// TestTokensThatCannotBeRead: the client gets a server error without the file's path.
func TestTokensThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Needed = true })
	s.loud()
	// as what nobody can read: root could read a file of any rights
	if err := os.Mkdir(s.tokens.path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []func() (*http.Response, string){
		func() (*http.Response, string) {
			return s.ask("POST", "/api/v1/rpc", askStatus, "Authorization", "Bearer eid_x")
		},
		func() (*http.Response, string) { return s.ask("POST", "/api/v1/login", `{"token": "eid_x"}`) },
	} {
		for range 10 { // it is not a guess
			res, text := ask()
			if res.StatusCode != 500 || strings.Contains(text, s.Dir) ||
				!strings.Contains(text, "cannot read its tokens") || res.Header.Get("WWW-Authenticate") != "" {
				t.Fatalf("%d %s", res.StatusCode, text)
			}
		}
	}
	s.logged(s.tokens.path)
}

// TestTokenIsLookedAtTwice: calls look at the token of a websocket, and so do pings meanwhile; the
// race detector looks on.
func TestTokenIsLookedAtTwice(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) {
		o.Needed, o.Log = true, slog.New(slog.DiscardHandler)
		o.times = times{write: usualTimes.write, ping: time.Millisecond, quiet: usualTimes.quiet}
	})
	secret, err := s.tokens.Add("one", api.View, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	conn := s.socket("Authorization", "Bearer "+secret)
	for range 200 {
		if r := talk(t, conn, askStatus); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
}
