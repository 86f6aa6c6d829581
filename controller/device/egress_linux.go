package device

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// egressProxy connects the browser of an untrusted test to the network. It is a SOCKS server on the
// loopback (RFC 1928) that applies an EgressPolicy. The browser connects to the run's own pages
// directly, so the proxy does not change their times.
//
// Note: an HTTP proxy would have to parse and rewrite the traffic. Through SOCKS, servers get the
// browser's bytes unchanged.
type egressProxy struct {
	policy   *EgressPolicy
	listener net.Listener
	ctx      context.Context // of the outgoing connections
	cancel   context.CancelFunc
	serving  sync.WaitGroup
	slots    chan struct{} // one for each connection

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

// Bounds of a proxy. Browsers hold some hundred connections at most.
const (
	maxProxyConns       = 1024
	proxyRequestTimeout = 10 * time.Second // until it is said where to go
	proxyDialTimeout    = time.Minute
)

// openEgressProxy begins to listen. close ends it.
func openEgressProxy(o *EgressPolicy) (*egressProxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("make a way out for tests of others: %w", err)
	}
	w := &egressProxy{policy: o, listener: l, slots: make(chan struct{}, maxProxyConns), open: map[net.Conn]struct{}{}}
	w.ctx, w.cancel = context.WithCancel(context.Background()) // ends with close
	w.serving.Go(w.accept)
	return w, nil
}

// close ends all connections. It may be called of a nil proxy, and more than once.
func (w *egressProxy) close() {
	if w == nil {
		return
	}
	w.cancel()
	_ = w.listener.Close() // at the second time it is
	w.mu.Lock()
	w.closed = true
	for c := range w.open {
		_ = c.Close() // nobody waits for what it has not sent
	}
	w.mu.Unlock()
	w.serving.Wait()
}

func (w *egressProxy) accept() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			if w.ctx.Err() == nil && !errors.Is(err, net.ErrClosed) { // too many files, for now
				select {
				case <-time.After(10 * time.Millisecond):
				case <-w.ctx.Done():
				}
				continue
			}
			return
		}
		select {
		case w.slots <- struct{}{}:
			w.serving.Go(func() {
				defer func() { <-w.slots }()
				w.serve(c)
			})
		default:
			_ = c.Close() // there are enough
		}
	}
}

// hold keeps a connection until let go; false: it is over, and the connection is closed.
func (w *egressProxy) hold(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = c.Close()
		return false
	}
	w.open[c] = struct{}{}
	return true
}

func (w *egressProxy) letGo(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
	_ = c.Close() // its end was told to the other side
}

// serve connects one connection to where it wants to go.
func (w *egressProxy) serve(c net.Conn) {
	if !w.hold(c) {
		return
	}
	defer w.letGo(c)
	if c.SetDeadline(time.Now().Add(proxyRequestTimeout)) != nil {
		return
	}
	to, err := socksAsked(c)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, proxyDialTimeout)
	defer cancel()
	far, err := w.policy.DialContext(ctx, "tcp", to)
	if err == nil {
		if !w.hold(far) {
			return
		}
		defer w.letGo(far)
	}
	if c.SetDeadline(time.Now().Add(proxyRequestTimeout)) != nil || socksAnswer(c, socksSays(err)) != nil ||
		err != nil ||
		c.SetDeadline(time.Time{}) != nil {
		return
	}
	var there sync.WaitGroup
	there.Go(func() { pass(far, c) })
	pass(c, far)
	there.Wait()
}

// pass copies data until it ends, and then reports that.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, is := to.(*net.TCPConn)
	if err != nil || !is {
		_, _ = to.Close(), from.Close() // the other direction has nobody either
		return
	}
	_ = half.CloseWrite() // the other side may be gone
}

// What SOCKS 5 has names for: RFC 1928, sections 3 to 6.
const (
	socksVersion    = 5
	socksNoLogin    = 0
	socksNoMethod   = 0xff
	socksConnect    = 1
	socksIPv4       = 1
	socksName       = 3
	socksIPv6       = 4
	socksDone       = 0
	socksFailed     = 1
	socksForbidden  = 2
	socksNoHost     = 4
	socksNotTaken   = 5
	socksNoCommand  = 7
	socksNoAddress  = 8
	socksLongestAsk = 255
)

// socksAsked reads the host and port to which a client wants to connect. It answers an invalid
// request with the matching error.
func socksAsked(c io.ReadWriter) (string, error) {
	var b [socksLongestAsk + 2]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return "", err
	}
	methods := b[2 : 2+min(int(b[1]), socksLongestAsk)]
	if b[0] != socksVersion {
		return "", fmt.Errorf("SOCKS version %d", b[0])
	}
	if _, err := io.ReadFull(c, methods); err != nil {
		return "", err
	}
	if !strings.Contains(string(methods), string([]byte{socksNoLogin})) {
		_, err := c.Write([]byte{socksVersion, socksNoMethod})
		return "", errors.Join(errors.New("SOCKS client asks for a login"), err)
	}
	if _, err := c.Write([]byte{socksVersion, socksNoLogin}); err != nil {
		return "", err
	}
	if _, err := io.ReadFull(c, b[:4]); err != nil {
		return "", err
	}
	command, kind := b[1], b[3]
	if b[0] != socksVersion {
		return "", fmt.Errorf("SOCKS version %d", b[0])
	}
	if command != socksConnect {
		return "", errors.Join(fmt.Errorf("SOCKS command %d", command), socksAnswer(c, socksNoCommand))
	}
	size := 0
	switch kind {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		if _, err := io.ReadFull(c, b[:1]); err != nil {
			return "", err
		}
		size = int(b[0])
	default:
		return "", errors.Join(fmt.Errorf("SOCKS address of kind %d", kind), socksAnswer(c, socksNoAddress))
	}
	if _, err := io.ReadFull(c, b[:size+2]); err != nil {
		return "", err
	}
	host, port := string(b[:size]), binary.BigEndian.Uint16(b[size:])
	if kind != socksName {
		ip, _ := netip.AddrFromSlice(b[:size]) // of four or sixteen bytes
		host = ip.String()
	} else if host == "" || strings.ContainsFunc(host, notOfHost) {
		return "", errors.Join(fmt.Errorf("SOCKS name %q", host), socksAnswer(c, socksNoHost))
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port))), nil
}

// notOfHost reports whether no host name or address has a character. Brackets around an address are
// net.JoinHostPort's.
func notOfHost(r rune) bool { return r <= ' ' || r > '~' || r == '[' || r == ']' }

// socksAnswer sends a client the result. It leaves out the local address of the connection, which
// clients do not need.
func socksAnswer(c io.Writer, how byte) error {
	_, err := c.Write([]byte{socksVersion, how, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

// socksSays is how a connection went, in SOCKS.
func socksSays(err error) byte {
	var name *net.DNSError
	switch {
	case err == nil:
		return socksDone
	case errors.Is(err, ErrInside):
		return socksForbidden
	case errors.As(err, &name):
		return socksNoHost
	case errors.Is(err, syscall.ECONNREFUSED):
		return socksNotTaken
	}
	return socksFailed
}

// pages are the addresses to which the browser goes directly.
func (w *egressProxy) pages() []string {
	var all []string
	for _, p := range w.policy.Pages {
		all = append(all, p.String())
	}
	return all
}

// goes returns the kind of browser that uses the proxy, with its policies.
func goes(k kind, policy string, w *egressProxy) (kind, string, error) {
	if k.name == "chromium" {
		err := silent(chromiumPolicies(), "ProxyMode", "ProxyServer", "ProxySettings", "ProxyPacUrl", "ProxyBypassList",
			"ProxyOverrideRules", "WebRtcIPHandling")
		if err != nil {
			err = fmt.Errorf("keep tests of others from services of this machine: %w", err)
		}
		return w.chromium(k), policy, err
	}
	own, err := w.firefox()
	if err == nil {
		policy, err = together(policy, own)
	}
	return k, policy, err
}

// chromium returns the kind that uses the proxy. Nothing else is direct, the loopback neither;
// WebRTC, which would go by UDP, takes it or stays.
func (w *egressProxy) chromium(k kind) kind {
	arguments := k.arguments
	k.arguments = func(profile string, width, height int, o BrowserOptions) []string {
		return append([]string{
			"--proxy-server=socks5://" + w.listener.Addr().String(),
			"--proxy-bypass-list=" + strings.Join(append([]string{"<-loopback>"}, w.pages()...), ";"),
			"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		}, arguments(profile, width, height, o)...)
	}
	return k
}

// firefox is the policy by which Firefox uses the proxy. It is a policy since a test can get to the
// settings, where what a policy locks cannot be changed.
func (w *egressProxy) firefox() (string, error) {
	locked := func(v bool) map[string]any { return map[string]any{"Value": v, "Status": "locked"} }
	text, err := json.Marshal(map[string]any{"policies": map[string]any{
		"Proxy": map[string]any{
			"Mode": "manual", "SOCKSProxy": w.listener.Addr().String(), "SOCKSVersion": 5, "UseProxyForDNS": true,
			"Passthrough": strings.Join(w.pages(), ", "), "Locked": true,
		},
		"Preferences": map[string]any{
			"network.proxy.allow_hijacking_localhost": locked(true),
			"network.proxy.allow_bypass":              locked(false),
			"network.proxy.failover_direct":           locked(false),
			"network.http.http3.enable":               locked(false),
			"media.peerconnection.enabled":            locked(false),
		},
	}})
	return string(text), err
}
