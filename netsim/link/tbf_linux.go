package link

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// HeaderTBF is what the kernel's token bucket counts of each packet beside IP: Ethernet's header, bytes.
const HeaderTBF = etherHeader

// OpenTBF makes a line like [OpenPacket] does, whose packets the kernel's own token bucket filter holds back (tc-tbf(8)), on a pair of virtual Ethernet interfaces. It has rates and queues and nothing
// else, and is there to hold the packet link against what else there is.
func OpenTBF(c Conditions) (*Packet, error) {
	return openPair(c, checkTBF, func(e end, d Direction) (way, error) {
		b := bucket{e}
		return b, b.set(d)
	})
}

func checkTBF(c Conditions) error {
	if err := c.Check(); err != nil {
		return err
	}
	for _, d := range []Direction{c.Down, c.Up} {
		if d.Rate == 0 {
			return errors.New("the kernel's token bucket needs a rate each way")
		}
		d.Rate, d.Queue = 0, 0
		if d.Trace != nil || d.Delay != 0 || d.Jitter != 0 || d.Loss != 0 || d.Reorder != 0 {
			return errors.New("the kernel's token bucket has a rate and a queue, and nothing else")
		}
	}
	return nil
}

// bucket is the token bucket at one end.
type bucket struct{ end }

// bucketHandle is what it is known by.
var bucketHandle = netlink.MakeHandle(1, 0)

// burst is what leaves at once, bytes: two packets, and on fast lines as much as in the kernel's own tick of 4 ms.
func (bucket) burst(r Rate) uint32 { return uint32(max(2*(MTU+HeaderTBF), int64(r)/8/250)) }

func (b bucket) set(d Direction) error {
	return b.have("have the kernel's token bucket at an interface", "token bucket", "sch_tbf", func(h *netlink.Handle, l netlink.Link) error {
		rate := uint64(d.Rate) / 8
		return h.QdiscReplace(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: bucketHandle},
			Rate:       rate, Limit: uint32(d.queue()) + b.burst(d.Rate), Buffer: netlink.Xmittime(rate, b.burst(d.Rate)),
		})
	})
}

func (b bucket) counts() Counts {
	c := b.counted()[bucketHandle]
	return Counts{Packets: c.packets + c.drops, Bytes: c.bytes, LostInQueue: c.drops}
}
