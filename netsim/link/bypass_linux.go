package link

import (
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// bypass passes the packets of one address of the servers at once. Neither the conditions nor
// chance apply to them, and they are in no flow. Both carriers share it.
type bypass struct {
	at       atomic.Pointer[netip.AddrPort] // nil: none
	down, up passed
}

// passed counts the packets of one direction.
type passed struct{ packets, bytes atomic.Uint64 }

func (p *passed) counts() Counts { return Counts{Packets: p.packets.Load(), Bytes: p.bytes.Load()} }

// takes reports if a packet belongs to the address, and counts it.
func (b *bypass) takes(packet []byte, fromDevice bool) bool {
	at := b.at.Load()
	var h header
	if at == nil || !h.read(packet) {
		return false
	}
	server, way := address(h.from, h.six, h.source), &b.down
	if fromDevice {
		server, way = address(h.to, h.six, h.dst), &b.up
	}
	if server != *at {
		return false
	}
	way.packets.Add(1)
	way.bytes.Add(uint64(len(packet)))
	return true
}

// Bypass lets packets of TCP and UDP of one address of the servers pass at once, in both
// directions. Counts and Flows do not have them.
func (p *Packet) Bypass(at netip.AddrPort) { p.beside.at.Store(&at) }

// Bypassed returns the counts of the packets that Bypass let pass.
func (p *Packet) Bypassed() (down, up Counts) { return p.beside.down.counts(), p.beside.up.counts() }

// pass hands a packet over if the bypass takes it.
func (c *carrier) pass(packet []byte) bool {
	if !c.beside.takes(packet, c.up) {
		return false
	}
	_, _ = unix.Write(c.out, packet) // see deliver
	return true
}
