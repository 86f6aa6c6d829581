package link

import (
	"net/netip"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Flow is what went over a link between two ports, seen at the device's end of it: without a hook
// in the device, and as the device sees it. Times are on the rig's clock; 0: it was not seen.
type Flow struct {
	Protocol string         // tcp or udp
	Device   netip.AddrPort // its end on the device
	Server   netip.AddrPort
	Opened   timeline.Time // the device sent the first packet: of TCP, its SYN
	Answered timeline.Time // the first packet from the server was there: of TCP, the SYN and ACK
	First    timeline.Time // the device sent the first byte of data
	Closed   timeline.Time // the device had the server's FIN and all before it, or a RST, or sent a RST

	PacketsUp, PacketsDown uint64 // that the device sent; that it was given
	BytesUp, BytesDown     uint64 // of IP, all of them
	LostUp, LostDown       uint64 // packets, on the way or in a queue
	SentAgain              uint64 // packets to the device with data of TCP that it had been given before

	// RepeatedUp and RepeatedDown are packets of TCP that begin with a repetition (a SYN, data),
	// delivered or not. Those of the server are counted where it sends them.
	RepeatedUp, RepeatedDown uint64

	// Arrivals is how much of what a TCP server sent the device had, and since when: ascending. Of
	// UDP it is the bytes of payload.
	Arrivals []Arrival
	// Coarse is by how much times of Arrivals may be too late. It is 0 but for long flows, of which
	// only so many are kept: those that came closest together become one.
	Coarse time.Duration
}

// Arrival says that the device had the first Bytes of what the server sent, without a hole, since
// At: since the packet that made them whole was handed to its interface.
type Arrival struct {
	At    timeline.Time
	Bytes int64
}

// Had returns the time since when the device had the first so many bytes of the server. It returns
// false if the device did not have them.
func (f *Flow) Had(bytes int64) (timeline.Time, bool) {
	i, _ := slices.BinarySearchFunc(f.Arrivals, bytes, func(a Arrival, want int64) int {
		if a.Bytes < want {
			return -1
		}
		return 1
	})
	if i == len(f.Arrivals) {
		return 0, false
	}
	return f.Arrivals[i].At, true
}

// missed counts packets that are in no [Flow].
type missed struct {
	NoRoom uint64 // packets of TCP and UDP of which there were more flows than maxFlows
	// packets of other protocols such as ICMP, later parts of fragmented ones, and unreadable ones
	Other uint64
}

// Bounds of the kept flows.
const (
	maxFlows    = 10_000
	maxArrivals = 4096      // of a flow
	allArrivals = 1_000_000 // of all together; beyond it a flow has minArrivals
)
