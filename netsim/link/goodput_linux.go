package link

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// Goodput downloads by so many connections at once, and begins to count when the first rush is
// over. What the device's interface is given counts, each byte once, at the time at which it is
// given it: who waits for a byte that was lost reads a lot at once when it comes, and for many
// connections that would be a good part of all that is counted.
func (p *Packet) Goodput(ctx context.Context, connections int) (Goodput, error) {
	d := p.conditions.Down
	if d.Rate == 0 {
		return Goodput{}, errNoRate
	}
	l, err := p.Server.Listen("tcp4", net.JoinHostPort(ServerAddress.Addr().String(), "0"))
	if err != nil {
		return Goodput{}, fmt.Errorf("measure goodput: %w", err)
	}
	address := net.JoinHostPort(ServerAddress.Addr().String(), strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	m := newMeter(d, connections)
	before := p.flows.measure(m)
	err = download(ctx, d, connections, l,
		func(ctx context.Context) (net.Conn, error) { return p.Device.Dial(ctx, "tcp4", address) }, m, func(int) {})
	after := p.flows.measure(nil)
	if err != nil {
		return Goodput{}, err
	}
	return Goodput{m.rate(), after.Packets - before.Packets, after.Again - before.Again, after.Lost - before.Lost}, nil
}
