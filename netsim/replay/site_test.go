package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/serve"
)

// site is a server on loopback that is reached by any name.
type site struct {
	*httptest.Server
	roots *x509.CertPool
}

func newSite(t testing.TB, secure bool, h http.Handler) *site {
	t.Helper()
	s := &site{Server: httptest.NewUnstartedServer(h)}
	s.EnableHTTP2 = true
	if secure {
		s.StartTLS()
		s.roots = x509.NewCertPool()
		s.roots.AddCert(s.Certificate())
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// dial leads to the site, whatever is asked for: example.com is a name in its certificate.
func (s *site) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
}

// stage is a recorder or a replayer with a device before it.
type stage struct {
	authority *serve.Authority
	roots     *x509.CertPool
	proxy     net.Addr
	plain     net.Addr
	secure    net.Addr
}

func newStage(t testing.TB, h http.Handler, numbered func(context.Context, net.Conn) context.Context) *stage {
	t.Helper()
	authority, err := serve.OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{authority: authority, roots: x509.NewCertPool()}
	s.roots.AppendCertsFromPEM(authority.PEM())
	p := NewProxy(ProxyOptions{Handler: h, ConnContext: numbered,
		TLS: &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return authority.Certificate(hello.ServerName)
		}}})
	var entrances []Entrance
	for _, door := range []struct {
		Door
		address *net.Addr
	}{{AsProxy, &s.proxy}, {Plain, &s.plain}, {Secure, &s.secure}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*door.address = l.Addr()
		entrances = append(entrances, Entrance{l, door.Door})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, entrances...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// client is a device that knows of the proxy, and trusts the authority.
func (s *stage) client(t testing.TB, h2 bool) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: s.proxy.String()}),
		TLSClientConfig: &tls.Config{RootCAs: s.roots}, ForceAttemptHTTP2: h2, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// recording is a recorder with what it has written.
type recording struct {
	*stage
	*Recorder
	file   *file
	writer *Writer
	told   sync.Mutex
	all    []Exchange
}

func record(t testing.TB, o RecorderOptions) *recording {
	t.Helper()
	r := &recording{file: &file{}}
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	var err error
	if r.writer, err = NewWriter(r.file, Info{Writer: "test", Created: time.Now()}, o.Limits); err != nil {
		t.Fatal(err)
	}
	o.To = r.writer
	o.OnExchange = func(e *Exchange, _ string) { r.told.Lock(); r.all = append(r.all, *e); r.told.Unlock() }
	r.Recorder = NewRecorder(o)
	t.Cleanup(r.Close)
	r.stage = newStage(t, r.Recorder, r.ConnContext)
	return r
}

// archive ends the recording.
func (r *recording) archive(t testing.TB) *Archive {
	t.Helper()
	if err := r.writer.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := readBack(r.file.Bytes())
	if err != nil || len(a.Notes) > 0 {
		t.Fatalf("%v, %v", err, a)
	}
	return a
}

// got is a response as a device has it.
type got struct {
	status int
	header http.Header
	body   []byte
	err    error // of the body
	after  time.Duration
	proto  string
}

func get(t testing.TB, c *http.Client, method, address, body string, header ...string) got {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		r.Body, r.ContentLength = nil, 0
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	began := time.Now()
	response, err := c.Do(r)
	if err != nil {
		return got{err: err}
	}
	defer response.Body.Close()
	g := got{status: response.StatusCode, header: response.Header, after: time.Since(began), proto: response.Proto}
	g.body, g.err = io.ReadAll(response.Body)
	return g
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

// page is a site of a document with n resources, each in parts that come at times of their own.
func page(n int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range n {
			fmt.Fprintf(w, "<img src=/r/%d>\n", i)
		}
	})
	mux.HandleFunc("/r/{n}", func(w http.ResponseWriter, r *http.Request) {
		var i int
		_, _ = fmt.Sscan(r.PathValue("n"), &i)
		due := time.Now().Add(time.Duration(i%7) * 5 * time.Millisecond)
		time.Sleep(time.Until(due))
		body := bytes.Repeat([]byte(fmt.Sprintf("resource %d ", i)), 300+i*40)
		w.Header().Set("Content-Type", []string{"image/png", "text/css", "application/javascript"}[i%3])
		w.Header().Set("Etag", fmt.Sprintf(`"%d"`, i))
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		if i%3 == 1 {
			body = gzipped(body)
			w.Header().Set("Content-Encoding", "gzip")
		}
		const parts = 4
		for part := range parts {
			_, _ = w.Write(body[len(body)*part/parts : len(body)*(part+1)/parts])
			_ = http.NewResponseController(w).Flush()
			due = due.Add(time.Duration(10+i%13) * time.Millisecond)
			if part < parts-1 {
				time.Sleep(time.Until(due))
			}
		}
	})
	return mux
}
