package link

import (
	"errors"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// openPair makes both namespaces and a pair of interfaces between them, with a discipline of the kernel's for what leaves each.
func openPair(c Conditions, refuses func(Conditions) error, discipline func(end, Direction) (way, error)) (p *Packet, err error) {
	p = &Packet{conditions: c, refuses: refuses, flows: newFlows()}
	defer func() {
		if err != nil {
			p.Close()
			p = nil
		}
	}()
	if err := refuses(c); err != nil {
		return p, err
	}
	if p.Device, err = NewNamespace(ServerAddress.Addr().String()); err != nil {
		return p, err
	}
	if p.Server, err = NewNamespace(ServerAddress.Addr().String()); err != nil {
		return p, err
	}
	if err := p.pair(); err != nil {
		return p, err
	}
	for _, side := range []struct {
		n         *Namespace
		through   string
		kind      int
		addresses []netip.Prefix
		way       *way
		d         Direction
	}{
		{p.Device, tunName, unix.RTN_UNICAST, []netip.Prefix{DeviceAddress, DeviceAddress6}, &p.up, c.Up},
		{p.Server, "lo", unix.RTN_LOCAL, []netip.Prefix{ServerAddress, ServerAddress6}, &p.down, c.Down},
	} {
		err := side.n.Do(func() error {
			if err := setUp(tunName, side.addresses...); err != nil {
				return err
			}
			return routeAll(side.through, side.kind)
		})
		if err != nil {
			return p, err
		}
		if *side.way, err = discipline(end{side.n}, side.d); err != nil {
			return p, err
		}
	}
	return p, nil
}

// pair makes the interfaces, one in each namespace. They have the same address and ask for no neighbours: what goes over the line is what the test sends, and every address of the
// world is at the other end.
func (p *Packet) pair() error {
	there := -1
	if err := p.Server.Do(func() (err error) { there, err = openNetwork(); return err }); err != nil {
		return err
	}
	defer unix.Close(there)
	same := net.HardwareAddr{0x02, 0, 0, 0, 0, 1}
	err := p.Device.Do(func() error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: tunName, HardwareAddr: same}, PeerName: tunName, PeerHardwareAddr: same, PeerNamespace: netlink.NsFd(there)}
		return h.LinkAdd(veth)
	})
	if errors.Is(err, unix.EOPNOTSUPP) {
		return &KernelError{"virtual Ethernet interfaces", "veth"}
	}
	if err != nil {
		return refused("make a pair of interfaces", err)
	}
	for _, n := range []*Namespace{p.Device, p.Server} {
		if err := (end{n}).do(alone); err != nil {
			return err
		}
	}
	return nil
}

// alone keeps neighbours from being asked for, and packets from being handed to a discipline several at a time.
func alone(h *netlink.Handle, l netlink.Link) error {
	if err := h.LinkSetARPOff(l); err != nil {
		return refused("ask for no neighbours", err)
	}
	if err := h.LinkSetGSOMaxSegs(l, 1); err != nil {
		return refused("send packets one by one", err)
	}
	return nil
}

// end is one end of the pair, where disciplines of the kernel's have what leaves.
type end struct{ in *Namespace }

// do calls f in the end's namespace, with the interface there.
func (e end) do(f func(*netlink.Handle, netlink.Link) error) error {
	return e.in.Do(func() error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		l, err := h.LinkByName(tunName)
		if err != nil {
			return err
		}
		return f(h, l)
	})
}

// have has the kernel do something with its disciplines of a kind, and tells a kernel that has none of that from one that refuses.
func (e end) have(what, part, module string, f func(*netlink.Handle, netlink.Link) error) error {
	err := e.do(f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT):
		return &KernelError{part, module}
	}
	return refused(what, err)
}

// counted is what a discipline of the kernel's has counted.
type counted struct {
	packets, bytes, queued, backlog, drops uint64 // bytes with the header of Ethernet; queued and backlog are not part of the first two
}

// counted returns it by a discipline's handle; nothing, once the namespace is closed.
func (e end) counted() map[uint32]counted {
	by := map[uint32]counted{}
	_ = e.do(func(h *netlink.Handle, l netlink.Link) error {
		all, err := h.QdiscList(l)
		if err != nil {
			return err
		}
		for _, q := range all {
			if a := q.Attrs(); a.Statistics != nil && a.Statistics.Basic != nil && a.Statistics.Queue != nil {
				b, w := a.Statistics.Basic, a.Statistics.Queue
				by[a.Handle] = counted{uint64(b.Packets), b.Bytes, uint64(w.Qlen), uint64(w.Backlog), uint64(w.Drops)}
			}
		}
		return nil
	})
	return by
}

// close does nothing: it ends with the namespace.
func (end) close() error { return nil }
