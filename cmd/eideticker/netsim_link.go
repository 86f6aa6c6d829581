package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/link"
)

type netsimLinkCmd struct {
	Profile string `default:"cable" placeholder:"PROFILE" help:"Network profile (default: cable)."`
	lineFlags
	Forward []forwardFlag `sep:"none" placeholder:"PORT=HOST:PORT" help:"Forward this port to an address; repeatable."`
	Stream  bool          `help:"Use a stream link: forward local TCP ports, without root, on any system."`
	Netem   bool          `hidden:""`
	Command []string      `arg:"" optional:"" passthrough:"" help:"Program and its arguments after --."`
}

func (netsimLinkCmd) Help() string {
	return `The program runs in a test network. Every name resolves to the far end of the
link. Map its ports to servers with --forward.

Examples:

  eideticker netsim link --profile 3g --forward 80=localhost:8080 -- \
      firefox http://site.test/
  eideticker netsim link --rtt 100ms --down 1Mbit --up 1Mbit -- sh
  eideticker netsim link --stream --profile 3g --forward 9000=localhost:8080

The last example needs no root: http://localhost:9000 reaches port 8080 through a
stream link, until Ctrl-C. A stream link is approximate. It shapes each TCP
connection: connecting takes no time, and the first data is delayed instead.
Port 0 selects a free port.

` + profileTable()
}

// profileTable lists the profiles, for help.
func profileTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Profiles:\n\n  %-9s%8s %8s %6s\n", "NAME", "DOWN", "UP", "RTT")
	for _, p := range link.Profiles() {
		c := p.Conditions
		if c.Down.Rate == 0 {
			fmt.Fprintf(&b, "  %-34s %s\n", p.Name, p.About)
			continue
		}
		fmt.Fprintf(&b, "  %-9s%8s %8s %6v  %s\n", p.Name, c.Down.Rate, c.Up.Rate, c.RTT(), p.About)
	}
	return b.String()
}

// forwardFlag is PORT=ADDRESS.
type forwardFlag struct{ port, address string }

func (f *forwardFlag) UnmarshalText(text []byte) error {
	port, address, ok := strings.Cut(string(text), "=")
	if _, err := net.LookupPort("tcp", port); !ok || err != nil {
		return fmt.Errorf("forward %q: must be PORT=HOST:PORT", text)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("forward %q: must be PORT=HOST:PORT: %w", text, err)
	}
	*f = forwardFlag{port, address}
	return nil
}

// errNetem rejects a flag of the first version.
var errNetem = usagef("--netem was removed; use tc-netem(8)")

func (c netsimLinkCmd) Run(e *env) (err error) {
	c.Command = programOf(c.Command)
	switch {
	case c.Netem:
		return errNetem
	case c.Stream && len(c.Forward) == 0:
		return usagef("--stream needs --forward PORT=HOST:PORT")
	case !c.Stream && len(c.Command) == 0:
		return usagef("link needs a program after --, such as sh")
	}
	conditions, err := c.conditions(c.Profile)
	if err != nil {
		return err
	}
	seed := c.seed()
	if c.Stream {
		return c.stream(e, conditions, seed)
	}
	n, err := testnet.Open(testnet.Options{Conditions: conditions, Seed: seed, Names: []string{"*"}})
	if err != nil {
		return unprivileged(err, "--stream --forward PORT=HOST:PORT forwards ports of this machine over one")
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, f := range c.Forward {
		l, err := n.Listen(f.port)
		if err != nil {
			return fmt.Errorf("forward port %s: %w", f.port, err)
		}
		defer forward(e.ctx, l, f.address)()
	}
	cmd := commandOf(e.ctx, e, c.Command)
	if err := n.Link.Device.Start(cmd); err != nil {
		return err
	}
	failed := cmd.Wait()
	down, up := n.Link.Counts()
	fmt.Fprintf(e.err, "%s; down %s; up %s; seed %d\n", c.Profile, countsText(down), countsText(up), seed)
	return failed
}

// unprivileged adds an alternative to the error of a missing privilege.
func unprivileged(err error, instead string) error {
	if no := (*link.PrivilegeError)(nil); errors.As(err, &no) {
		return fmt.Errorf("%w: %s", err, instead)
	}
	return err
}

// stream forwards local ports over a stream link until the program or Ctrl-C ends it.
func (c netsimLinkCmd) stream(e *env, conditions link.Conditions, seed uint64) (err error) {
	s, err := link.OpenStream(conditions, seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, f := range c.Forward {
		below, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", f.port))
		if err != nil {
			return fmt.Errorf("forward port %s: %w", f.port, err)
		}
		l := s.Listen(below)
		defer forward(e.ctx, l, f.address)()
		fmt.Fprintf(e.err, "%s is %s over %s, approximately\n", l.Addr(), f.address, c.Profile)
	}
	var failed error
	if len(c.Command) > 0 {
		cmd := commandOf(e.ctx, e, c.Command)
		if err := cmd.Start(); err != nil {
			return err
		}
		failed = cmd.Wait()
	} else {
		<-e.ctx.Done()
	}
	down, up := s.Counts()
	fmt.Fprintf(e.err, "%s, approximately; down %s; up %s; seed %d\n", c.Profile, countsText(down), countsText(up),
		seed)
	if n := s.Refused(); n > 0 {
		fmt.Fprintf(e.err, "%d connections were refused: there were %d already\n", n, link.MaxStreams)
	}
	return failed
}

// commandOf returns a program with this one's streams.
func commandOf(ctx context.Context, e *env, program []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in, terminal.Inherited(e.out), terminal.Inherited(e.err)
	// The terminal sends Ctrl-C to the program too.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

func countsText(c link.Counts) string {
	text := fmt.Sprintf("%d packets, %s", c.Packets, bytesText(int64(c.Bytes)))
	if lost := c.LostInQueue + c.LostOnWay; lost > 0 {
		text += fmt.Sprintf(", %d lost on the way, %d in the queue", c.LostOnWay, c.LostInQueue)
	}
	return text
}

// forward passes connections on to an address until end is called.
func forward(ctx context.Context, l net.Listener, address string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		testnet.Pass(ctx, l, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		})
	})
	return func() { cancel(); wg.Wait() }
}
