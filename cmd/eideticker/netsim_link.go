package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/netlab"
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
	client, approximately := e.client(c.Command), ""
	if c.Stream {
		approximately = ", approximately"
		client.Stream, err = link.OpenStream(conditions, seed)
	} else {
		client.Network, err = openNetwork(conditions, seed,
			"--stream --forward PORT=HOST:PORT forwards ports of this machine over one", "*")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for _, f := range c.Forward {
		l, err := client.Listen(f.port)
		if err != nil {
			return fmt.Errorf("forward port %s: %w", f.port, err)
		}
		defer netlab.Forward(e.ctx, l, f.address)()
		if c.Stream {
			fmt.Fprintf(e.err, "%s is %s over %s, approximately\n", l.Addr(), f.address, c.Profile)
		}
	}
	var failed error
	if len(c.Command) > 0 {
		cmd, err := client.Start(e.ctx, 0)
		if err != nil {
			return err
		}
		failed = cmd.Wait()
	} else {
		<-e.ctx.Done()
	}
	down, up := client.Counts()
	fmt.Fprintf(e.err, "%s%s; down %s; up %s; seed %d\n", c.Profile, approximately, countsText(down), countsText(up),
		seed)
	if c.Stream && client.Stream.Refused() > 0 {
		fmt.Fprintf(e.err, "%d connections were refused: there were %d already\n", client.Stream.Refused(),
			link.MaxStreams)
	}
	return failed
}

func countsText(c link.Counts) string {
	text := fmt.Sprintf("%d packets, %s", c.Packets, bytesText(int64(c.Bytes)))
	if lost := c.LostInQueue + c.LostOnWay; lost > 0 {
		text += fmt.Sprintf(", %d lost on the way, %d in the queue", c.LostOnWay, c.LostInQueue)
	}
	return text
}

type netsimCertifyCmd struct {
	Profile []string `arg:"" optional:"" complete:"@profiles" help:"Profiles to measure (default: all)."`
	lineFlags
	Exact  bool `hidden:""`
	Stream bool `help:"Measure stream links, which are approximate and need no root."`
	Netem  bool `hidden:""`
	Quick  bool `help:"Only probe the link, as before a run; do not download."`
	JSON   bool `help:"Print one JSON object."`
}

func (netsimCertifyCmd) Help() string {
	return `Each link is probed, and then carries a download over one and over 32 connections.
The exit code is 1 if a link misses its figures.

Examples:

  eideticker netsim certify
  eideticker netsim certify none --rtt 100ms --down 10Mbit --up 1Mbit
  eideticker netsim certify --stream 3g`
}

// lineJSON has the requested and the measured figures of a link.
type lineJSON struct {
	Profile     string `json:"profile"`
	Approximate bool   `json:"approximate"` // a stream link
	Seed        uint64 `json:"seed"`
	netlab.Figures
}

func (c netsimCertifyCmd) Run(e *env) error {
	if c.Netem {
		return errNetem
	}
	if c.Exact {
		return usagef("--exact was removed; use go test -run ^$ -bench Exact ./netsim/link")
	}
	names := c.Profile
	if len(names) == 0 {
		for _, p := range link.Profiles() {
			names = append(names, p.Name)
		}
	}
	var lines []lineJSON
	seed := c.seed()
	for _, name := range names {
		conditions, err := c.conditions(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.err, "%s\n", name)
		got, err := netlab.Measure(e.ctx, netlab.MeasureOptions{Conditions: conditions, Seed: seed, Stream: c.Stream,
			Quick: c.Quick})
		if err != nil {
			return fmt.Errorf("%s: %w", name, unprivileged(err, "--stream measures one"))
		}
		lines = append(lines, lineJSON{name, c.Stream, seed, got})
	}
	if err := c.print(e.out, lines); err != nil {
		return err
	}
	for _, l := range lines {
		if len(l.Off) > 0 {
			return errors.New("a link missed its figures")
		}
	}
	return nil
}

func (c netsimCertifyCmd) print(w io.Writer, lines []lineJSON) error {
	if c.JSON {
		return printJSON(w, struct {
			Lines []lineJSON `json:"lines"`
		}{lines})
	}
	rate := func(asked, got int64) (string, string) {
		if asked == 0 {
			return "–", "–"
		}
		return link.Rate(asked).String(), fmt.Sprintf("%.2f %%", 100*float64(got)/float64(asked))
	}
	var rows [][]string
	for _, l := range lines {
		down, gotDown := rate(l.Down.Asked, l.Down.Got)
		up, gotUp := rate(l.Up.Asked, l.Up.Got)
		ms := func(ns int64) string { return fmt.Sprintf("%.2f ms", float64(ns)/float64(time.Millisecond)) }
		profile := l.Profile
		if l.Approximate {
			profile += " (approximate)"
		}
		row := []string{profile, time.Duration(l.RTT.AskedNS).String(), ms(l.RTT.MedianNS), ms(l.RTT.P99NS), down,
			gotDown, up, gotUp}
		for i := range 2 {
			if i < len(l.Goodput) {
				row = append(row, fmt.Sprintf("%.1f %%", 100*l.Goodput[i].Got/l.Goodput[i].Possible))
			} else {
				row = append(row, "–")
			}
		}
		rows = append(rows, append(row, fmt.Sprintf("%d/%d", l.Loss.Lost, l.Loss.Packets)))
	}
	if err := terminal.Table(w, []string{"LINK", ">RTT", ">MEDIAN", ">P99", ">DOWN", ">GOT", ">UP", ">GOT", ">TCP, 1",
		">TCP, 32", ">LOST"}, rows); err != nil {
		return err
	}
	for _, l := range lines {
		if len(l.Off) > 0 {
			if _, err := fmt.Fprintf(w, "%s: %s\n", l.Profile, strings.Join(l.Off, "; ")); err != nil {
				return err
			}
		}
	}
	return nil
}
