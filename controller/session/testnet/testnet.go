// Package testnet puts the test network of a run together: a line, and names that lead to the
// servers at its other end.
//
// Place in the flow: beside the device. Who opens it listens in its servers' namespace, and starts
// the device's browser in the other, or waits for the device that is behind an interface of this
// machine.
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
	// what its servers speak by TLS at port 443, see dns.World; none: names say nothing of it
	ALPN   []string
	Secure func(name string) bool // likewise
	Asked  func(dns.Query)        // may be nil
	// Segment is the interface behind which the device is. nil: what is started in the namespace of
	// the line's device is the device.
	Segment *link.SegmentOptions
}

// Network is a line with names.
type Network struct {
	Link *link.Packet

	queries queries
	delays  delays
	segment *link.Segment
	stop    context.CancelFunc
	serving sync.WaitGroup
	failed  error
}

// Conditions are those of a profile, but for what else a test says.
func Conditions(n suite.Network) (link.Conditions, error) {
	return Changed(link.Conditions{}, n.Link())
}

// nameTTL is for how long a device remembers a name, seconds: as long as a run.
const nameTTL = 300

// Open makes a network, until Close.
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
	n.stop = stop
	n.serving.Go(func() { n.failed = answers.Run(ctx, packets, connections) })
	if o.Segment != nil {
		if n.segment, err = n.Link.OpenSegment(ctx, *o.Segment); err != nil {
			return nil, errors.Join(fmt.Errorf("make the test network: %w", err), n.Close())
		}
	}
	return n, nil
}

// Await waits until the device behind the interface has been given an address, and returns that.
// Where no interface was asked for it is there already.
func (n *Network) Await(ctx context.Context) (link.Lease, error) {
	if n.segment == nil {
		return link.Lease{Address: link.DeviceAddress.Addr()}, nil
	}
	return n.segment.Await(ctx)
}

// Listen listens where the device finds it, at every address and name.
func (n *Network) Listen(port string) (net.Listener, error) {
	return n.Link.Server.Listen("tcp", net.JoinHostPort("", port))
}

// ListenPacket does so for packets of UDP.
func (n *Network) ListenPacket(port string) (net.PacketConn, error) {
	return n.Link.Server.ListenPacket("udp", net.JoinHostPort("", port))
}

// Close ends it.
func (n *Network) Close() error {
	var given error // back: first, while there is a line
	if n.segment != nil {
		given = n.segment.Close()
	}
	n.stop()
	n.serving.Wait()
	return errors.Join(given, n.failed, n.Link.Close())
}
