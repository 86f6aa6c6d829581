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

// KeyLogFile is the file with the secrets of TLS in a run folder. Wireshark decrypts packets with
// it.
const KeyLogFile = "network.keys"

const (
	authorityPrefix = "eideticker-authority-"
	securePort      = "443"
)

// ownAuthority makes the certificates of one run.
type ownAuthority struct {
	*serve.Authority
	folder *tempFolder
}

func newAuthority() (*ownAuthority, error) {
	folder, err := newTempFolder(os.TempDir(), authorityPrefix)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	made, err := serve.OpenAuthority(folder.dir)
	if err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	return &ownAuthority{made, folder}, nil
}

// secure makes the authority of a test's TLS servers. If the test asks for it, secure makes the
// file of their secrets in the run's folder. insecure ends both.
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

// insecure ends both, after the servers have ended.
func (p *pages) insecure() (err error) {
	if p.authority != nil {
		err = p.authority.folder.remove()
	}
	if p.keys != nil {
		err = errors.Join(err, p.keys.Close())
	}
	return err
}

// options returns the options of a server with a handler.
func (p *pages) options(n suite.Network, h http.Handler) serve.Options {
	o := serve.Options{Handler: p.script.wrap(h), HTTP1: n.Protocol == suite.HTTP1, HTTP2: n.Protocol == suite.HTTP2}
	if p.authority != nil {
		o.Authority = p.authority.Authority
	}
	if p.keys != nil {
		o.KeyLog = p.keys
	}
	return o
}

// trusted returns the authority that a browser must trust; nil: none.
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

// spoken returns the protocols that DNS announces, and a filter for the names. The archive is nil
// for built-in pages. A client without an announcement of HTTP/3 tries TCP first.
func spoken(t *suite.Test, a *replay.Archive) (alpn []string, secure func(name string) bool) {
	switch t.Network.Protocol {
	case suite.HTTP2, suite.HTTP3:
		alpn = []string{string(t.Network.Protocol)}
	default: // HTTP/1.1 needs no announcement
		return nil, nil
	}
	if a == nil {
		return alpn, func(name string) bool { return name == pageHost }
	}
	names := secureNames(a)
	return alpn, func(name string) bool { return names[name] }
}

// open opens the port of a site and returns the origin of its pages.
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

// checkProtocolOn checks if a device's browser can use the protocol of a test.
func checkProtocolOn(t *suite.Test, d device.Description) error {
	switch {
	case t.Network.Protocol == "":
		return nil
	case d.Source != device.Virtual:
		return fmt.Errorf("test %s asks for %s, which device %s cannot use: its browser does not trust the run's "+
			"servers: %w", t.Name, t.Network.Protocol, d.Name, errors.ErrUnsupported)
	}
	return nil
}
