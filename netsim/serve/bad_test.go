package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/eideticker/eideticker/capture/timeline"
)

// await waits for something that happens by itself.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

// taken is how many connections the server has had.
func (s *Server) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections)
}

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// dialTLS agrees on a protocol.
func (x *served) dialTLS(t testing.TB, protocol string) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", x.https, &tls.Config{RootCAs: x.roots, ServerName: "page.test",
		NextProtos: []string{protocol}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestClientsThatTakeNothing are given up, by each protocol, and the witness says why.
//
// Fault: A client reads nothing, sends slowly or opens 10,000 connections
func TestClientsThatTakeNothing(t *testing.T) {
	t.Parallel() // it waits
	long := bytes.Repeat([]byte{0}, 64<<20)
	// in which each has said what it wants, and h3 has its head
	x := serveIt(t, Options{Stall: 2 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(long) })})
	fmt.Fprint(dial(t, x.http), "GET / HTTP/1.1\r\nHost: page.test\r\n\r\n")
	fmt.Fprint(x.dialTLS(t, "http/1.1"), "GET / HTTP/1.1\r\nHost: page.test\r\n\r\n")
	// Of HTTP/2 one that reads nothing, and one that reads but opens no window.
	for range 2 {
		c := x.dialTLS(t, "h2")
		fmt.Fprint(c, preface)
		f := http2.NewFramer(c, c)
		var block bytes.Buffer
		e := hpack.NewEncoder(&block)
		for _, v := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "page.test"},
			{":path", "/"}} {
			_ = e.WriteField(hpack.HeaderField{Name: v[0], Value: v[1]})
		}
		_ = f.WriteSettings()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true,
			EndHeaders: true})
	}
	c, root := x.client(t, "h3")
	r, err := c.Get(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	_, es := x.settled(t, 5)
	for _, e := range es {
		if !strings.Contains(e.Error, "too long") && !strings.Contains(e.Error, "gave it up") ||
			e.ResponseBytes >= int64(len(long)) {
			t.Errorf("%+v", e)
		}
		t.Logf("%d of %d bytes, %s", e.ResponseBytes, len(long), e.Error)
	}
}

// TestSlowLines: clients that read all the time, but slowly, get all of what they asked for.
func TestSlowLines(t *testing.T) {
	t.Parallel() // it waits
	const streams, size = 16, 512 << 10
	long := bytes.Repeat([]byte{0}, size)
	// all of it takes longer; a machine stands still for less
	x := serveIt(t, Options{Stall: 3 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(long) })})
	c, root := x.client(t, "h2")
	c.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &slowReader{raw}, raw.(*net.TCPConn).SetReadBuffer(64 << 10)
	}
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			r, err := c.Get(root)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			if n, err := io.Copy(io.Discard, r.Body); n != size || err != nil {
				t.Errorf("%d bytes of %d came, %v", n, size, err)
			}
		})
	}
	all.Wait()
	_, es := x.settled(t, streams)
	for _, e := range es {
		if e.Error != "" || e.ResponseBytes != size {
			t.Errorf("%+v", e)
		}
	}
}

// slowReader reads 2 MB a second.
type slowReader struct{ net.Conn }

func (r *slowReader) Read(b []byte) (int, error) {
	time.Sleep(8 * time.Millisecond)
	return r.Conn.Read(b[:min(len(b), 16<<10)])
}

// TestSlowConnection: one large write to a client that reads slowly succeeds. One to a client that
// reads nothing fails.
func TestSlowConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes while somebody has something to do
		ours, theirs := net.Pipe()
		defer theirs.Close()
		s := &Server{options: Options{Stall: time.Second}, clock: timeline.Monotonic()}
		c := &connection{Conn: ours, s: s}
		go func() {
			for range 4 {
				_, _ = io.ReadFull(theirs, make([]byte, 300))
				time.Sleep(400 * time.Millisecond)
			}
		}()
		if n, err := c.Write(make([]byte, 1200)); n != 1200 || err != nil || c.seen.BytesOut != 1200 {
			t.Errorf("%d bytes are taken and %d are noted, %v", n, c.seen.BytesOut, err)
		}
		if n, err := c.Write(make([]byte, 1200)); n != 0 || err == nil || c.seen.Error != tookNothing {
			t.Errorf("%d bytes are taken by nobody, %v, %q", n, err, c.seen.Error)
		}
	})
}

// frame2 speaks HTTP/2 as the tests of windows and cancelled requests need it.
type frame2 struct {
	*http2.Framer
	heads bytes.Buffer
	pack  *hpack.Encoder
}

func (x *served) frames(t *testing.T, settings ...http2.Setting) *frame2 {
	t.Helper()
	c := x.dialTLS(t, "h2")
	fmt.Fprint(c, preface)
	f := &frame2{Framer: http2.NewFramer(c, c)}
	f.pack = hpack.NewEncoder(&f.heads)
	if err := f.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return f
}

func (f *frame2) get(t *testing.T, stream uint32, path string) {
	t.Helper()
	f.heads.Reset()
	for _, v := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "page.test"},
		{":path", path}} {
		_ = f.pack.WriteField(hpack.HeaderField{Name: v[0], Value: v[1]})
	}
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.heads.Bytes(), EndStream: true,
		EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
}

// TestShutWindows: a client of HTTP/2 that reads but opens no window is given up, even if it was
// sent little. The connection continues.
func TestShutWindows(t *testing.T) {
	t.Parallel() // it waits
	// a machine stands still for less
	x := serveIt(t, Options{Stall: 2 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "little")
			if r.URL.Path == "/flushed" {
				w.(http.Flusher).Flush()
			}
		})})
	f := x.frames(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	f.get(t, 1, "/")
	f.get(t, 3, "/flushed")
	_, es := x.settled(t, 2)
	for _, e := range es {
		if e.Error != tookNothing {
			t.Errorf("%+v", e)
		}
	}
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100}); err != nil {
		t.Fatal(err)
	}
	f.get(t, 5, "/")
	if _, es := x.settled(t, 3); es[2].Error != "" {
		t.Errorf("then: %+v", es[2])
	}
}

// TestRequestsThatAreCancelled end, whenever the client does not want them any more, and nothing is
// kept for them; so do those whose handler gives up before it answers.
func TestRequestsThatAreCancelled(t *testing.T) {
	const n = 600 // of which fewer are open at once than may be
	x := serveIt(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/waits":
			<-r.Context().Done()
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/panics":
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "answer")
	})})
	f := x.frames(t)
	for i := range uint32(n) {
		path := [...]string{"/", "/empty", "/waits", "/panics"}[i%4]
		f.get(t, 2*i+1, path)
		if path != "/panics" {
			if err := f.WriteRSTStream(2*i+1, http2.ErrCodeCancel); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.get(t, 2*n+1, "/last")
	// Of those that the client has cancelled before they came so far, the handler may never hear. The
	// others come in any order, also after the last one.
	x.mu.Lock()
	c := x.connections[0]
	x.mu.Unlock()
	var es []Exchange
	await(t, "those not cancelled have come, all are over, and nothing is kept for them", func() bool {
		_, es = x.Witnessed()
		certain := 0
		for _, e := range es {
			if e.Ended == 0 {
				return false
			}
			if strings.HasSuffix(e.URL, "/panics") || strings.HasSuffix(e.URL, "/last") {
				certain++
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return certain == n/4+1 && len(c.streams) == 0
	})
	reasons := map[string]int{}
	for _, e := range es {
		if e.Error != "" && e.Error != "the client gave it up" && e.Error != "the handler gave up" ||
			strings.HasSuffix(e.URL, "/waits") && e.Error != "the client gave it up" {
			t.Errorf("%+v", e)
		}
		reasons[e.Error]++
	}
	t.Logf("%d of %d came to the handler: %v", len(es), n+1, reasons)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unwanted) > 4*maxStreams {
		t.Errorf("%d streams that nobody wants are kept", len(c.unwanted))
	}
}

// TestClientsThatAreSlow are given up: in the agreement on TLS, in a head, in a body.
//
// Fault: A client reads nothing, sends slowly or opens 10,000 connections
func TestClientsThatAreSlow(t *testing.T) {
	t.Parallel() // it waits
	x := serveIt(t, Options{Patience: 3 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				panic(http.ErrAbortHandler)
			}
		})}) // also those that are to come as far as the head agree on TLS within this, on a busy machine
	for name, c := range map[string]net.Conn{"TLS": dial(t, x.https), "head": dial(t, x.http), "body": dial(t, x.http),
		"head within TLS": x.dialTLS(t, "http/1.1")} {
		switch name {
		case "TLS":
			_, _ = c.Write([]byte{22})
		case "body":
			fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: page.test\r\nContent-Length: 100\r\n\r\na")
		default:
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHo")
		}
	}
	await(t, "all are closed", func() bool {
		cs, _ := x.Witnessed()
		return len(cs) == 4 && !slices.ContainsFunc(cs, func(c Connection) bool { return c.Closed == 0 })
	})
}

// TestAbsurdHeads are refused, and others are served on.
//
// Fault: A client reads nothing, sends slowly or opens 10,000 connections
func TestAbsurdHeads(t *testing.T) {
	x := serveIt(t, Options{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "fine") })})
	for _, protocol := range protocols {
		c, root := x.client(t, protocol)
		req, _ := http.NewRequest("GET", root, nil)
		req.Header.Set("Long", strings.Repeat("x", 3*maxHead))
		r, err := c.Do(req)
		if err == nil {
			r.Body.Close()
			if r.StatusCode != 431 {
				t.Errorf("%s: a head of %d bytes: %d", protocol, 3*maxHead, r.StatusCode)
			}
		} else {
			t.Logf("%s: %.200v", protocol, err)
		}
		c, root = x.client(t, protocol)
		if _, body := get(t, c, root); body != "fine" {
			t.Errorf("%s: then %q", protocol, body)
		}
	}
	for in, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET": "HTTP/1.1 200",
		"\x00\x01\x02\r\n\r\n":                 "HTTP/1.1 400",
		"GET / HTTP/1.1\r\n\r\n":               "HTTP/1.1 400",
		"GET / HTTP/9.9\r\nHost: a\r\n\r\n":    "HTTP/1.1 505",
	} {
		c := dial(t, x.http)
		fmt.Fprint(c, in)
		b := make([]byte, len(want))
		if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
			t.Errorf("%q is answered by %q, %v", in, b, err)
		}
	}
	c := dial(t, x.https)
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if b, err := io.ReadAll(c); err != nil || !strings.Contains(string(b), "This port speaks HTTPS") {
		t.Errorf("HTTP to the port of HTTPS: %q, %v", b, err)
	}
}

// TestTooManyConnections: those beyond the limit are closed at once, and room that becomes free is
// used.
//
// Fault: A client reads nothing, sends slowly or opens 10,000 connections
func TestTooManyConnections(t *testing.T) {
	x := serveIt(t, Options{Connections: 10, Handler: http.NotFoundHandler()})
	var all []net.Conn
	for range 10 {
		all = append(all, dial(t, x.http))
	}
	if _, err := dial(t, x.http).Read(make([]byte, 1)); err == nil {
		t.Error("one too many is served")
	}
	await(t, "it is counted", func() bool { refused, _ := x.Unnoted(); return refused == 1 })
	all[3].Close()
	await(t, "there is room again", func() bool {
		c := dial(t, x.http)
		defer c.Close()
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		b, _ := io.ReadAll(c)
		return strings.HasPrefix(string(b), "HTTP/1.1 404")
	})
}

// TestOthersKeepTheirTiming: other clients are answered on time beside thousands of connections
// that send half a head or read nothing.
//
// Fault: A client reads nothing, sends slowly or opens 10,000 connections
func TestOthersKeepTheirTiming(t *testing.T) {
	many := 9_500 // both ends are in this process, of which a system may allow 20,000 files
	if testing.Short() {
		many = 500
	}
	const latency = 20 * time.Millisecond
	long := bytes.Repeat([]byte{1}, 8<<20)
	p := pages(t, Rule{Pattern: "/", Timing: Timing{Latency: latency}})
	x := serveIt(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = w.Write(long)
			return
		}
		p.ServeHTTP(w, r)
	})})
	late := func(when string) time.Duration {
		c, root := x.client(t, "h2")
		var all []time.Duration
		for range 50 {
			began := time.Now()
			get(t, c, root+"/")
			all = append(all, time.Since(began)-latency)
		}
		slices.Sort(all)
		if all[0] < 0 {
			t.Errorf("%s, one came %v early", when, -all[0])
		}
		t.Logf("%s: late by %v in the median, %v at most", when, all[len(all)/2], all[len(all)-1])
		return all[len(all)/2]
	}
	alone := late("alone")
	began := time.Now()
	var dialing sync.WaitGroup
	for worker := range 8 {
		dialing.Go(func() {
			for i := worker; i < many; i += 8 {
				// what the system has no room to keep waiting is sent again seconds later
				await(t, "connections are taken", func() bool { return i-x.taken() < 1000 })
				c, err := net.Dial("tcp", x.http)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { c.Close() })
				if i%100 == 0 {
					fmt.Fprint(c, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
				} else {
					fmt.Fprint(c, "GET / HT")
				}
			}
		})
	}
	dialing.Wait()
	t.Logf("%d connections after %v", many, time.Since(began))
	await(t, "all are connected", func() bool { return x.taken() > many })
	// A machine that is busy is late by itself; one connection in the way of another would be by
	// seconds.
	if among := late("among others"); among > 20*alone+time.Second {
		t.Errorf("among %d connections others are late by %v, and %v alone", many, among, alone)
	}
}
