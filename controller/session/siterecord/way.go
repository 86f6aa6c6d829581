package siterecord

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/device"
)

// way is how a recorder reaches sites. Of this machine it reaches the recorded page only, at the
// addresses that the page's name had at first. So neither a script nor a name that later leads
// elsewhere reads another service.
type way struct {
	page string           // host:port
	at   []netip.AddrPort // of the page; none: it is not on this machine
}

// resolveTimeout limits the wait for the addresses of the page.
const resolveTimeout = 5 * time.Second

// wayTo returns the way for a recording of a page.
func wayTo(ctx context.Context, page *url.URL) *way {
	name, port := page.Hostname(), page.Port()
	if port == "" {
		port = usualPorts[page.Scheme]
	}
	w := &way{page: net.JoinHostPort(name, port)}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		name = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	number, wrong := strconv.ParseUint(port, 10, 16)
	if err != nil || wrong != nil || slices.ContainsFunc(all, func(ip netip.Addr) bool { return !ofMachine(ip) }) {
		return w
	}
	for _, ip := range all {
		w.at = append(w.at, netip.AddrPortFrom(ip.Unmap(), uint16(number)))
	}
	return w
}

// ofMachine reports if an address is on the loopback or of an interface.
func ofMachine(ip netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	return ip.Unmap().IsLoopback() || err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		of, err := netip.ParsePrefix(a.String())
		return err == nil && of.Addr() == ip.Unmap()
	})
}

// without excludes an address: the recorder's own.
func (w *way) without(own net.Addr) {
	w.at = slices.DeleteFunc(w.at, func(a netip.AddrPort) bool { return a.String() == own.String() })
}

// dialTimeout limits the wait for a site's connection.
const dialTimeout = 30 * time.Second

func (w *way) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if len(w.at) == 0 || !strings.EqualFold(address, w.page) {
		return new(device.EgressPolicy).DialContext(ctx, network, address)
	}
	var failed error
	for _, at := range w.at {
		c, err := new(net.Dialer).DialContext(ctx, network, at.String())
		if err == nil {
			return c, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}
