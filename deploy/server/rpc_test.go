package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// badMessages and what they get, by either way.
var badMessages = []struct {
	name, text string
	want       api.Code
}{
	{"nothing", "", api.ParseError},
	{"no JSON", "{", api.ParseError},
	{"garbage", "\x00\xff\xfe{}", api.ParseError},
	{"two values", "{} {}", api.ParseError},
	{"deep", strings.Repeat("[", 10_000), api.ParseError},
	{"deep and whole", strings.Repeat("[", 100) + strings.Repeat("]", 100), api.ParseError},
	{"a number", "3", api.InvalidRequest},
	{"a word", `"rig.status"`, api.InvalidRequest},
	{"nothing in a batch", "[]", api.InvalidRequest},
	{"a long batch", "[" + strings.Repeat("1,", 40) + "1]", api.InvalidRequest},
	{"no version", `{"id": 1, "method": "rig.status"}`, api.InvalidRequest},
	{"version 1", `{"jsonrpc": "1.0", "id": 1, "method": "rig.status"}`, api.InvalidRequest},
	{"an object for an ID", `{"jsonrpc": "2.0", "id": {}, "method": "rig.status"}`, api.InvalidRequest},
	{"method of another type", `{"jsonrpc": "2.0", "id": 1, "method": 3}`, api.InvalidRequest},
	{"more than a call", `{"jsonrpc": "2.0", "id": 1, "method": "rig.status", "token": "x"}`, api.InvalidRequest},
	{"no such method", `{"jsonrpc": "2.0", "id": 1, "method": "rig.explode"}`, api.UnknownMethod},
	{"a long method", `{"jsonrpc": "2.0", "id": 1, "method": "` + strings.Repeat("a", 1<<20) + `"}`, api.UnknownMethod},
	{"parameters in a row", `{"jsonrpc": "2.0", "id": 1, "method": "run.get", "params": ["x"]}`, api.InvalidParams},
	{"parameters of another type", `{"jsonrpc": "2.0", "id": 1, "method": "run.get", "params": {"run": 3}}`,
		api.InvalidParams},
	{"an unknown parameter", `{"jsonrpc": "2.0", "id": 1, "method": "run.get", "params": {"run": "x", "force": true}}`,
		api.InvalidParams},
	{"no parameter", `{"jsonrpc": "2.0", "id": 1, "method": "run.get"}`, api.InvalidParams},
	{"a number that is none", `{"jsonrpc": "2.0", "id": 1, "method": "run.list", "params": {"limit": 1e99}}`,
		api.InvalidParams},
	{"a list without end", `{"jsonrpc": "2.0", "id": 1, "method": "run.list", "params": {"limit": 1000000}}`,
		api.InvalidParams},
	{"a cursor of one's own", `{"jsonrpc": "2.0", "id": 1, "method": "run.list", "params": {"cursor": "' OR 1=1 --"}}`,
		api.InvalidParams},
	{"up", `{"jsonrpc": "2.0", "id": 1, "method": "run.get", "params": {"run": "../../etc"}}`, api.InvalidParams},
	{"up in an ID", `{"jsonrpc": "2.0", "id": 1, "method": "run.get", "params": {"run": "a~..~..~secrets"}}`,
		api.InvalidParams},
	{"up to delete", `{"jsonrpc": "2.0", "id": 1, "method": "run.delete", "params": {"run": ".."}}`, api.InvalidParams},
	{"an absolute path", `{"jsonrpc": "2.0", "id": 1, "method": "run.get", "params": {"run": "/etc/passwd"}}`,
		api.InvalidParams},
	{"a baseline up", `{"jsonrpc": "2.0", "id": 1, "method": "baseline.set", "params": {"name": "x", "id": "../x"}}`,
		api.InvalidParams},
	{"no such run", `{"jsonrpc": "2.0", "id": 1, "method": "run.get", "params": {"run": "none"}}`, api.NotFound},
	{"no such device", `{"jsonrpc": "2.0", "id": 1, "method": "device.quarantine", "params": {"device": "../local"}}`,
		api.NotFound},
	{"no such switch",
		`{"jsonrpc": "2.0", "id": 1, "method": "device.power", "params": {"device": "local", "do": "explode"}}`,
		api.InvalidParams},
}

// Fault: Paths with `../`, links, hidden files or other schemes
// Fault: Endless messages, garbage, half-open connections and floods
// Fault: Repeated attempts
func TestBadMessages(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.loud()
	conn := s.socket()
	for _, tc := range badMessages {
		t.Run(tc.name, func(t *testing.T) {
			s.log.take()
			res, text := s.ask("POST", "/api/v1/rpc", tc.text)
			var r api.Response
			if err := json.Unmarshal([]byte(text), &r); err != nil || r.Error == nil || r.Error.Code != tc.want ||
				r.Error.Message == "" {
				t.Errorf("by HTTP: %d %s", res.StatusCode, clip(text))
			} else if res.StatusCode != httpStatus(tc.want) || len(text) > 2000 || strings.Contains(text, s.Dir) {
				t.Errorf("by HTTP: status %d: %s", res.StatusCode, clip(text))
			} else if line := s.log.take(); !strings.Contains(line, fmt.Sprintf("code=%d why=", tc.want)) ||
				len(line) > 2000 {
				t.Errorf("by HTTP the log has %q", clip(line))
			}
			if r := talk(t, conn, tc.text); r.Error == nil || r.Error.Code != tc.want || r.Error.Message == "" {
				t.Errorf("by websocket: %+v", r)
			}
			if line := s.log.take(); !strings.Contains(line, fmt.Sprintf("code=%d why=", tc.want)) {
				t.Errorf("by websocket the log has %q", clip(line))
			}
		})
	}
	if r := talk(t, conn, askStatus); r.Error != nil {
		t.Errorf("after all that: %+v", r.Error)
	}
}

func httpStatus(c api.Code) int {
	for _, o := range api.Codes() {
		if o.Code == c {
			return o.HTTP
		}
	}
	return 0
}

func TestBatchAndNotification(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	res, text := s.ask("POST", "/api/v1/rpc",
		`[`+askStatus+`, {"jsonrpc": "2.0", "method": "rig.status"}, {"jsonrpc": "2.0", "id": "b", "method": "no"}, 1]`)
	var all []api.Response
	if err := json.Unmarshal([]byte(text), &all); err != nil || res.StatusCode != 200 || len(all) != 3 ||
		all[0].Error != nil || string(all[1].ID) != `"b"` || all[1].Error == nil || string(all[2].ID) != "null" {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if res, text := s.ask("POST", "/api/v1/rpc", `{"jsonrpc": "2.0", "method": "rig.status"}`); res.StatusCode != 204 ||
		text != "" {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if e := s.call("subscribe", api.Empty{}, nil); e == nil || e.Code != api.UnknownMethod {
		t.Errorf("events by HTTP: %+v", e)
	}
}

// zeros are a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Messages that are too large, binary, cut off or never come harm nobody else.
//
// Fault: Endless messages, garbage, half-open connections and floods
// Fault: Repeated attempts
func TestBadConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.loud()

	r, err := http.NewRequest("POST", s.URL+"/api/v1/rpc", zeros{})
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 1 << 30
	r.Header.Set("Content-Type", "application/json")
	if res, err := s.Client().Do(r); err == nil { // the connection may be closed before the answer is read
		if res.StatusCode != 413 {
			t.Errorf("a call of a gigabyte: %d", res.StatusCode)
		}
		res.Body.Close()
	}
	s.logged("status=413")

	conn := s.socket()
	var sent int
	chunk := bytes.Repeat([]byte(" "), 1<<20)
	w, err := conn.NextWriter(websocket.TextMessage)
	for err == nil && sent < 1<<30 {
		var n int
		n, err = w.Write(chunk)
		sent += n
	}
	if err == nil || sent > 512<<20 {
		t.Errorf("%d bytes of one message were taken, %v", sent, err)
	}
	s.logged("client cut off")

	conn = s.socket()
	if err := conn.WriteMessage(websocket.BinaryMessage, []byte{0, 1, 2, 0xff}); err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.ReadMessage(); err != nil || !bytes.Contains(text, []byte("-32600")) {
		t.Errorf("a binary message: %s, %v", text, err)
	}
	s.logged("not binary messages")
	if err := conn.Close(); err != nil {
		t.Error(err)
	}

	// Data after the end of a websocket, and data that never was one.
	conn = s.socket()
	if _, err := conn.NetConn().Write([]byte("\xff\xff\xff\xffgarbage")); err != nil {
		t.Fatal(err)
	}
	closed(t, conn.NetConn(), "garbage in a websocket")
	s.logged("client cut off")
	raw := s.raw("\x16\x03\x01garbage\r\n\r\n")
	closed(t, raw, "garbage for HTTP")
	s.logged("invalid or incomplete request")
	raw = s.hurried(300*time.Millisecond, time.Second).raw("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
	closed(t, raw, "a header that does not end")
	s.logged("invalid or incomplete request")
	raw = s.raw("GET /../../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	buf := make([]byte, 4096)
	if n, err := raw.Read(buf); err != nil || bytes.Contains(buf[:n], []byte("root:")) {
		t.Errorf("%s, %v", buf[:n], err)
	}

	// A client that is gone without a word does not answer pings.
	s.Until("the clients to be gone", func() bool { return s.api.clients.Load() == 0 })
	s.api.times = times{write: time.Second, ping: 50 * time.Millisecond, quiet: 300 * time.Millisecond}
	conn = s.socket()
	conn.SetPingHandler(func(string) error { return nil })
	conn.SetReadDeadline(time.Now().Add(daemontest.Patience))
	if _, _, err := conn.ReadMessage(); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("a client that does not answer is kept: %v", err)
	}
	s.logged("timeout")
	if res, _ := s.ask("POST", "/api/v1/rpc", askStatus); res.StatusCode != 200 {
		t.Errorf("after all that: %d", res.StatusCode)
	}
	s.Until("the clients to be gone", func() bool { return s.api.clients.Load() == 0 })
}

func (s *served) raw(text string) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// closed waits until the other side has closed a connection.
func closed(t *testing.T, conn net.Conn, what string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(daemontest.Patience)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		if _, err := conn.Read(buf); err != nil {
			if t, is := err.(net.Error); is && t.Timeout() {
				break
			}
			return
		}
	}
	t.Errorf("%s: the connection stays open", what)
}

// Calls beyond the limit are refused, and those of others are not.
//
// Fault: Endless messages, garbage, half-open connections and floods
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.CallsPerS = 1; o.Connections = 3 })
	a, b := s.socket(), s.socket()
	refused := 0
	for range callsAtOnce + 20 {
		if r := talk(t, a, askStatus); r.Error != nil && r.Error.Code == api.TooMany {
			refused++
		}
	}
	if refused == 0 {
		t.Error("any number of calls is taken")
	}
	if r := talk(t, b, askStatus); r.Error != nil {
		t.Errorf("another client: %+v", r.Error)
	}
	s.socket()
	if _, res, err := s.dial(); err == nil || res == nil || res.StatusCode != 503 {
		t.Errorf("a client too many: %v, %v", res, err)
	}
	limited := 0
	for range callsAtOnce + 20 {
		if res, _ := s.ask("POST", "/api/v1/rpc", askStatus); res.StatusCode == 429 {
			limited++
		}
	}
	if limited == 0 {
		t.Error("any number of calls is taken by HTTP")
	}
}

// FuzzMessage: for any input, the output is JSON-RPC or empty.
//
// Fault: Endless messages, garbage, half-open connections and floods
func FuzzMessage(f *testing.F) {
	for _, tc := range badMessages {
		f.Add(tc.text)
	}
	f.Add(`[` + askStatus + `,{"jsonrpc":"2.0","method":"rig.status"}]`)
	f.Add(`{"jsonrpc":"2.0","id":null,"method":"device.reserve","params":{"device":"local","for_ns":1}}`)
	s := serve(f, nil)
	all := func(int) bool { return true }
	f.Fuzz(func(t *testing.T, text string) {
		out, code := s.api.answer(t.Context(), &call{caller: &caller{}}, []byte(text), all)
		if out == nil {
			return
		}
		var one api.Response
		var many []api.Response
		switch {
		case json.Unmarshal(out, &one) == nil:
			many = []api.Response{one}
			if (one.Error == nil) != (code == 0) {
				t.Errorf("code %d with %s", code, out)
			}
		case json.Unmarshal(out, &many) != nil:
			t.Fatalf("%q gets %q", text, out)
		}
		for _, r := range many {
			if r.Version != api.JSONRPC || len(r.ID) == 0 || (r.Result == nil) == (r.Error == nil) {
				t.Errorf("%q gets %s", text, out)
			}
			if r.Error != nil && (r.Error.Code == api.Internal || r.Error.Message == "") {
				t.Errorf("%q gets %s", text, out)
			}
		}
	})
}
