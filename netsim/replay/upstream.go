package replay

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// certificateError means that a site's certificate is not trusted.
type certificateError struct {
	Host string
	Err  error
}

func (e *certificateError) Error() string {
	return fmt.Sprintf("the certificate of %s is not trusted (%v); another server may be answering",
		e.Host, e.Err)
}

func (e *certificateError) Unwrap() error { return e.Err }

// upstream is the way to the sites.
type upstream struct {
	limits   Limits
	insecure bool
	roots    *x509.CertPool // nil: the machine's
	dial     func(ctx context.Context, network, address string) (net.Conn, error)

	modern, plain *http.Transport // plain speaks HTTP/1.1 only, as websockets have to

	mu    sync.Mutex
	hosts map[string]hostFacts // by host and port
}

// hostFacts are the known facts about an address.
type hostFacts struct {
	roundTrip time.Duration // that connecting took
	distrust  string        // why its certificate is not trusted
}

const maxHosts = 10_000

func newUpstream(o RecorderOptions) *upstream {
	u := &upstream{limits: o.Limits, insecure: o.Insecure, roots: o.Roots, dial: o.Dial, hosts: map[string]hostFacts{}}
	if u.dial == nil {
		u.dial = (&net.Dialer{Timeout: 30 * time.Second}).DialContext
	}
	u.modern = u.transport("h2", "http/1.1")
	u.plain = u.transport("http/1.1")
	return u
}

func (u *upstream) transport(protocols ...string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := u.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &headConn{Conn: c, most: u.limits.Header}, nil
		},
		DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return u.dialTLS(ctx, address, protocols)
		},
		ForceAttemptHTTP2:      slices.Contains(protocols, "h2"),
		DisableCompression:     true, // bodies stay as the device has asked for them
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        time.Minute,
		ResponseHeaderTimeout:  2 * time.Minute,
		MaxResponseHeaderBytes: int64(u.limits.Header),
	}
}

func (u *upstream) dialTLS(ctx context.Context, address string, protocols []string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	raw, err := u.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, &tls.Config{
		ServerName: host,
		NextProtos: protocols,
		// Certificates are verified below, where it can be noted why one is not to trust.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			err := u.verify(host, state)
			if err == nil {
				return nil
			}
			if !u.insecure {
				return &certificateError{host, err}
			}
			u.learn(address, func(f *hostFacts) { f.distrust = sentence(err.Error()) })
			return nil
		},
	})
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	if c.ConnectionState().NegotiatedProtocol == "h2" {
		return c, nil // net/http speaks HTTP/2 over no other type
	}
	return &headConn{Conn: c, most: u.limits.Header}, nil
}

func (u *upstream) verify(host string, state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("it has none")
	}
	o := x509.VerifyOptions{Roots: u.roots, DNSName: host, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(o)
	return err
}

func (u *upstream) learn(address string, what func(*hostFacts)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f, ok := u.hosts[address]
	if !ok && len(u.hosts) == maxHosts {
		return
	}
	what(&f)
	u.hosts[address] = f
}

func (u *upstream) facts(address string) hostFacts {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.hosts[address]
}

// hostPort is the address of a URL's host, as net/http dials it.
func hostPort(to *url.URL) string {
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	return net.JoinHostPort(to.Hostname(), port)
}

func (u *upstream) close() {
	u.modern.CloseIdleConnections()
	u.plain.CloseIdleConnections()
}

// headConn sees the heads of responses of HTTP/1.1 as they come: net/http forgets the order of
// fields, and how they were spelled.
type headConn struct {
	net.Conn
	most int

	mu     sync.Mutex
	taking bool
	head   []byte
}

func (c *headConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taking && n > 0 {
		c.head = append(c.head, p[:min(n, 2*c.most+4096-len(c.head))]...)
		if _, whole := finalHead(c.head); whole || len(c.head) >= 2*c.most+4096 {
			c.taking = false
		}
	}
	return n, err
}

// begin has the next head taken.
func (c *headConn) begin() {
	c.mu.Lock()
	c.taking, c.head = true, nil
	c.mu.Unlock()
}

// fields returns the head's fields, if they are those that net/http has read.
func (c *headConn) fields(read http.Header) (Fields, bool) {
	c.mu.Lock()
	head, whole := finalHead(c.head)
	c.taking = false
	c.mu.Unlock()
	if !whole {
		return nil, false
	}
	f, ok := parseFields(head)
	if !ok {
		return nil, false
	}
	h := f.Header()
	for name, values := range read {
		if !slices.Equal(h[name], values) {
			return nil, false
		}
	}
	return f, true
}

// finalHead returns the lines of fields of the first response that is not one on the way (1xx, but
// 101).
func finalHead(b []byte) (fields string, whole bool) {
	for {
		end := bytes.Index(b, []byte("\r\n\r\n"))
		if end < 0 {
			return "", false
		}
		line, rest, _ := strings.Cut(string(b[:end]), "\r\n")
		if _, status, ok := strings.Cut(line, " "); ok && strings.HasPrefix(status, "1") &&
			!strings.HasPrefix(status, "101") {
			b = b[end+4:]
			continue
		}
		return rest, true
	}
}

// parseFields reads lines of fields.
func parseFields(text string) (f Fields, ok bool) {
	if text == "" {
		return nil, true
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !token(name) { // folded lines too, which nobody sends any more
			return nil, false
		}
		f = append(f, Field{name, strings.Trim(value, " \t")})
	}
	return f, true
}
