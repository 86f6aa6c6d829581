package link

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// OpenNetem makes a line like [OpenPacket] does, whose packets the kernel's own netem delays and loses, on a pair of virtual Ethernet interfaces. It is there to hold the one against
// the other, and for rates that no program keeps up with. It takes a kernel with sch_netem. What netem does not do as the model does is refused. Its chance has no seed, and of what
// went over the line it tells no flows.
func OpenNetem(c Conditions) (p *Packet, err error) {
	return openPair(c, checkNetem, func(n *Namespace, d Direction) (way, error) {
		q := &qdisc{in: n}
		return q, q.add(d)
	})
}

// openPair makes both namespaces and a pair of interfaces between them, with something of the kernel's for what leaves each.
func openPair(c Conditions, refuses func(Conditions) error, kernels func(*Namespace, Direction) (way, error)) (p *Packet, err error) {
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
		return p, fmt.Errorf("make a pair of interfaces: %w", err)
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
		if *side.way, err = kernels(side.n, side.d); err != nil {
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
		if err := h.LinkAdd(veth); err != nil {
			return refused("make a pair of interfaces", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range []*Namespace{p.Device, p.Server} {
		if err := n.Do(alone); err != nil {
			return err
		}
	}
	return nil
}

// alone keeps neighbours from being asked for, and packets from being handed to netem several at a time.
func alone() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	l, err := h.LinkByName(tunName)
	if err != nil {
		return err
	}
	if err := h.LinkSetARPOff(l); err != nil {
		return refused("ask for no neighbours", err)
	}
	if err := h.LinkSetGSOMaxSegs(l, 1); err != nil {
		return refused("send packets one by one", err)
	}
	return nil
}

// qdisc is netem at one end of the pair, for what leaves there. It is two, one in the other: packets take their time on the line in the first, and what is lost on the way is lost in the
// second, after that. Where no rate makes them take time, the first loses them, since packets that it does not delay never see the second.
type qdisc struct {
	in *Namespace

	mu    sync.Mutex
	early bool   // the first loses them
	lost  Counts // until the last change
	drops drops  // by then
}

// drops are what both have dropped; what the second did the first counts too.
type drops struct{ both, second uint64 }

var (
	first  = [2]uint32{netlink.HANDLE_ROOT, netlink.MakeHandle(1, 0)} // parent and handle
	second = [2]uint32{netlink.MakeHandle(1, 1), netlink.MakeHandle(2, 0)}
)

func (q *qdisc) add(d Direction) error {
	return q.change(d, unix.NLM_F_CREATE|unix.NLM_F_EXCL, "have the kernel's netem at an interface")
}

func (q *qdisc) set(d Direction) error { return q.change(d, 0, "change the kernel's netem") }

func (q *qdisc) change(d Direction, flags int, what string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if flags == 0 {
		now, n := q.ask()
		q.lost, q.drops = q.split(now, n), n
	}
	line := d.netem()
	loss := netem{limit: line.limit, loss: line.loss, toBad: line.toBad, toGood: line.toGood}
	if q.early = d.Rate == 0; q.early {
		loss = netem{limit: line.limit}
	} else {
		line.loss, line.toBad, line.toGood = 0, 0, 0
	}
	err := q.in.Do(func() error {
		if err := send(first, line, flags); err != nil {
			return err
		}
		return send(second, loss, flags)
	})
	if err != nil {
		return refused(what, err)
	}
	return nil
}

// Attributes of netem's that the library has no names for (linux/pkt_sched.h).
const (
	netemLoss      = 5
	netemRate      = 6
	netemRate64    = 8
	netemLatency64 = 10
	netemJitter64  = 11
	lossGE         = 2 // of netemLoss
)

// send tells the kernel all of one: what is left out it would keep as it was.
func send(place [2]uint32, n netem, flags int) error {
	l, h, err := findLink()
	if err != nil {
		return err
	}
	h.Close()
	req := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, flags|unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(l.Attrs().Index), Parent: place[0], Handle: place[1]})
	req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("netem")))
	req.AddData(n.attributes())
	_, err = req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// findLink finds this end of the pair in the calling thread's namespace. The handle is the caller's to close.
func findLink() (netlink.Link, *netlink.Handle, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, nil, err
	}
	l, err := h.LinkByName(tunName)
	if err != nil {
		h.Close()
		return nil, nil, err
	}
	return l, h, nil
}

func (n *netem) attributes() *nl.RtAttr {
	words := func(all ...uint32) (b []byte) {
		for _, w := range all {
			b = binary.NativeEndian.AppendUint32(b, w)
		}
		return b
	}
	options := nl.NewRtAttr(nl.TCA_OPTIONS, (&nl.TcNetemQopt{Limit: n.limit, Loss: n.loss, Gap: n.gap}).Serialize())
	options.AddRtAttr(netemLatency64, nl.Uint64Attr(uint64(n.latency)))
	options.AddRtAttr(netemJitter64, nl.Uint64Attr(uint64(n.jitter)))
	options.AddRtAttr(netemRate64, nl.Uint64Attr(n.rate))
	options.AddRtAttr(netemRate, words(uint32(min(n.rate, 1<<32-1)), uint32(n.overhead), 0, 0))
	if n.gap > 0 {
		options.AddRtAttr(nl.TCA_NETEM_REORDER, words(n.atOnce, 0))
	}
	if n.toBad > 0 || n.toGood > 0 {
		// In its bad state the channel loses all: 0 is one less what is lost there. In its good state it loses none.
		options.AddRtAttr(netemLoss, nil).AddRtAttr(lossGE, words(n.toBad, n.toGood, 0, 0))
	}
	return options
}

// counts are the kernel's.
func (q *qdisc) counts() Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.split(q.ask())
}

// split says where was lost what was since the last change, and adds what was before.
func (q *qdisc) split(c Counts, n drops) Counts {
	second := n.second - q.drops.second
	rest := n.both - q.drops.both - second
	c.LostOnWay, c.LostInQueue = q.lost.LostOnWay+second, q.lost.LostInQueue
	if q.early {
		c.LostOnWay += rest
	} else {
		c.LostInQueue += rest
	}
	return c
}

// ask returns what the kernel has counted; nothing, once it is closed.
func (q *qdisc) ask() (c Counts, n drops) {
	_ = q.in.Do(func() error {
		l, h, err := findLink()
		if err != nil {
			return err
		}
		defer h.Close()
		all, err := h.QdiscList(l)
		if err != nil {
			return err
		}
		for _, q := range all {
			a := q.Attrs()
			s := a.Statistics
			if s == nil || s.Basic == nil || s.Queue == nil {
				continue
			}
			switch a.Handle {
			case first[1]:
				n.both = uint64(s.Queue.Drops)
				c.Packets += uint64(s.Basic.Packets) + uint64(s.Queue.Qlen)
				c.Bytes += s.Basic.Bytes + uint64(s.Queue.Backlog)
			case second[1]:
				n.second = uint64(s.Queue.Drops)
			}
		}
		return nil
	})
	c.Bytes -= etherHeader * c.Packets // of what was dropped the kernel tells no bytes
	c.Packets += n.both
	return c, n
}

// close does nothing: it ends with the namespace.
func (q *qdisc) close() error { return nil }
