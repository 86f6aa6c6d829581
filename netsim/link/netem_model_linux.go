package link

import (
	"math"
	"time"
)

// netem is a direction as the kernel takes it (linux/pkt_sched.h).
type netem struct {
	latency, jitter int64  // ns
	limit           uint32 // packets, those that wait and those on their way
	loss            uint32 // share, of 1<<32 - 1
	toBad, toGood   uint32 // of a Gilbert–Elliott channel, if either is not 0; loss is 0 then
	atOnce          uint32 // share of packets that are not delayed, if gap is not 0
	gap             uint32
	rate            uint64 // bytes each second
	overhead        int32  // bytes that a packet counts more than it has
}

// etherHeader is what netem counts of a packet and the model does not, bytes.
const etherHeader = 14

// netem is for directions that checkNetem takes.
func (d *Direction) netem() netem {
	n := netem{latency: int64(d.Delay), jitter: int64(d.Jitter), limit: mostOnWay / MTU, overhead: -etherHeader}
	if d.Rate > 0 {
		// As many full packets as the model's queue holds, and as many as can be on their way.
		n.rate = uint64(d.Rate+4) / 8
		n.limit = uint32(DefaultQueue/MTU + 1 + int64((d.Delay+d.Jitter)/max(1, d.takes(MTU))))
	}
	if d.Burst == 0 || d.Loss <= 0 || d.Loss >= 1 {
		n.loss = share(d.Loss)
	} else {
		var c chance
		c.set(d.Loss, d.Burst)
		n.toBad, n.toGood = share(c.toBad), share(c.toGood)
	}
	if d.Reorder > 0 {
		behind := d.Behind
		if behind == 0 {
			behind = time.Millisecond
		}
		n.latency, n.atOnce, n.gap = int64(behind), share(1-d.Reorder), 1
	}
	return n
}

// share is a probability in the kernel's unit.
func share(p float64) uint32 { return uint32(math.Round(max(0, min(1, p)) * math.MaxUint32)) }
