package replay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRecorderPassesOn: what a site is asked, and what it answers, is the same with a recorder
// between.
func TestRecorderPassesOn(t *testing.T) {
	asked := make(chan *http.Request, 10)
	posted := make(chan string, 10)
	s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked <- r
		posted <- string(b)
		w.Header().Set("X-Answer", "yes")
		w.Header().Set("Alt-Svc", `h3=":443"`)
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
		w.Header().Set("X-Sum", "17")
	}))
	r := record(t, RecorderOptions{Roots: s.roots, Dial: s.dial})
	g := get(t, r.client(t, true), "POST", "https://EXAMPLE.com:443/tea?x=%2F&y#here", "with milk", "Accept-Encoding",
		"br, zstd", "Cookie", "a=b", "User-Agent", "kettle")
	if g.status != http.StatusTeapot || string(g.body) != "short and stout" || g.header.Get("X-Answer") != "yes" ||
		g.proto != "HTTP/2.0" {
		t.Fatalf("%+v", g)
	}
	if g.header.Get("Alt-Svc") != "" {
		t.Error("the device is told of a way around the recorder")
	}
	in, body := <-asked, <-posted
	if body != "with milk" || in.RequestURI != "/tea?x=%2F&y" || in.ContentLength != 9 {
		t.Errorf("the site was asked for %s with %q", in.RequestURI, body)
	}
	for name, want := range map[string]string{"Accept-Encoding": "br, zstd", "Cookie": "a=b", "User-Agent": "kettle",
		"X-Forwarded-For": "", "Via": ""} {
		if in.Header.Get(name) != want {
			t.Errorf("the site had %s: %q, want %q", name, in.Header.Get(name), want)
		}
	}
	r.Close()
	if left := r.memory.Load(); left != r.options.Memory {
		t.Errorf("%d of %d bytes of memory are left", left, r.options.Memory)
	}
	a := r.archive(t)
	e := a.Exchanges[0]
	if e.URL != "https://example.com/tea?x=%2F&y" || e.Method != "POST" || string(e.Body.Bytes) != "with milk" ||
		e.Status != http.StatusTeapot || e.Protocol != "HTTP/2.0" || e.Upstream != "HTTP/2.0" || e.Connection == 0 {
		t.Errorf("%+v", e)
	}
	if e.ResponseHeader.Get("Alt-Svc") == "" || len(e.Trailer) != 1 || e.Trailer[0] != (Field{"X-Sum", "17"}) {
		t.Errorf("%v, %v", e.ResponseHeader, e.Trailer)
	}
}

// answering is the address of a site that answers each request with the same bytes.
func answering(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					_, _ = io.WriteString(c, answer)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestRecorderKeepsSpelling: fields of HTTP/1.1 responses keep their order and spelling, also after
// an interim response.
func TestRecorderKeepsSpelling(t *testing.T) {
	address := answering(t,
		"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nx-ZEBRA: 1\r\n"+
			"set-COOKIE: b=1\r\nAlpha:  2 \r\nset-COOKIE: a=2\r\ncontent-length: 2\r\n\r\nok")
	r := record(t, RecorderOptions{})
	c := r.client(t, false)
	for range 2 { // the second over the same connection
		if g := get(t, c, "GET", "http://"+address+"/", ""); string(g.body) != "ok" {
			t.Fatalf("%+v", g)
		}
	}
	want := Fields{{"x-ZEBRA", "1"}, {"set-COOKIE", "b=1"}, {"Alpha", "2"}, {"set-COOKIE", "a=2"},
		{"content-length", "2"}}
	for _, e := range r.archive(t).Exchanges {
		if !e.HeaderOrder || fmt.Sprint(e.ResponseHeader) != fmt.Sprint(want) {
			t.Errorf("kept are %v (%v)", e.ResponseHeader, e.HeaderOrder)
		}
	}
}

// TestRecorderDoesNotHoldUp: the device has a part of a body before the site has sent the rest. A
// slow device does not change the recorded times.
func TestRecorderDoesNotHoldUp(t *testing.T) {
	more := make(chan struct{})
	s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first ")
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = io.WriteString(w, "second")
	}))
	r := record(t, RecorderOptions{Roots: s.roots, Dial: s.dial})
	response, err := r.client(t, true).Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	part := make([]byte, 6)
	if _, err := io.ReadFull(response.Body, part); err != nil || string(part) != "first " {
		t.Fatalf("%q %v", part, err)
	}
	close(more)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "second" {
		t.Fatalf("%q %v", rest, err)
	}
}

func TestRecorderTakesWhatSlowDevicesHaveNotRead(t *testing.T) {
	size := 48 << 20
	sent := make(chan struct{})
	s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
		_ = http.NewResponseController(w).Flush()
		close(sent)
	}))
	r := record(t, RecorderOptions{Roots: s.roots, Dial: s.dial})
	response, err := r.client(t, false).Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	<-sent // although nothing of it was read
	if b, err := io.ReadAll(response.Body); err != nil || len(b) != size {
		t.Fatalf("%d bytes: %v", len(b), err)
	}
}

// TestRecorderIsBounded: a body that is too large is passed on and marked.
func TestRecorderIsBounded(t *testing.T) {
	size := 3 << 20
	s := newSite(t, true, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), size)) }))
	for name, o := range map[string]RecorderOptions{"body": {Limits: DefaultLimits()},
		"memory": {Limits: DefaultLimits(), Memory: 1 << 20}} {
		if name == "body" {
			o.Limits.Body = 1 << 20
		}
		o.Roots, o.Dial = s.roots, s.dial
		r := record(t, o)
		if g := get(t, r.client(t, true), "GET", "https://example.com/", ""); len(g.body) != size || g.err != nil {
			t.Fatalf("%s: %d bytes came through: %v", name, len(g.body), g.err)
		}
		e := r.archive(t).Exchanges[0]
		if ok, why := e.Replayable(); ok || e.ResponseBody.Size != 0 || !strings.Contains(why, "larger than") {
			t.Errorf("%s: %d bytes kept, %q", name, e.ResponseBody.Size, why)
		}
		if got := r.Recorded(); got.Missing != 1 || len(got.Notes) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		if left, all := r.memory.Load(), r.options.Memory; left != all {
			t.Errorf("%s: %d of %d bytes of memory are left", name, left, all)
		}
	}
}

// TestRecorderAndCertificates: a site without a valid certificate is refused with a sentence. On
// request it is recorded and marked.
func TestRecorderAndCertificates(t *testing.T) {
	s := newSite(t, true, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") }))
	for name, tc := range map[string]struct {
		roots    *x509.CertPool
		host     string
		insecure bool
		refused  string
	}{
		"unknown authority": {x509.NewCertPool(), "example.com", false,
			"the certificate of example.com is not trusted"},
		"another's name": {s.roots, "other.test", false, "the certificate of other.test is not trusted"},
		"all the same":   {x509.NewCertPool(), "example.com", true, ""},
	} {
		r := record(t, RecorderOptions{Roots: tc.roots, Dial: s.dial, Insecure: tc.insecure})
		g := get(t, r.client(t, true), "GET", "https://"+tc.host+"/", "")
		e := r.archive(t).Exchanges[0]
		got := r.Recorded()
		if tc.refused != "" {
			if g.status != http.StatusBadGateway || !strings.Contains(string(g.body), tc.refused) ||
				!strings.Contains(e.Error, tc.refused) || got.Failed != 1 || got.Refused != 1 || len(got.Notes) != 1 {
				t.Errorf("%s: %d %s; %q; %+v", name, g.status, g.body, e.Error, got)
			}
			continue
		}
		if g.status != 200 || string(g.body) != "hello" || !strings.Contains(e.Insecure, "unknown authority") ||
			got.Insecure != 1 || got.Refused != 0 || len(got.Notes) != 1 {
			t.Errorf("%s: %d %s; %q; %+v", name, g.status, g.body, e.Insecure, got)
		}
	}
}

// TestRecorderAndSitesThatFail: the device gets an error for missing and aborted answers, and both
// are recorded as such.
func TestRecorderAndSitesThatFail(t *testing.T) {
	s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "part")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	r := record(t, RecorderOptions{Roots: s.roots, Dial: func(ctx context.Context, network, address string) (net.Conn,
		error) {
		if strings.HasPrefix(address, "gone.test") {
			return nil, fmt.Errorf("no route to gone.test")
		}
		return s.dial(ctx, network, address)
	}})
	c := r.client(t, false)
	if g := get(t, c, "GET", "https://gone.test/", ""); g.status != http.StatusBadGateway ||
		!strings.Contains(string(g.body), "gone.test does not answer") {
		t.Errorf("%d %s", g.status, g.body)
	}
	if g := get(t, c, "GET", "https://example.com/", ""); g.err == nil || string(g.body) != "part" {
		t.Errorf("%q %v", g.body, g.err)
	}
	a := r.archive(t)
	if got := r.Recorded(); got.Failed != 2 {
		t.Errorf("%+v", got)
	}
	if e := a.Exchanges[1]; e.Status != 200 || string(e.ResponseBody.Bytes) != "part" ||
		!strings.Contains(e.Error, "ended before it was whole") {
		t.Errorf("%+v", e)
	}
	// Replayed, it fails in the same way.
	replayer, err := NewReplayer(a, ReplayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c = newStage(t, replayer, nil).client(t, false)
	if g := get(t, c, "GET", "https://gone.test/", ""); g.status != http.StatusBadGateway ||
		!strings.Contains(string(g.body), "gone.test does not answer") {
		t.Errorf("replayed: %d %s", g.status, g.body)
	}
	if g := get(t, c, "GET", "https://example.com/", ""); g.err == nil || string(g.body) != "part" {
		t.Errorf("replayed: %q %v", g.body, g.err)
	}
}

// TestRecorderBrokenOff: exchanges that the device aborts, or that are under way at the end, are
// kept with the reason.
func TestRecorderBrokenOff(t *testing.T) {
	t.Parallel() // it waits
	for _, by := range []string{"the device", "the recording"} {
		left := make(chan struct{})
		s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(left)
		}))
		r := record(t, RecorderOptions{Roots: s.roots, Dial: s.dial})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, "GET", "https://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := r.client(t, true).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(response.Body, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		if by == "the device" {
			cancel()
			<-left // after a moment in which it might have ended as it should
		}
		r.Close() // which waits
		<-left
		response.Body.Close()
		if e := r.archive(t).Exchanges[0]; !strings.HasPrefix(e.Error, by) || string(e.ResponseBody.Bytes) != "part" {
			t.Errorf("%s: %q, %q", by, e.Error, e.ResponseBody.Bytes)
		}
	}
}

// TestRecorderAsTheSites: behind names that lead to it, the recorder is the site on both ports, and
// no proxy.
func TestRecorderAsTheSites(t *testing.T) {
	s := newSite(t, true, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s by TLS", r.Host) }))
	plain := newSite(t, false,
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s in the clear", r.Host) }))
	r := record(t, RecorderOptions{Roots: s.roots, Dial: func(ctx context.Context, network, address string) (net.Conn,
		error) {
		if strings.HasSuffix(address, ":80") {
			return plain.dial(ctx, network, address)
		}
		return s.dial(ctx, network, address)
	}})
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: r.roots}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			to := r.plain
			if strings.HasSuffix(address, ":443") {
				to = r.secure
			}
			return new(net.Dialer).DialContext(ctx, network, to.String())
		}}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	for address, want := range map[string]string{"http://example.com/": "example.com in the clear",
		"https://example.com/": "example.com by TLS"} {
		if g := get(t, c, "GET", address, ""); string(g.body) != want {
			t.Errorf("%s: %+v, want %q", address, g, want)
		}
	}
	conn, err := net.Dial("tcp", r.plain.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%v %v", response, err)
	}
}

// TestRecorderAndWebsockets: they go through, and are marked.
func TestRecorderAndWebsockets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
			r.Header.Get("Upgrade"))
		line, _ := rw.ReadString('\n')
		fmt.Fprintf(c, "you said %s", line)
	}))
	defer s.Close()
	r := record(t, RecorderOptions{})
	c, err := net.Dial("tcp", r.proxy.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	host := s.Listener.Addr().String()
	in := bufio.NewReader(c)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	if response, err := http.ReadResponse(in, nil); err != nil || response.StatusCode != 200 {
		t.Fatalf("%v %v", response, err)
	}
	fmt.Fprintf(c, "GET /chat HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
		host)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols ||
		response.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("%v %v", response, err)
	}
	fmt.Fprint(c, "hello\n")
	if line, err := in.ReadString('\n'); line != "you said hello\n" {
		t.Errorf("%q %v", line, err)
	}
	c.Close()
	r.Close()
	e := r.archive(t).Exchanges[0]
	if ok, why := e.Replayable(); ok || why != notWebSocket || e.Status != 101 || e.URL != "http://"+host+"/chat" {
		t.Errorf("%+v", e)
	}
}

// TestProxyRefuses invalid requests, and continues for others.
func TestProxyRefuses(t *testing.T) {
	s := newSite(t, true, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") }))
	r := record(t, RecorderOptions{Roots: s.roots, Dial: s.dial})
	for text, want := range map[string]int{
		"CONNECT nothing HTTP/1.1\r\nHost: nothing\r\n\r\n":             400,
		"GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n":      400,
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n":                           400,
		"GET http://:80/ HTTP/1.1\r\nHost: x\r\n\r\n":                   400,
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("y", 300<<10) + "\r\n": 431,
	} {
		c, err := net.Dial("tcp", r.proxy.String())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(c, text) }()
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || response.StatusCode != want {
			t.Errorf("%.60q: %v %v, want %d", text, response, err, want)
		}
		c.Close()
	}
	if g := get(t, r.client(t, true), "GET", "https://example.com/", ""); string(g.body) != "hello" {
		t.Errorf("%+v", g)
	}
}

func TestChunksAreBounded(t *testing.T) {
	var all []Chunk
	for i := range 10_000 {
		all = addChunk(all, Chunk{3, time.Duration(i) * time.Millisecond}, 64)
	}
	var sum int64
	for i, c := range all {
		if sum += c.Bytes; i > 0 && c.After <= all[i-1].After {
			t.Fatalf("chunk %d at %v is before the one before", i, c.After)
		}
		// Data that has arrived by a time had arrived at that time.
		if sum/3-1 > int64(c.After/time.Millisecond) {
			t.Fatalf("%d bytes at %v, when %d had come", sum, c.After, 3*(c.After/time.Millisecond+1))
		}
	}
	if sum != 30_000 || len(all) > 64 || len(all) < 16 {
		t.Errorf("%d bytes in %d chunks", sum, len(all))
	}
}

// TestRecorderEndsWithTheSite: the device's delay is not part of the site's times.
func TestRecorderEndsWithTheSite(t *testing.T) {
	r := record(t, RecorderOptions{})
	x := &passing{r: r.Recorder, in: httptest.NewRequest("GET", "http://a.test/", nil),
		first: time.Now().Add(-time.Hour), way: t.Context()}
	x.e.Method, x.e.URL, x.e.Status = "GET", "http://a.test/", 200
	tape := newTape(DefaultLimits(), &r.memory)
	tape.fill(strings.NewReader("body"), func() time.Duration { return 7 * time.Millisecond })
	x.ended(&http.Response{}, tape)
	if e := r.archive(t).Exchanges[0]; e.Ended != 7*time.Millisecond || string(e.ResponseBody.Bytes) != "body" {
		t.Errorf("%q ended after %v", e.ResponseBody.Bytes, e.Ended)
	}
}

// TestRecorderAndAStatusThatIsNone: net/http takes 099 from a site, and panics when it is to send
// it.
func TestRecorderAndAStatusThatIsNone(t *testing.T) {
	address := answering(t, "HTTP/1.1 099 None\r\nContent-Length: 0\r\n\r\n")
	r := record(t, RecorderOptions{})
	if g := get(t, r.client(t, false), "GET", "http://"+address+"/", ""); g.status != http.StatusBadGateway ||
		!strings.Contains(string(g.body), "its status is 99") {
		t.Errorf("%+v", g)
	}
	if a := r.archive(t); len(a.Exchanges) != 1 || !strings.Contains(a.Exchanges[0].Error, "its status is 99") {
		t.Errorf("%+v", a)
	}
}

// full has no file descriptors for the first devices.
type full struct {
	net.Listener
	times int
}

func (l *full) Accept() (net.Conn, error) {
	if l.times++; l.times <= 3 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestProxyWaitsForFileDescriptors, of which other programs may have all for a moment.
func TestProxyWaitsForFileDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := NewProxy(ProxyOptions{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, Entrance{&full{Listener: l}, Plain}) }()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	if g := get(t, &http.Client{Transport: tr}, "GET", "http://"+l.Addr().String()+"/", ""); string(g.body) != "here" {
		t.Errorf("%+v", g)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
