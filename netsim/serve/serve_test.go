package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// served is a running server and clients for each protocol.
type served struct {
	*Server
	http, https string // host and port
	end         func() error
	roots       *x509.CertPool
}

func serveIt(t testing.TB, o Options) *served {
	t.Helper()
	a, err := OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o.Authority = a
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := listen(t), listen(t)
	packets, err := net.ListenPacket("udp", secure.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.HTTP(plain)
	s.HTTPS(secure)
	s.QUIC(packets)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	x := &served{Server: s, http: plain.Addr().String(), https: secure.Addr().String(), roots: x509.NewCertPool()}
	x.end = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	if !x.roots.AppendCertsFromPEM(a.PEM()) {
		t.Fatal("the authority's certificate is none")
	}
	t.Cleanup(func() {
		if err := x.end(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// client returns a client that speaks one protocol, and the URL of the server's root.
func (x *served) client(t testing.TB, protocol string) (*http.Client, string) {
	t.Helper()
	config := &tls.Config{RootCAs: x.roots, ServerName: "page.test"}
	if protocol == "h3" {
		tr := &http3.Transport{TLSClientConfig: config, QUICConfig: &quic.Config{}, DisableCompression: true}
		t.Cleanup(func() { _ = tr.Close() })
		return &http.Client{Transport: tr}, "https://" + x.https
	}
	tr := &http.Transport{TLSClientConfig: config, Protocols: new(http.Protocols), DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	if protocol == "h2" {
		tr.Protocols.SetHTTP2(true)
	} else {
		tr.Protocols.SetHTTP1(true)
	}
	if protocol == "http" {
		return &http.Client{Transport: tr}, "http://" + x.http
	}
	return &http.Client{Transport: tr}, "https://" + x.https
}

var protocols = []string{"http", "http/1.1", "h2", "h3"}

func get(t testing.TB, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

// settled waits until all exchanges are over, which a client may know before the server does.
func (x *served) settled(t testing.TB, n int) ([]Connection, []Exchange) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		cs, es := x.Witnessed()
		over := 0
		for _, e := range es {
			if e.Ended != 0 {
				over++
			}
		}
		if over == n {
			return cs, es
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d exchanges are over: %+v", over, n, es)
		}
	}
}

// TestWitness: what the server notes of each protocol.
func TestWitness(t *testing.T) {
	long := strings.Repeat("0123456789", 30_000)
	for _, protocol := range protocols {
		t.Run(strings.ReplaceAll(protocol, "/", ""), func(t *testing.T) {
			x := serveIt(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				if r.Header.Get("Eideticker-Stream") != "" {
					t.Error("the handler sees what was put into the request")
				}
				fmt.Fprintf(w, "%s %s%s", r.URL.Path, b, long)
			})})
			c, root := x.client(t, protocol)
			if _, body := get(t, c, root+"/first"); body != "/first "+long {
				t.Fatalf("got %.40q", body)
			}
			req, _ := http.NewRequest("POST", root+"/second?a=b", strings.NewReader("question "))
			req.Header.Set("Priority", "u=1, i")
			r, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(r.Body); err != nil || string(b) != "/second question "+long {
				t.Fatalf("got %.40q, %v", b, err)
			}
			r.Body.Close()
			cs, es := x.settled(t, 2)
			if len(cs) != 1 {
				t.Fatalf("connections: %+v", cs)
			}
			checkConnection(t, protocol, cs[0])
			for i, e := range es {
				checkExchange(t, protocol, cs[0], e)
				if e.Method != [...]string{"GET", "POST"}[i] || e.URL != root+[...]string{"/first", "/second?a=b"}[i] ||
					e.Urgency != [...]int{3, 1}[i] || e.Incremental != (i == 1) {
					t.Errorf("%+v", e)
				}
				if e.RequestBytes != [...]int64{0, 9}[i] || e.ResponseBytes != int64(len(long)+[...]int{7, 17}[i]) {
					t.Errorf("%d bytes came, %d went", e.RequestBytes, e.ResponseBytes)
				}
			}
			// An end is recorded when its write has returned. On a busy machine that is after the
			// client has had it and sent the next request.
			if es[0].Stream >= es[1].Stream || es[0].FirstByte > es[1].Began || es[0].Ended > es[1].Ended {
				t.Errorf("the first came from %d to %d, and the second began at %d and ended at %d", es[0].FirstByte,
					es[0].Ended, es[1].Began, es[1].Ended)
			}
			if protocol != "h3" && es[0].To > es[1].From {
				t.Errorf("the first was bytes up to %d, the second from %d", es[0].To, es[1].From)
			}
		})
	}
}

func checkConnection(t *testing.T, protocol string, c Connection) {
	t.Helper()
	network, secure, http := "tcp", protocol != "http", protocol
	if protocol == "h3" {
		network = "udp"
	}
	if protocol == "http" {
		http = "http/1.1"
	}
	if c.ID != 1 || c.Network != network || c.Protocol != http || !c.Client.IsValid() || !c.Server.IsValid() ||
		c.Accepted == 0 || c.Closed != 0 || c.Error != "" || c.BytesIn == 0 || c.BytesOut < 600_000 {
		t.Errorf("%+v", c)
	}
	if secure != (c.Name == "page.test" && c.TLS == "TLS 1.3" && c.Hello >= c.Accepted && c.Secured > c.Hello) {
		t.Errorf("of TLS: %+v", c)
	}
}

func checkExchange(t *testing.T, protocol string, c Connection, e Exchange) {
	t.Helper()
	if e.Error != "" || e.Status != 200 || e.Connection != 1 || e.ID == 0 || e.Header.Get("User-Agent") == "" &&
		protocol != "h3" || e.ResponseHeader.Get("Content-Type") == "" {
		t.Errorf("%+v", e)
	}
	if e.Began < max(c.Secured, c.Accepted) || e.Received < e.Began || e.FirstByte < e.Received ||
		e.Ended < e.FirstByte {
		t.Errorf("times out of order: %d secured, %d began, %d received, %d first byte, %d ended", c.Secured, e.Began,
			e.Received, e.FirstByte, e.Ended)
	}
	if protocol == "h3" {
		return
	}
	around := int64(0)
	if c.TLS != "" {
		around = 25 * 22 // records
	}
	if n := e.To - e.From; e.To > c.BytesOut || n < e.ResponseBytes || n > e.ResponseBytes+1500+around {
		t.Errorf("bytes %d to %d of %d are of a response of %d", e.From, e.To, c.BytesOut, e.ResponseBytes)
	}
}

// TestUnknownHost: a name that is not served is refused with a sentence, by any protocol, and the
// witness has it.
//
// Fault: Unknown host, port in use, or a mistake in a timing file
func TestUnknownHost(t *testing.T) {
	x := serveIt(t, Options{Handler: http.NotFoundHandler(),
		Hosts: func(name string) bool { return name == "page.test" }})
	for i, protocol := range protocols {
		c, root := x.client(t, protocol)
		req, _ := http.NewRequest("GET", root+"/", nil)
		for host, status := range map[string]int{"other.test:443": 421, "PAGE.test.:443": 404} {
			req.Host = host
			r, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if r.StatusCode != status || status == 421 &&
				string(b) != "\"other.test\" is not a name that this server has\n" {
				t.Errorf("%s, %s: %d %s", protocol, host, r.StatusCode, b)
			}
		}
		_, es := x.settled(t, 2*i+2)
		for _, e := range es {
			if e.Error != "" || e.Status < 400 {
				t.Errorf("%+v", e)
			}
		}
	}
}

// TestNoMoreIsNotedThanThereIsRoomFor: exchanges beyond the bound are counted, and headers beyond
// theirs are left out.
func TestNoMoreIsNotedThanThereIsRoomFor(t *testing.T) {
	x := serveIt(t, Options{Handler: http.NotFoundHandler()})
	c, root := x.client(t, "http")
	get(t, c, root+"/1")
	x.mu.Lock()
	x.headerBytes = maxHeaderBytes
	x.mu.Unlock()
	get(t, c, root+"/2"+strings.Repeat("x", 4*longURL))
	_, es := x.settled(t, 2)
	if es[0].Header == nil || es[0].ResponseHeader == nil || es[1].Header != nil || es[1].ResponseHeader != nil ||
		len(es[1].URL) != longURL {
		t.Errorf("%+v", es)
	}
	x.mu.Lock()
	full := es
	for len(x.exchanges) < maxExchanges {
		x.exchanges = append(x.exchanges, x.exchanges[0])
	}
	x.mu.Unlock()
	get(t, c, root+"/3")
	_, es = x.Witnessed()
	if _, lost := x.Unnoted(); lost != 1 || len(es) != maxExchanges || es[1].URL != full[1].URL {
		t.Errorf("%d were lost, %d noted", lost, len(es))
	}
}

// TestSecrets: on request, TLS secrets are logged for both TCP and QUIC. A resumed connection is
// recognized.
func TestSecrets(t *testing.T) {
	var keys lines
	x := serveIt(t, Options{Handler: http.NotFoundHandler(), KeyLog: &keys})
	for i, protocol := range []string{"h2", "h3"} {
		c, root := x.client(t, protocol)
		get(t, c, root)
		if n := keys.count("SERVER_TRAFFIC_SECRET_0 "); n != i+1 {
			t.Errorf("after %s, %d secrets are logged", protocol, n)
		}
	}
	config := &tls.Config{RootCAs: x.roots, ServerName: "page.test",
		ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	for range 2 {
		c, err := tls.Dial("tcp", x.https, config)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: page.test\r\nConnection: close\r\n\r\n")
		if _, err := io.ReadAll(c); err != nil { // takes the ticket in
			t.Fatal(err)
		}
		c.Close()
	}
	cs, _ := x.settled(t, 4)
	if cs[2].Resumed || !cs[3].Resumed {
		t.Errorf("%+v", cs[2:])
	}
}

// lines collects the log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// TestRunRefuses: what cannot be served is said before anything is, and sockets do not stay open.
func TestRunRefuses(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a server without a handler is made")
	}
	for name, add := range map[string]func(*Server, net.Listener){
		"HTTPS": func(s *Server, l net.Listener) { s.HTTPS(l) },
		"QUIC": func(s *Server, l net.Listener) {
			p, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s.HTTP(l)
			s.QUIC(p)
		},
	} {
		s, err := New(Options{Handler: http.NotFoundHandler()})
		if err != nil {
			t.Fatal(err)
		}
		l := listen(t)
		add(s, l)
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), name+" without an authority") {
			t.Errorf("%v", err)
		}
		if err := s.Run(t.Context()); err == nil {
			t.Error("it runs twice")
		}
		if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
			t.Error("the socket is open")
		}
	}
}

// TestRunNotesAllEnds: when Run returns, the end of each connection is recorded. The QUIC library
// reports its ends late.
func TestRunNotesAllEnds(t *testing.T) {
	x := serveIt(t, Options{Handler: http.NotFoundHandler()})
	const n = 20
	for range n {
		c, root := x.client(t, "h3")
		get(t, c, root)
	}
	if err := x.end(); err != nil {
		t.Error(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.connections) != n || len(x.open) != 0 {
		t.Errorf("%d connections of %d, %d are open", len(x.connections), n, len(x.open))
	}
	for _, c := range x.connections {
		c.mu.Lock()
		if c.seen.Closed == 0 {
			t.Errorf("%+v", c.seen)
		}
		c.mu.Unlock()
	}
}

// TestRunWaitsForHandlers: when it returns, none runs any more, also of those whose client is not
// looked at while they do.
func TestRunWaitsForHandlers(t *testing.T) {
	for _, protocol := range protocols {
		begun, over := make(chan struct{}), make(chan struct{})
		x := serveIt(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			time.Sleep(30 * time.Millisecond) // it has to put something away
			close(over)
		})})
		c, root := x.client(t, protocol)
		go func() {
			if r, err := c.Post(root, "text/plain", strings.NewReader("a body that nobody reads")); err == nil {
				r.Body.Close()
			}
		}()
		<-begun
		if err := x.end(); err != nil {
			t.Error(err)
		}
		select {
		case <-over:
		default:
			t.Errorf("%s: a handler runs still", protocol)
		}
	}
}
