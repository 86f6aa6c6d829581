//go:build !linux

package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
)

// errNoPackets: TUN interfaces and network namespaces as they are used here are Linux's.
var errNoPackets = fmt.Errorf("a packet link takes Linux: %w", errors.ErrUnsupported)

// Namespace is never there.
type Namespace struct{}

// Start returns an error that wraps errors.ErrUnsupported, as all of the below do.
func (*Namespace) Start(*exec.Cmd) error { return errNoPackets }

// StartBy does nothing.
func (*Namespace) StartBy(*exec.Cmd, func(*exec.Cmd) error) error { return errNoPackets }

// Listen does nothing.
func (*Namespace) Listen(network, address string) (net.Listener, error) { return nil, errNoPackets }

// ListenPacket does nothing.
func (*Namespace) ListenPacket(network, address string) (net.PacketConn, error) {
	return nil, errNoPackets
}

// Dial does nothing.
func (*Namespace) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return nil, errNoPackets
}

// Packet is never there.
type Packet struct{ Device, Server *Namespace }

// OpenPacket does nothing.
func OpenPacket(Conditions, uint64) (*Packet, error) { return nil, errNoPackets }

// Set does nothing.
func (*Packet) Set(Conditions) error { return errNoPackets }

// Counts returns nothing.
func (*Packet) Counts() (down, up Counts) { return Counts{}, Counts{} }

// Bypass does nothing.
func (*Packet) Bypass(netip.AddrPort) {}

// Bypassed returns nothing.
func (*Packet) Bypassed() (down, up Counts) { return Counts{}, Counts{} }

// Flows returns nothing.
func (*Packet) Flows() []Flow { return nil }

// Probe does nothing.
func (*Packet) Probe(context.Context) (Probe, error) { return Probe{}, errNoPackets }

// Goodput does nothing.
func (*Packet) Goodput(context.Context, int) (Goodput, error) { return Goodput{}, errNoPackets }

// Close does nothing.
func (*Packet) Close() error { return nil }
