package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/netsim/link"
)

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
	Profile     string     `json:"profile"`
	Approximate bool       `json:"approximate"` // a stream link
	Seed        uint64     `json:"seed"`
	RTT         askedNS    `json:"rtt"`
	Down        askedRate  `json:"down"`
	Up          askedRate  `json:"up"`
	Loss        askedLoss  `json:"loss"`
	Goodput     []goodJSON `json:"goodput"`
	Off         []string   `json:"off"` // missed figures
}

type askedNS struct {
	AskedNS  int64 `json:"asked_ns"`
	MinNS    int64 `json:"least_ns"`
	MedianNS int64 `json:"median_ns"`
	P99NS    int64 `json:"p99_ns"`
	MaxNS    int64 `json:"most_ns"`
}

type askedRate struct {
	Asked int64 `json:"asked_bits_per_second"` // 0: not limited
	Got   int64 `json:"got_bits_per_second"`
}

type askedLoss struct {
	Asked   float64 `json:"asked_fraction"`
	Lost    int     `json:"lost_packets"`
	Packets int     `json:"packets"`
}

type goodJSON struct {
	Connections int     `json:"connections"`
	Got         float64 `json:"got_bits_per_second"`
	Possible    float64 `json:"possible_bits_per_second"` // what the rate leaves after headers
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
		line, err := c.measure(e, conditions, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		line.Profile, line.Seed, line.Approximate = name, seed, c.Stream
		lines = append(lines, line)
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

// open makes a link.
func (c netsimCertifyCmd) open(asked link.Conditions, seed uint64) (probedLine, error) {
	if c.Stream {
		return link.OpenStream(asked, seed)
	}
	p, err := link.OpenPacket(asked, seed)
	return p, unprivileged(err, "--stream measures one")
}

// probedLine is a packet or a stream link.
type probedLine interface {
	Probe(context.Context) (link.Probe, error)
	Goodput(context.Context, int) (link.Goodput, error)
	Close() error
}

// measure makes and probes a link.
func (c netsimCertifyCmd) measure(e *env, asked link.Conditions, seed uint64) (line lineJSON, err error) {
	p, err := c.open(asked, seed)
	if err != nil {
		return line, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	got, err := p.Probe(e.ctx)
	if err != nil {
		return line, err
	}
	line = lineJSON{
		RTT: askedNS{int64(asked.RTT()), int64(got.RTT.Least), int64(got.RTT.Median), int64(got.RTT.P99),
			int64(got.RTT.Most)},
		Down: askedRate{int64(asked.Down.Rate), int64(got.Down)}, Up: askedRate{int64(asked.Up.Rate), int64(got.Up)},
		Loss: askedLoss{(asked.Down.Loss + asked.Up.Loss) / 2, got.Lost, got.Sent}, Goodput: []goodJSON{},
		Off: append([]string{}, asked.Off(got)...),
	}
	if c.Quick || asked.Down.Rate == 0 {
		return line, nil
	}
	for _, connections := range []int{1, 32} {
		good, err := p.Goodput(e.ctx, connections)
		if err != nil {
			return line, err
		}
		line.Goodput = append(line.Goodput, goodJSON{connections, good.Rate, link.GoodputCeiling(asked.Down.Rate)})
	}
	return line, nil
}

func (c netsimCertifyCmd) print(w io.Writer, lines []lineJSON) error {
	if c.JSON {
		return printJSON(w, struct {
			Lines []lineJSON `json:"lines"`
		}{lines})
	}
	rate := func(r askedRate) (asked, got string) {
		if r.Asked == 0 {
			return "–", "–"
		}
		return link.Rate(r.Asked).String(), fmt.Sprintf("%.2f %%", 100*float64(r.Got)/float64(r.Asked))
	}
	var rows [][]string
	for _, l := range lines {
		down, gotDown := rate(l.Down)
		up, gotUp := rate(l.Up)
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
