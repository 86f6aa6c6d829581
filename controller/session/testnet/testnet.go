// Package testnet makes the test network of a run: a link, and names that resolve to the servers at
// its other end.
//
// Its owner listens in the servers' namespace. A browser of this machine starts in the device's
// namespace. A device behind an interface of this machine joins by itself ([Network.Await]).
package testnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/link"
)

// Options of a network.
type Options struct {
	Conditions link.Conditions
	Seed       uint64   // of what chance decides
	Names      []string // of the test world, see dns.World
	// protocols of its servers at port 443 for DNS, see dns.World; none: DNS announces none
	ALPN   []string
	Secure func(name string) bool // likewise
	Asked  func(dns.Query)        // may be nil
	// Segment is the interface of the device; nil: programs in the device's namespace are the device.
	Segment *link.SegmentOptions
}

// Network is a link with names.
type Network struct {
	Link *link.Packet

	queries queries
	delays  delays
	segment *link.Segment
	over    context.Context // ends with Close
	stop    context.CancelFunc
	serving sync.WaitGroup
	failed  error
}

// Conditions returns those of a profile, with the values of the test.
func Conditions(n suite.Network) (link.Conditions, error) {
	return Changed(link.Conditions{}, n.Link())
}

// nameTTL is the lifetime of a name in the cache of a device, in seconds: longer than a run.
const nameTTL = 300

// Open makes a network. Its owner calls Close.
func Open(o Options) (n *Network, err error) {
	n = &Network{}
	answers, err := dns.New(dns.Options{
		World: dns.World{Names: o.Names, Addresses: []netip.Addr{link.ServerAddress.Addr(), link.ServerAddress6.Addr()},
			ALPN: o.ALPN, Secure: o.Secure, TTL: nameTTL},
		Asked: func(q dns.Query) {
			n.queries.add(q)
			if o.Asked != nil {
				o.Asked(q)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if n.Link, err = link.OpenPacket(o.Conditions, o.Seed); err != nil {
		return nil, fmt.Errorf("make the test network: %w", err)
	}
	n.delays.had(o.Conditions)
	packets, err := n.Link.Server.ListenPacket("udp", ":53")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("answer names: %w", err), n.Link.Close())
	}
	connections, err := n.Link.Server.Listen("tcp", ":53")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("answer names: %w", err), packets.Close(), n.Link.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	n.over, n.stop = ctx, stop
	n.serving.Go(func() { n.failed = answers.Run(ctx, packets, connections) })
	if o.Segment != nil {
		if n.segment, err = n.Link.OpenSegment(ctx, *o.Segment); err != nil {
			return nil, errors.Join(fmt.Errorf("make the test network: %w", err), n.Close())
		}
	}
	return n, nil
}

// Await waits until the device behind the interface has an address, and returns it. Without an
// interface it returns at once.
func (n *Network) Await(ctx context.Context) (link.Lease, error) {
	if n.segment == nil {
		return link.Lease{Address: link.DeviceAddress.Addr()}, nil
	}
	return n.segment.Await(ctx)
}

// Listen listens at every address and name of the device's network.
func (n *Network) Listen(port string) (net.Listener, error) {
	return n.Link.Server.Listen("tcp", net.JoinHostPort("", port))
}

// ListenPacket does so for UDP.
func (n *Network) ListenPacket(port string) (net.PacketConn, error) {
	return n.Link.Server.ListenPacket("udp", net.JoinHostPort("", port))
}

// ListenBeside listens at a port of the servers whose packets pass the link at once. Conditions,
// counts and flows of the link do not include them. A network has one such port.
func (n *Network) ListenBeside(port uint16) (net.Listener, error) {
	at := netip.AddrPortFrom(link.ServerAddress.Addr(), port)
	l, err := n.Link.Server.Listen("tcp", at.String())
	if err == nil {
		n.Link.Bypass(at)
	}
	return l, err
}

// ListenPacketBeside does so for UDP, at the same port.
func (n *Network) ListenPacketBeside(port uint16) (net.PacketConn, error) {
	at := netip.AddrPortFrom(link.ServerAddress.Addr(), port)
	c, err := n.Link.Server.ListenPacket("udp", at.String())
	if err == nil {
		n.Link.Bypass(at)
	}
	return c, err
}

// Close ends the network and joins its goroutines.
func (n *Network) Close() error {
	var given error // the interface goes back while the link exists
	if n.segment != nil {
		given = n.segment.Close()
	}
	n.stop()
	n.serving.Wait()
	return errors.Join(given, n.failed, n.Link.Close())
}
