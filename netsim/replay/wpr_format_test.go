package replay_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/replay"
)

// Web Page Replay writes these types by encoding/json, packed by gzip. Names, types and nesting are
// those of its source (catapult, web_page_replay_go, archive.go), of the newest version first. A
// reader with another name or type finds no value.
type (
	Archive struct {
		Requests                             map[string]map[string][]*ArchivedRequest // by host, then by URL
		Certs                                map[string][]byte                        // by host, DER
		NegotiatedProtocol                   map[string]string                        // by host, as ALPN names it
		DeterministicTimeSeedMs              int64
		ConstantMathRandomResult             *float64
		ServeResponseInChronologicalSequence bool
		CurrentSessionId                     uint32
		DisableFuzzyURLMatching              bool
		Metadata                             string
		InjectedScripts                      map[string]string // by name of the file
	}
	ArchivedRequest struct {
		SerializedRequest   []byte
		SerializedResponse  []byte // empty: the request failed
		LastServedSessionId uint32
		WebSocketMessages   []ArchivedWebSocketMessage // nil: not a websocket
	}
	ArchivedWebSocketMessage struct {
		TimestampMs int64  `json:"timestamp_ms"`
		Direction   int    `json:"direction"`
		Opcode      int    `json:"opcode"`
		Payload     []byte `json:"payload,omitempty"`
	}
)

// Older versions have less, and some that later ones do not have.
type (
	// ordered is before scripts and websockets were kept; a fork of it knew addresses too.
	orderedArchive struct {
		Requests                             map[string]map[string][]*orderedRequest
		Certs                                map[string][]byte
		NegotiatedProtocol                   map[string]string
		RemoteAddresses                      map[string]string
		DeterministicTimeSeedMs              int64
		ServeResponseInChronologicalSequence bool
		CurrentSessionId                     uint32
	}
	orderedRequest struct {
		SerializedRequest   []byte
		SerializedResponse  []byte
		LastServedSessionId uint32
	}
	servedArchive struct {
		Requests                map[string]map[string][]*servedRequest
		Certs                   map[string][]byte
		NegotiatedProtocol      map[string]string
		DeterministicTimeSeedMs int64
		PreferUnservedMatches   bool
	}
	servedRequest struct {
		SerializedRequest  []byte
		SerializedResponse []byte
		Served             bool
	}
	firstArchive struct {
		Requests map[string]map[string][]*firstRequest
		Certs    map[string][]byte
	}
	firstRequest struct {
		SerializedRequest  []byte
		SerializedResponse []byte
		Proto              string
	}
)

// taken is one exchange as the recorder took it: both messages, as they are written.
type taken struct {
	host, url         string
	request, response []byte
	sockets           []ArchivedWebSocketMessage
}

// byHost is what all versions have their requests in.
func byHost[R any](all []taken, made func(taken) *R) map[string]map[string][]*R {
	m := map[string]map[string][]*R{}
	for _, one := range all {
		if m[one.host] == nil {
			m[one.host] = map[string][]*R{}
		}
		m[one.host][one.url] = append(m[one.host][one.url], made(one))
	}
	return m
}

// written is a file as the recorder writes it.
func written(t *testing.T, archive any) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if err := json.NewEncoder(z).Encode(archive); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var (
	seed   = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	packed = func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, strings.Repeat("<p>packed", 1000))
		_ = z.Close()
		return b.Bytes()
	}()
)

// pages are a site; what /n says depends on how often it was asked.
func pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		_, _ = w.Write(packed[:10])
		_ = http.NewResponseController(w).Flush() // nobody knows its length beforehand
		_, _ = w.Write(packed[10:])
	})
	var times atomic.Int32
	mux.HandleFunc("/n", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, []string{"first", "second"}[times.Add(1)-1])
	})
	mux.HandleFunc("/post", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(append([]byte("answer to "), b...))
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// recordedSite sends requests to a real server by HTTP/2 and HTTP/1.1, and takes the messages as
// the recorder does. Bodies are read whole and put back, and net/http writes both messages.
func recordedSite(t *testing.T) (all []taken) {
	t.Helper()
	for _, scheme := range []string{"https", "http"} {
		s := httptest.NewUnstartedServer(pages())
		tr := &http.Transport{}
		if scheme == "https" {
			s.EnableHTTP2 = true
			s.StartTLS()
			tr = s.Client().Transport.(*http.Transport)
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		}
		t.Cleanup(tr.CloseIdleConnections)
		for _, ask := range []struct{ method, path, body string }{{"GET", "/", ""}, {"HEAD", "/", ""},
			{"GET", "/n", ""}, {"GET", "/n", ""}, {"POST", "/post", "a question"}, {"GET", "/none", ""}} {
			r, err := http.NewRequestWithContext(t.Context(), ask.method, scheme+"://example.com"+ask.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			body := func() io.ReadCloser { return io.NopCloser(strings.NewReader(ask.body)) }
			if ask.body != "" {
				r.Body, r.ContentLength = body(), int64(len(ask.body))
			}
			r.Header.Set("User-Agent", "a browser")
			r.Header.Set("Accept-Encoding", "gzip, deflate")
			response, err := tr.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if ask.body != "" {
				r.Body = body()
			}
			response.Body = io.NopCloser(bytes.NewReader(b))
			all = append(all, serialized(t, r, response))
		}
	}
	return all
}

func serialized(t *testing.T, r *http.Request, response *http.Response) taken {
	t.Helper()
	one := taken{host: r.Host, url: r.URL.String()}
	var request, answer bytes.Buffer
	if err := r.Write(&request); err != nil {
		t.Fatal(err)
	}
	if response != nil {
		if err := response.Write(&answer); err != nil {
			t.Fatal(err)
		}
	}
	one.request, one.response = request.Bytes(), answer.Bytes()
	return one
}

// TestWPRFormat: archives of all versions of Web Page Replay give the recorded messages.
func TestWPRFormat(t *testing.T) {
	site := recordedSite(t)
	ask := func(address string, response *http.Response) taken {
		r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return serialized(t, r, response)
	}
	failed := ask("https://gone.test/", nil)
	socket := ask("https://example.com/socket", &http.Response{StatusCode: 101, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}})
	socket.sockets = []ArchivedWebSocketMessage{{TimestampMs: 12, Direction: 1, Opcode: 1, Payload: []byte("hello")},
		{TimestampMs: 15, Opcode: 8}}
	silent := ask("https://example.com/silent", &http.Response{StatusCode: 101, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Upgrade": {"websocket"}}})
	silent.sockets = []ArchivedWebSocketMessage{}
	certs, protocols := map[string][]byte{"example.com": {0x30, 0x82, 1}}, map[string]string{"example.com": "h2"}
	half := 0.5

	newest := func(all []taken, scripts map[string]string) Archive {
		return Archive{Requests: byHost(all, func(o taken) *ArchivedRequest {
			return &ArchivedRequest{SerializedRequest: o.request, SerializedResponse: o.response,
				LastServedSessionId: 1, WebSocketMessages: o.sockets}
		}), Certs: certs, NegotiatedProtocol: protocols, DeterministicTimeSeedMs: seed.UnixMilli(),
			ConstantMathRandomResult: &half, ServeResponseInChronologicalSequence: true, CurrentSessionId: 1,
			DisableFuzzyURLMatching: true, Metadata: "recorded for a test", InjectedScripts: scripts}
	}
	// nil maps, which are null
	bare := Archive{Requests: newest(site, nil).Requests, DeterministicTimeSeedMs: seed.UnixMilli()}
	bare.Requests["empty.test"] = map[string][]*ArchivedRequest{"https://empty.test/": nil}
	bare.Requests["nothing.test"] = nil
	for name, tc := range map[string]struct {
		archive any
		clock   time.Time
		failed  bool
		sockets bool
		notes   string
	}{
		"newest": {newest(append([]taken{failed, socket, silent}, site...), map[string]string{}), seed,
			true, true, ""},
		"newest with scripts": {newest(site, map[string]string{"deterministic.js": "Math.random = () => 0.5"}), seed,
			false, false, "scripts of the archive's own"},
		"newest, bare": {bare, seed, false, false, ""},
		"ordered": {orderedArchive{Requests: byHost(append([]taken{failed}, site...), func(o taken) *orderedRequest {
			return &orderedRequest{o.request, o.response, 0}
		}), Certs: certs, NegotiatedProtocol: protocols, RemoteAddresses: map[string]string{"example.com": "192.0.2.1"},
			DeterministicTimeSeedMs: seed.UnixMilli()}, seed, true, false, ""},
		"served": {servedArchive{Requests: byHost(site, func(o taken) *servedRequest {
			return &servedRequest{o.request, o.response, true}
		}), Certs: certs, NegotiatedProtocol: protocols, DeterministicTimeSeedMs: seed.UnixMilli(),
			PreferUnservedMatches: true}, seed, false, false, ""},
		"first": {firstArchive{Requests: byHost(site, func(o taken) *firstRequest {
			return &firstRequest{o.request, o.response, "h2"}
		}), Certs: certs}, time.Time{}, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := replay.ImportWPR(bytes.NewReader(written(t, tc.archive)), replay.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(a.Notes, "; "); tc.notes == "" && notes != "" ||
				!strings.Contains(notes, tc.notes) {
				t.Errorf("notes %q, want %q", notes, tc.notes)
			}
			if !a.Info.Clock.Equal(tc.clock) {
				t.Errorf("the pages' clock said %v, want %v", a.Info.Clock, tc.clock)
			}
			var rest []*replay.Exchange
			gone, sockets := 0, 0
			for _, e := range a.Exchanges {
				switch ok, why := e.Replayable(); {
				case e.URL == "https://gone.test/" && e.Error != "" && e.Status == 0:
					gone++
				case !ok && strings.Contains(why, "websocket"):
					sockets++
				default:
					rest = append(rest, e)
				}
			}
			if gone != map[bool]int{true: 1}[tc.failed] || sockets != map[bool]int{true: 2}[tc.sockets] {
				t.Errorf("%d failed and %d are websockets", gone, sockets)
			}
			checkSite(t, rest)
		})
	}
}

// checkSite holds exchanges against what recordedSite's servers said.
func checkSite(t *testing.T, all []*replay.Exchange) {
	t.Helper()
	by := map[string][]*replay.Exchange{}
	for _, e := range all {
		key := e.Method + " " + e.URL
		by[key] = append(by[key], e)
	}
	if len(all) != 12 || len(by) != 10 {
		t.Fatalf("%d exchanges of %d URLs", len(all), len(by))
	}
	for _, site := range []struct{ scheme, protocol string }{{"https", "HTTP/2.0"}, {"http", "HTTP/1.1"}} {
		address := site.scheme + "://example.com"
		for key, want := range map[string]struct {
			status int
			asked  string
			bodies []string
		}{
			"GET " + address + "/":      {200, "", []string{string(packed)}},
			"HEAD " + address + "/":     {200, "", []string{""}},
			"GET " + address + "/n":     {200, "", []string{"first", "second"}},
			"POST " + address + "/post": {201, "a question", []string{"answer to a question"}},
			"GET " + address + "/none":  {204, "", []string{""}},
		} {
			if len(by[key]) != len(want.bodies) {
				t.Errorf("%s: %d times", key, len(by[key]))
				continue
			}
			for i, e := range by[key] {
				ok, why := e.Replayable()
				if !ok || e.Status != want.status || e.Upstream != site.protocol ||
					string(e.Body.Bytes) != want.asked || string(e.ResponseBody.Bytes) != want.bodies[i] {
					t.Errorf("%s: %d by %q, asked %q, answered %d bytes (%s)", key, e.Status, e.Upstream, e.Body.Bytes,
						e.ResponseBody.Size, why)
				}
				if e.Header.Get("Host") != "example.com" || e.Header.Get("User-Agent") != "a browser" ||
					e.ResponseHeader.Get("Date") == "" {
					t.Errorf("%s: %v, %v", key, e.Header, e.ResponseHeader)
				}
			}
		}
		page := by["GET "+address+"/"][0].ResponseHeader.Header()
		if page.Get("Content-Type") != "text/html" || page.Get("Content-Encoding") != "gzip" ||
			strings.Join(page["Set-Cookie"], " ") != "a=1 b=2" {
			t.Errorf("%v", page)
		}
	}
}
