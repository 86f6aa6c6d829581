package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

// Options say how to reach an agent.
type Options struct {
	Address string         // host:port
	Token   wire.Token     // "": none
	Clock   timeline.Clock // nil: the rig's
}

// Open dials an address: "windows:HOST:PORT?token=FILE". path is the text between the first colon
// and the question mark. Without a file the token is that of the environment, see [wire.ReadToken].
func Open(ctx context.Context, path string, params url.Values) (input.Driver, error) {
	for name, values := range params {
		if name != "token" || len(values) != 1 || values[0] == "" {
			return nil, fmt.Errorf("agent at %.100s: parameter %.40q: there is token, the name of a file", path, name)
		}
	}
	token, err := wire.ReadToken(params.Get("token"))
	if err != nil {
		return nil, fmt.Errorf("agent at %.100s: %w", path, err)
	}
	d, err := Dial(ctx, Options{Address: path, Token: token})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Dial connects to an agent. An agent that has a controller already is an error that wraps errBusy,
// and one with another token wire.ErrToken.
func Dial(ctx context.Context, o Options) (*Driver, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("agent at %.100s: %w", o.Address, err)
	}
	return connect(ctx, conn, o)
}

// connect takes a connection over.
func connect(ctx context.Context, conn net.Conn, o Options) (*Driver, error) {
	d := &Driver{address: o.Address, clock: o.Clock, gone: make(chan struct{}), waiting: map[uint64]*question{}}
	if d.clock == nil {
		d.clock = timeline.Monotonic()
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err := d.enter(ctx, conn, o.Token)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("agent at %.100s: %w", o.Address, err)
	}
	d.ends.Go(d.listen)
	d.ends.Go(d.beat)
	if err := d.measure(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("agent at %.100s: %w", o.Address, err), d.Close())
	}
	return d, nil
}

// enter makes the wire and reads who the agent is.
func (d *Driver) enter(ctx context.Context, conn net.Conn, token wire.Token) error {
	c, err := token.Config(subprotocol, wire.RigSide, wire.AgentSide)
	if err != nil {
		return err
	}
	if d.wire, err = wire.Join(ctx, conn, c, subprotocol); err != nil {
		return greetingError(err)
	}
	var g greeting
	if err := d.wire.Read(&g, patience); err != nil {
		return err
	}
	if g.Version != version {
		return versionError(g.Version)
	}
	if err := g.Error.err(); err != nil {
		return err
	}
	return d.greet(g)
}

// greet takes what the agent says of itself, in bounds.
func (d *Driver) greet(g greeting) error {
	const name, note = 200, 1000
	switch g.Info.Realism {
	case input.Hardware, input.System, input.Page:
	default:
		return fmt.Errorf("its input is %.40q, which is not known", g.Info.Realism)
	}
	d.info = input.Info{
		Driver: clean(g.Info.Driver, name), Device: clean(g.Info.Device, name), Realism: g.Info.Realism,
		Latency: max(g.Info.Latency, 0), Note: clean(g.Info.Note, note),
	}
	for _, s := range g.Lifted[:min(len(g.Lifted), maxLifted)] {
		d.lifted = append(d.lifted, clean(s, name))
	}
	return nil
}

// measurements is how many exchanges begin a connection.
const measurements = 16

func (d *Driver) measure(ctx context.Context) error {
	for range measurements {
		if _, err := d.ask(ctx, request{Op: opClock}); err != nil {
			return err
		}
	}
	return nil
}
