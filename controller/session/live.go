package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/serve"
)

// localServer is a server on the loopback of this machine, which a test reaches through a link.
type localServer struct {
	secure     bool   // with TLS
	name, port string // as the test has them
	at         string // where this machine reaches it
}

// resolveTimeout limits the wait for the addresses of a name.
const resolveTimeout = 2 * time.Second

// hostsFile resolves the names of this machine's hosts file alone: it asks no server.
var hostsFile = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}}

// localServerOf returns the server of an address; nil: it is not on the loopback.
func localServerOf(ctx context.Context, address string, names *net.Resolver) *localServer {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	s := &localServer{secure: u.Scheme == "https", name: nameOf(u), port: portOf(u)}
	host := s.name
	if ip, err := netip.ParseAddr(s.name); err == nil {
		if !ip.Unmap().IsLoopback() {
			return nil
		}
	} else if s.name == "localhost" || strings.HasSuffix(s.name, ".localhost") {
		host = "localhost"
	} else if host = loopbackOf(ctx, s.name, names); host == "" {
		return nil
	}
	s.at = net.JoinHostPort(host, s.port)
	return s
}

// portOf returns the port of an address, also the one that it omits.
func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": pagePort, "https": securePort}[u.Scheme])
}

// loopbackOf returns the address of a name that resolves to the loopback alone; "": it does not.
func loopbackOf(ctx context.Context, name string, names *net.Resolver) string {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	all, err := names.LookupNetIP(ctx, "ip", name)
	if err != nil || len(all) == 0 {
		return ""
	}
	for _, ip := range all {
		if !ip.Unmap().IsLoopback() {
			return ""
		}
	}
	return all[0].Unmap().String()
}

// needsServer reports if neither a page of the rig nor an archive answers a test on a network.
func needsServer(t *suite.Test) bool {
	return t.Network.Given() && t.Network.Replay == "" && !t.Served() && len(loaded(t.Steps)) == 0
}

// live returns the server that a test reaches through a link; nil: its pages are served or
// replayed.
func live(ctx context.Context, t *suite.Test, names *net.Resolver) *localServer {
	if !needsServer(t) {
		return nil
	}
	return localServerOf(ctx, t.URL, names)
}

// live returns the server of the run's test; nil: it has none. An untrusted test has no name asked
// of a server.
func (r *run) live(ctx context.Context) *localServer {
	if r.Untrusted && !r.AllowLoopback {
		return live(ctx, r.Test, hostsFile)
	}
	return live(ctx, r.Test, net.DefaultResolver)
}

// Live reports if a test reaches a server of this machine through a link. The error states why that
// server cannot be reached.
func Live(ctx context.Context, t *suite.Test) (bool, error) {
	s := live(ctx, t, net.DefaultResolver)
	if s == nil {
		return false, nil
	}
	return true, s.answers(ctx, t)
}

// LiveByHosts is Live without a connection. Only the hosts file resolves names.
func LiveByHosts(t *suite.Test) bool { return live(context.Background(), t, hostsFile) != nil }

// answers connects to the server once.
func (s *localServer) answers(ctx context.Context, t *suite.Test) error {
	c, err := s.dial(ctx)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w; start it first", t.URL, withoutAddress(err))
	}
	return c.Close()
}

// withoutAddress removes the addresses from an error.
func withoutAddress(err error) error {
	var of *net.OpError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func (s *localServer) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{Timeout: answerTimeout}).DialContext(ctx, "tcp", s.at)
}

// names returns the names that the test network must resolve.
func (s *localServer) names() []string {
	if _, err := netip.ParseAddr(s.name); err == nil {
		return nil
	}
	return []string{s.name}
}

// forward opens the way to the server of a live test; nil: it has none.
func (r *run) forward(ctx context.Context, n *runNetwork, s *localServer) error {
	if s == nil {
		return nil
	}
	if r.Untrusted && !r.AllowLoopback {
		return fmt.Errorf("connect to %s: %w", s.at, device.ErrInside)
	}
	if err := s.answers(ctx, r.Test); err != nil {
		return err
	}
	if s.secure {
		return n.Forward(s.port, s.dial)
	}
	return n.Loopback(s.port)
}

// serveLive answers with the responses of a server of this machine, so that the run sees the
// requests. A server with TLS is not read: its connections are forwarded.
func (p *pages) serveLive(ctx context.Context, t *suite.Test, s *localServer) (err error) {
	if p.server, err = serve.New(p.options(t.Network, s.proxy())); err != nil {
		return err
	}
	l, _, err := p.listen.connections(s.port)
	if err != nil {
		return errors.Join(fmt.Errorf("forward port %s: %w", s.port, err), p.server.Close())
	}
	p.server.HTTP(l)
	p.serve(ctx, "forward to "+s.at)
	return nil
}

// proxy passes requests to the server as they are. A request that it does not answer ends with its
// connection, as it does without a proxy.
func (s *localServer) proxy() http.Handler {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) }
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", s.at, r.In.Host
			r.Out.URL.RawQuery = r.In.URL.RawQuery // also if Go cannot parse it
		},
		Transport:     &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: maxIdle},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // the waterfall has such requests
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// maxIdle is the number of open connections of a browser to one server.
const maxIdle = 6
