package session

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
)

// onLoopback listens where a network of the run's own would.
func onLoopback() listening {
	l := onHost(loopback)
	l.packets = func(string) (net.PacketConn, string, error) {
		c, err := net.ListenPacket("udp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return nil, "", err
		}
		return c, c.LocalAddr().String(), nil
	}
	return l
}

// asking asks by one protocol, and offers none else.
func asking(t *testing.T, protocol suite.Protocol, trust *x509.CertPool) *http.Client {
	config := &tls.Config{RootCAs: trust}
	if protocol == suite.HTTP3 {
		tr := &http3.Transport{TLSClientConfig: config}
		t.Cleanup(func() { _ = tr.Close() })
		return &http.Client{Transport: tr}
	}
	tr := &http.Transport{TLSClientConfig: config, Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(protocol != suite.HTTP2)
	tr.Protocols.SetHTTP2(protocol == suite.HTTP2)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TestPagesByProtocol: pages are served with the protocol of the test. The run's browser trusts
// the certificates.
func TestPagesByProtocol(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for protocol, major := range map[suite.Protocol]int{"": 1, suite.HTTP1: 1, suite.HTTP2: 2, suite.HTTP3: 3} {
		for _, keys := range []bool{false, true} {
			if keys && protocol == "" {
				continue
			}
			t.Run(strings.ReplaceAll(string(protocol), "/", "")+strconv.FormatBool(keys), func(t *testing.T) {
				dir := t.TempDir()
				test := &suite.Test{Page: "/load.html", T0: controller.Navigation, Sync: suite.Sync{Markers: true},
					Network: suite.Network{Protocol: protocol, KeyLog: keys}}
				p, err := servePages(t.Context(), test, nil, nil, dir, onLoopback())
				if err != nil {
					t.Fatal(err)
				}
				trust := x509.NewCertPool()
				if a := p.trusted(); (a != nil) != (protocol != "") {
					t.Errorf("the browser trusts %+v", a)
				} else if a != nil {
					pem, err := os.ReadFile(a.File)
					if err != nil || !trust.AppendCertsFromPEM(pem) || a.HTTP3 != (protocol == suite.HTTP3) {
						t.Errorf("the browser trusts %+v (%v)", a, err)
					}
				}
				r, err := asking(t, protocol, trust).Get(p.address)
				if err != nil {
					t.Fatal(err)
				}
				_ = r.Body.Close() // was only looked at
				if r.StatusCode != http.StatusOK || r.ProtoMajor != major || (r.TLS != nil) != (protocol != "") ||
					r.Header.Get("Alt-Svc") != "" {
					t.Errorf("%s is answered with %s by %s, %v", p.address, r.Status, r.Proto, r.Header)
				}
				for _, other := range []suite.Protocol{suite.HTTP1, suite.HTTP2} {
					if protocol == "" || protocol == other {
						continue
					}
					if r, err := asking(t, other, trust).Get(p.address); err == nil {
						_ = r.Body.Close()
						t.Errorf("asked by %s it answers by %s", other, r.Proto)
					}
				}
				if err := p.close(); err != nil {
					t.Error(err)
				}
				text, err := os.ReadFile(filepath.Join(dir, KeyLogFile))
				if !keys && !errors.Is(err, fs.ErrNotExist) || keys &&
					!strings.Contains(string(text), "SERVER_TRAFFIC_SECRET_0 ") {
					t.Errorf("of keys there are %q (%v)", text, err)
				}
			})
		}
	}
	if left, err := filepath.Glob(filepath.Join(tmp, authorityPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("authorities are left: %q, %v", left, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, KeyLogFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := servePages(t.Context(),
		&suite.Test{Page: "/load.html", Network: suite.Network{Protocol: suite.HTTP2, KeyLog: true}}, nil, nil, dir,
		onLoopback())
	if !errors.Is(err, fs.ErrExist) || p != nil {
		t.Errorf("keys go into a file that is there already: %v", err)
	}
}
