package link

import (
	"encoding/binary"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// OpenNetem makes a line like [OpenPacket] does, whose packets the kernel's own netem delays and loses, on a pair of virtual Ethernet interfaces. It is there to hold the one against
// the other, and for rates that no program keeps up with. It takes a kernel with sch_netem, and returns a [KernelError] where there is none. What netem does not do as the model does is
// refused, see [CheckNetem]. Its chance has no seed, and of what went over the line it tells no flows.
func OpenNetem(c Conditions) (p *Packet, err error) {
	return openPair(c, CheckNetem, func(e end, d Direction) (way, error) {
		q := &qdisc{end: e}
		return q, q.add(d)
	})
}

// qdisc is netem at one end of the pair, for what leaves there. It is two, one in the other: packets take their time on the line in the first, and what is lost on the way is lost in the
// second, after that. Where no rate makes them take time, the first loses them, since packets that it does not delay never see the second.
type qdisc struct {
	end

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
	return q.have(what, "netem", "sch_netem", func(_ *netlink.Handle, l netlink.Link) error {
		if err := send(l, first, line, flags); err != nil {
			return err
		}
		return send(l, second, loss, flags)
	})
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
func send(l netlink.Link, place [2]uint32, n netem, flags int) error {
	req := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, flags|unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(l.Attrs().Index), Parent: place[0], Handle: place[1]})
	req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("netem")))
	req.AddData(n.attributes())
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
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

// ask returns what the kernel has counted.
func (q *qdisc) ask() (c Counts, n drops) {
	by := q.counted()
	f := by[first[1]]
	n = drops{both: f.drops, second: by[second[1]].drops}
	// Of what was dropped the kernel tells no bytes.
	whole := f.packets + f.queued
	return Counts{Packets: whole + n.both, Bytes: f.bytes + f.backlog - etherHeader*whole}, n
}
