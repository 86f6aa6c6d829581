package link

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// Goodput downloads by so many connections at once, and counts after the initial burst. It counts
// bytes given to the device's interface, each once, at that time. Counting at the reader would be
// wrong: a reader that waits for a lost byte reads a lot at once when it comes. With many
// connections that would be a large part of the count.
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
