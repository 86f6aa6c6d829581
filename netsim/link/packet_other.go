//go:build !linux

package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
)

// errNoPackets: TUN interfaces and network namespaces as they are used here are Linux's.
var errNoPackets = fmt.Errorf("a packet link takes Linux: %w", errors.ErrUnsupported)

// Namespace is never there.
type Namespace struct{}

// Start returns an error that wraps errors.ErrUnsupported, as all of the below do.
func (*Namespace) Start(*exec.Cmd) error { return errNoPackets }

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

// Flows returns nothing.
func (*Packet) Flows() []Flow { return nil }

// Missed returns nothing.
func (*Packet) Missed() Missed { return Missed{} }

// Probe does nothing.
func (*Packet) Probe(context.Context) (Probe, error) { return Probe{}, errNoPackets }

// Goodput does nothing.
func (*Packet) Goodput(context.Context, int) (Goodput, error) { return Goodput{}, errNoPackets }

// Pings does nothing.
func (*Packet) Pings(context.Context, int) ([]RoundTrip, error) { return nil, errNoPackets }

// Fates does nothing.
func (*Packet) Fates(context.Context, int) ([]bool, error) { return nil, errNoPackets }

// OpenTBF does nothing.
func OpenTBF(Conditions) (*Packet, error) { return nil, errNoPackets }

// HeaderTBF is Linux's.
const HeaderTBF = 14

// StallWatch is never there.
type StallWatch struct{}

// WatchStalls does nothing.
func WatchStalls() (*StallWatch, error) {
	return nil, fmt.Errorf("watch for stalls of this machine: it takes Linux: %w", errors.ErrUnsupported)
}

// Urge does nothing.
func Urge() (back func(), err error) {
	return nil, fmt.Errorf("go before all that has no deadline: it takes Linux: %w", errors.ErrUnsupported)
}

// Stop does nothing.
func (*StallWatch) Stop() Stalls { return nil }

// Close does nothing.
func (*Packet) Close() error { return nil }
