package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }

// served is a rig on the loopback of a test.
type served struct {
	*daemontest.Rig
	*httptest.Server
	api    *Server
	tokens *Tokens
	log    *book
	t      testing.TB
}

// serve starts a rig with a device, named local as the first one of any rig. change edits the
// options.
func serve(t testing.TB, change func(*Options)) *served {
	t.Helper()
	d := daemontest.New("local")
	return serveRig(t, daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil), change)
}

func serveRig(t testing.TB, r *daemontest.Rig, change func(*Options)) *served {
	t.Helper()
	tokens, err := OpenTokens(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	log := &book{}
	o := Options{
		Log:    slog.New(slog.NewTextHandler(log, nil)),
		Daemon: r.Daemon, Tokens: tokens, Place: Place{Loopback: true}, Program: "test", CallsPerS: 10_000,
		Page: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") }),
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	told(t, s)
	h := httptest.NewUnstartedServer(nil)
	h.Config = s.HTTP()
	h.Start()
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return &served{r, h, s, tokens, log, t}
}

// hurried is the same rig at another address, where a request has to come in no time.
func (s *served) hurried(header, whole time.Duration) *served {
	s.t.Helper()
	h := httptest.NewUnstartedServer(nil)
	h.Config = s.api.HTTP()
	h.Config.ReadHeaderTimeout, h.Config.ReadTimeout = header, whole
	if h.Config.WriteTimeout > 0 {
		h.Config.WriteTimeout = min(h.Config.WriteTimeout, whole)
	}
	h.Start()
	s.t.Cleanup(h.Close)
	there := *s
	there.Server = h
	return &there
}

// ask sends a request and returns the answer with its body.
func (s *served) ask(method, path, body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	res, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(text)
}

// call carries out a method by HTTP, into result.
func (s *served) call(method string, params, result any) *api.Error {
	s.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		s.t.Fatal(err)
	}
	_, text := s.ask("POST", "/api/v1/rpc", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method,
		raw))
	var r api.Response
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	if r.Error == nil && result != nil {
		if err := json.Unmarshal(r.Result, result); err != nil {
			s.t.Fatal(err)
		}
	}
	return r.Error
}

// socket opens a websocket.
func (s *served) socket(header ...string) *websocket.Conn {
	s.t.Helper()
	conn, res, err := s.dial(header...)
	if err != nil {
		s.t.Fatal(err, res)
	}
	return conn
}

func (s *served) dial(header ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	conn, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL, "http")+"/api/v1/ws", h)
	if err == nil {
		s.t.Cleanup(func() { conn.Close() })
		_ = conn.SetReadDeadline(time.Now().Add(daemontest.Patience))
	}
	return conn, res, err
}

// talk sends a message, and returns the answer, past events and pictures.
func talk(t testing.TB, conn *websocket.Conn, message string) (r api.Response) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(daemontest.Patience)) // a failure is an error of the read
	if err := conn.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		t.Fatal(err)
	}
	for {
		kind, text, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if kind != websocket.TextMessage || bytes.Contains(text, []byte(`"method":"event"`)) {
			continue
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return r
	}
}

// event reads the next event.
func event(t testing.TB, conn *websocket.Conn) (e api.Event) {
	t.Helper()
	for {
		kind, text, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		var n api.Notification
		if kind == websocket.TextMessage && json.Unmarshal(text, &n) == nil && n.Method == api.EventMethod {
			if err := json.Unmarshal(n.Params, &e); err != nil {
				t.Fatal(err)
			}
			return e
		}
	}
}

// scene makes a run, and returns its ID.
func (s *served) scene() string {
	s.t.Helper()
	j := s.Ended(s.Scene("ci", api.StartParams{}).ID)
	if j.State != "ok" {
		s.t.Fatalf("%+v", j)
	}
	return j.ID
}
