package session

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// KeyLogFile is in the folder of a run that was to keep the secrets of TLS: what Wireshark and the
// like read packets with.
const KeyLogFile = "network.keys"

const (
	authorityPrefix = "eideticker-authority-"
	securePort      = "443"
)

// ownAuthority makes the certificates of one run, and goes with it.
type ownAuthority struct {
	*serve.Authority
	folder *runFolder
}

func newAuthority() (*ownAuthority, error) {
	folder, err := newRunFolder(os.TempDir(), authorityPrefix)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	made, err := serve.OpenAuthority(folder.dir)
	if err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	return &ownAuthority{made, folder}, nil
}

// secure makes whoever certifies the servers of a test that are spoken to by TLS, and the file of
// their secrets in the run's folder if the test asks for one. close ends both.
func (p *pages) secure(t *suite.Test, dir string) (err error) {
	n := t.Network
	if n.Protocol == "" && n.Replay == "" {
		return nil
	}
	if p.authority, err = newAuthority(); err != nil || !n.KeyLog {
		return err
	}
	if p.keys, err = os.OpenFile(filepath.Join(dir, KeyLogFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("keep the TLS keys: %w", err)
	}
	return nil
}

// insecure ends what secure made, once nothing is served any more.
func (p *pages) insecure() (err error) {
	if p.authority != nil {
		err = p.authority.folder.remove()
	}
	if p.keys != nil {
		err = errors.Join(err, p.keys.Close())
	}
	return err
}

// options are those of a server of a run that answers by a handler.
func (p *pages) options(n suite.Network, h http.Handler) serve.Options {
	o := serve.Options{Handler: h, HTTP1: n.Protocol == suite.HTTP1, HTTP2: n.Protocol == suite.HTTP2}
	if p.authority != nil {
		o.Authority = p.authority.Authority
	}
	if p.keys != nil {
		o.KeyLog = p.keys
	}
	return o
}

// trusted is whom a browser has to believe who its servers are; nil: nobody of ours.
func (p *pages) trusted() *device.Authority {
	if p.authority == nil {
		return nil
	}
	a := &device.Authority{File: p.authority.File(), KeyHash: p.authority.KeyHash()}
	if p.protocol == suite.HTTP3 {
		a.HTTP3 = true
	}
	return a
}

// spoken is what the names of a test's network say of the protocols that their servers speak, and
// which names do, where an archive answers or (nil) a page of ours. What is not told that HTTP/3 is
// spoken asks by TCP first.
func spoken(t *suite.Test, a *replay.Archive) (alpn []string, secure func(name string) bool) {
	switch t.Network.Protocol {
	case suite.HTTP2, suite.HTTP3:
		alpn = []string{string(t.Network.Protocol)}
	default: // of HTTP/1.1 nobody has to be told
		return nil, nil
	}
	if a == nil {
		return alpn, func(name string) bool { return name == pageHost }
	}
	names := secureNames(a)
	return alpn, func(name string) bool { return names[name] }
}

// open opens the one door of the server of a site, and returns how addresses of its pages begin.
func (p *pages) open(s *serve.Server) (origin string, err error) {
	if p.protocol == suite.HTTP3 {
		c, host, err := p.listen.packets(securePort)
		if err != nil {
			return "", err
		}
		s.QUIC(c)
		p.note(c.LocalAddr())
		return "https://" + host, nil
	}
	port, scheme, add := pagePort, "http://", s.HTTP
	if p.protocol != "" {
		port, scheme, add = securePort, "https://", s.HTTPS
	}
	l, host, err := p.listen.connections(port)
	if err != nil {
		return "", err
	}
	add(l)
	p.note(l.Addr())
	return scheme + host, nil
}

// checkProtocolOn says why a browser of a device cannot load a test's page by the protocol that it
// asks for.
func checkProtocolOn(t *suite.Test, d device.Description) error {
	switch {
	case t.Network.Protocol == "":
		return nil
	case d.Source != device.Virtual:
		return fmt.Errorf("test %s asks for %s, which device %s cannot use: its browser does not trust the run's servers: %w", t.Name, t.Network.Protocol, d.Name, errors.ErrUnsupported)
	}
	return nil
}
