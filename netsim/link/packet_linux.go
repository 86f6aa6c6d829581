package link

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Packet is a link that carries IP packets between two namespaces: that of the device, which has no
// other way out, and that of the servers. Every address of the world ends at the servers. The
// conditions delay all packets, including the first packet of a connection and a DNS query.
type Packet struct {
	Device, Server *Namespace

	conditions Conditions
	down, up   *carrier
	flows      *flows
	beside     bypass
	tuns       []int
	once       sync.Once
	err        error
}

// OpenPacket makes both namespaces and the link between them. What chance decides comes from the
// seed.
func OpenPacket(c Conditions, seed uint64) (p *Packet, err error) {
	p = &Packet{conditions: c, flows: newFlows()}
	defer func() {
		if err != nil {
			p.Close()
			p = nil
		}
	}()
	if err := c.Check(); err != nil {
		return p, err
	}
	if p.Device, err = NewNamespace(ServerAddress.Addr().String()); err != nil {
		return p, err
	}
	if p.Server, err = NewNamespace(ServerAddress.Addr().String()); err != nil {
		return p, err
	}
	device, err := p.side(p.Device, tunName, unix.RTN_UNICAST, DeviceAddress, deviceAddress6)
	if err != nil {
		return p, fmt.Errorf("the device's side: %w", err)
	}
	server, err := p.side(p.Server, "lo", unix.RTN_LOCAL, ServerAddress, ServerAddress6)
	if err != nil {
		return p, fmt.Errorf("the servers' side: %w", err)
	}
	now := timeline.Monotonic().Now()
	if p.down, err = carry(server, device, c.Down, seed, streamDown, now, p.flows, &p.beside); err != nil {
		return p, err
	}
	p.up, err = carry(device, server, c.Up, seed, streamUp, now, p.flows, &p.beside)
	return p, err
}

// side makes one end: the interface, and where everything goes that is not for the other end.
func (p *Packet) side(n *Namespace, through string, kind int, addresses ...netip.Prefix) (fd int, err error) {
	err = n.Do(func() (err error) {
		if fd, err = openTUN(tunName); err != nil {
			return err
		}
		p.tuns = append(p.tuns, fd)
		if err := setUp(tunName, addresses...); err != nil {
			return err
		}
		return routeAll(through, kind)
	})
	return fd, err
}

// Set changes the link's conditions for packets sent from now on.
func (p *Packet) Set(c Conditions) error {
	if err := c.Check(); err != nil {
		return err
	}
	p.conditions = c
	return errors.Join(p.down.set(c.Down), p.up.set(c.Up))
}

// Counts returns what went through so far.
func (p *Packet) Counts() (down, up Counts) { return p.down.counts(), p.up.counts() }

// Flows returns what went over the link so far, in the order in which it began: the first
// maxFlows of TCP and UDP.
func (p *Packet) Flows() []Flow { return p.flows.snapshot() }

// Close ends the link. Programs that are still in the namespaces have no way out of them any more.
func (p *Packet) Close() error {
	p.once.Do(func() {
		for _, c := range []*carrier{p.down, p.up} {
			if c != nil {
				p.err = errors.Join(p.err, c.close())
			}
		}
		for _, fd := range p.tuns {
			p.err = errors.Join(p.err, unix.Close(fd))
		}
		for _, n := range []*Namespace{p.Device, p.Server} {
			if n != nil {
				p.err = errors.Join(p.err, n.Close())
			}
		}
	})
	return p.err
}
