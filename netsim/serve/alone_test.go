package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestOneProtocolAlone: a server for one protocol speaks no other under TLS, even to a client that
// names none.
func TestOneProtocolAlone(t *testing.T) {
	for name, o := range map[string]Options{"http/1.1": {HTTP1: true}, "h2": {HTTP2: true}} {
		o.Handler = http.NotFoundHandler()
		x := serveIt(t, o)
		for _, protocol := range []string{"http/1.1", "h2"} {
			c, root := x.client(t, protocol)
			// the transport offers both
			c.Transport.(*http.Transport).DialTLSContext = func(context.Context, string, string) (net.Conn, error) {
				return tls.Dial("tcp", x.https, &tls.Config{RootCAs: x.roots, ServerName: "page.test",
					NextProtos: []string{protocol}})
			}
			r, err := c.Get(root)
			if err == nil {
				r.Body.Close()
			}
			if (err == nil) != (protocol == name) {
				t.Errorf("%s alone, asked by %s: %v", name, protocol, err)
			}
		}
		c, err := tls.Dial("tcp", x.https, &tls.Config{RootCAs: x.roots, ServerName: "page.test"})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: page.test\r\nConnection: close\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		got := make([]byte, 12)
		n, _ := c.Read(got)
		c.Close()
		if answered := string(got[:n]) == "HTTP/1.1 404"; answered != (name == "http/1.1") {
			t.Errorf("%s alone, asked by a client that says nothing: %q", name, got[:n])
		}
		cs, _ := x.Witnessed()
		if said := cs[len(cs)-1].Error; strings.Contains(said, "does not offer HTTP/2") != (name == "h2") {
			t.Errorf("%s alone: the witness says %q", name, said)
		}
	}
	if _, err := New(Options{Handler: http.NotFoundHandler(), HTTP1: true, HTTP2: true}); err == nil {
		t.Error("a server is made that speaks neither")
	}
}

// TestWhereQUICCameTo: the witness says at which address a client reached a socket that listens at
// all.
func TestWhereQUICCameTo(t *testing.T) {
	x := serveIt(t, Options{Handler: http.NotFoundHandler()})
	everywhere, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Handler: http.NotFoundHandler(), Authority: x.options.Authority})
	if err != nil {
		t.Fatal(err)
	}
	s.QUIC(everywhere)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(everywhere.LocalAddr().(*net.UDPAddr).Port))
	c, _ := x.client(t, "h3")
	get(t, c, "https://"+at.String())
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if cs, _ := s.Witnessed(); len(cs) != 1 || cs[0].Server != at {
		t.Errorf("%+v, want one at %v", cs, at)
	}
}
