package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/netsim/link"
)

// What a packet link promises. The other links are held against the same.
const (
	promisedShare = 0.01                   // of a round trip's median and 99th percentile, and of goodput
	promisedRTT   = 300 * time.Microsecond // at least, of the median
	promisedLate  = 2 * time.Millisecond   // more, of the 99th percentile
	exactPings    = 200
	exactPackets  = 5000
	exactRTT      = 20 * time.Millisecond // of lines whose rate is measured
)

// exactJSON is how exact links are.
type exactJSON struct {
	RTT   []exactRTTJSON  `json:"rtt"`
	Rate  []exactRateJSON `json:"rate"`
	Loss  []exactLossJSON `json:"loss"`
	Seed  uint64          `json:"seed"`
	Load  float64         `json:"load"` // programs that ran or waited before it began, on average of a minute; 0: not known
	Notes []string        `json:"notes"`
}

type exactRateJSON struct {
	Link  string `json:"link"` // packet, stream, tbf: the kernel's token bucket
	Asked int64  `json:"asked_bits_per_second"`
	goodJSON
	Packets uint64 `json:"packets"`
	Again   uint64 `json:"again_packets"` // with something that was there already
	Lost    uint64 `json:"lost_packets"`
	Met     bool   `json:"met"`
}

type exactLossJSON struct {
	Link    string  `json:"link"`
	Asked   float64 `json:"asked_fraction"`
	Burst   float64 `json:"asked_burst"` // 0: independent
	Lost    int     `json:"lost_packets"`
	Packets int     `json:"packets"`
	Least   float64 `json:"least_packets"` // 99 of 100 times
	Most    float64 `json:"most_packets"`
	Same    bool    `json:"same_fates"` // the same seed lost the same packets once more
	Met     bool    `json:"met"`
}

// measuredLine is what all links can.
type measuredLine interface {
	Pings(context.Context, int) ([]link.RoundTrip, error)
	Goodput(context.Context, int) (link.Goodput, error)
	Fates(context.Context, int) ([]bool, error)
	Close() error
}

// linkKind is a way to apply a model.
type linkKind struct {
	name     string
	open     func(link.Conditions, uint64) (measuredLine, error)
	rateOnly bool
	overhead int // bytes of a packet that it counts beside IP
}

func linkKinds() []linkKind {
	return []linkKind{
		{name: "packet", open: func(c link.Conditions, seed uint64) (measuredLine, error) { return opened(link.OpenPacket(c, seed)) }},
		{name: "tbf", open: func(c link.Conditions, _ uint64) (measuredLine, error) { return opened(link.OpenTBF(c)) }, rateOnly: true, overhead: link.HeaderTBF},
		{name: "stream", open: func(c link.Conditions, seed uint64) (measuredLine, error) { return opened(link.OpenStream(c, seed)) }},
	}
}

// opened keeps a nil that is typed from being taken for a line.
func opened[L measuredLine](l L, err error) (measuredLine, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// exact measures how exact links are, each row by all of them before the next.
type exact struct {
	*env
	kinds  []linkKind
	quick  bool
	result exactJSON
}

func (c netsimCertifyCmd) exact(e *env) error {
	x := exact{env: e, quick: c.Quick, result: exactJSON{RTT: []exactRTTJSON{}, Rate: []exactRateJSON{}, Loss: []exactLossJSON{}, Seed: c.seed(), Load: load(), Notes: []string{}}}
	if err := x.usable(); err != nil {
		return err
	}
	if back, err := link.Urge(); err == nil {
		defer back()
	} else {
		x.result.Notes = append(x.result.Notes, fmt.Sprintf("the program did not go before others, and is as late as they make it: %v", err))
	}
	rtts := []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}
	rates := []link.Rate{256 * link.Kbit, link.Mbit, 10 * link.Mbit, 100 * link.Mbit}
	losses := []link.Direction{{Loss: 0.001}, {Loss: 0.01}, {Loss: 0.05, Burst: 3}}
	counts := []int{1, 32}
	if x.quick {
		rtts, rates, losses, counts = rtts[:1], rates[2:3], losses[1:2], counts[:1]
	}
	for _, rtt := range rtts {
		if err := x.each(x.rtt(rtt)); err != nil {
			return err
		}
	}
	for _, d := range losses {
		if err := x.each(x.loss(d)); err != nil {
			return err
		}
	}
	for _, rate := range rates {
		for _, connections := range counts {
			if err := x.each(x.rate(rate, connections)); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		return printJSON(e.out, struct {
			Exact exactJSON `json:"exact"`
		}{x.result})
	}
	return x.result.print(e.out)
}

// usable leaves out what this process may not make, or this system does not have, and notes it.
func (x *exact) usable() error {
	d := link.Direction{Rate: link.Mbit}
	for _, k := range linkKinds() {
		l, err := k.open(link.Conditions{Down: d, Up: d}, 1)
		if no := (*link.PrivilegeError)(nil); errors.As(err, &no) || errors.Is(err, errors.ErrUnsupported) {
			x.result.Notes = append(x.result.Notes, fmt.Sprintf("%s was not measured: %v", k.name, err))
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if err := l.Close(); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		x.kinds = append(x.kinds, k)
	}
	return nil
}

// each has one thing measured of all links.
func (x *exact) each(what string, c link.Conditions, measure func(linkKind, measuredLine) error) error {
	for _, k := range x.kinds {
		c := c
		if k.rateOnly {
			if c.Down.Rate == 0 {
				continue
			}
			c.SetRTT(0)
		}
		fmt.Fprintf(x.err, "%s, %s\n", what, k.name)
		err := func() (err error) {
			l, err := k.open(c, x.result.Seed)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.Close()) }()
			return measure(k, l)
		}()
		if err != nil {
			return fmt.Errorf("%s, %s: %w", what, k.name, err)
		}
	}
	return nil
}

func (x *exact) rate(asked link.Rate, connections int) (string, link.Conditions, func(linkKind, measuredLine) error) {
	c := link.Conditions{Down: link.Direction{Rate: asked}, Up: link.Direction{Rate: asked}}
	c.SetRTT(exactRTT)
	return fmt.Sprintf("%s by %d", asked, connections), c, func(k linkKind, l measuredLine) error {
		got, err := l.Goodput(x.ctx, connections)
		if err != nil {
			return err
		}
		possible := link.GoodputCeiling(asked) * link.MTU / float64(link.MTU+k.overhead)
		x.result.Rate = append(x.result.Rate, exactRateJSON{k.name, int64(asked), goodJSON{connections, got.Rate, possible}, got.Packets, got.Again, got.Lost,
			math.Abs(got.Rate/possible-1) <= promisedShare})
		return nil
	}
}

func (x *exact) loss(asked link.Direction) (string, link.Conditions, func(linkKind, measuredLine) error) {
	c := link.Conditions{Down: asked}
	return fmt.Sprintf("loss of %g %%", 100*asked.Loss), c, func(k linkKind, l measuredLine) error {
		came, err := l.Fates(x.ctx, exactPackets)
		if err != nil {
			return err
		}
		once, err := k.open(c, x.result.Seed)
		if err != nil {
			return err
		}
		again, err := once.Fates(x.ctx, exactPackets)
		if err = errors.Join(err, once.Close()); err != nil {
			return err
		}
		row := exactLossJSON{Link: k.name, Asked: asked.Loss, Burst: asked.Burst, Packets: len(came), Same: slices.Equal(came, again)}
		for _, is := range came {
			if !is {
				row.Lost++
			}
		}
		row.Least, row.Most = asked.LossInterval(len(came))
		row.Met = row.Same && float64(row.Lost) >= row.Least && float64(row.Lost) <= row.Most
		x.result.Loss = append(x.result.Loss, row)
		return nil
	}
}

// load is how many programs ran or waited in the last minute.
func load() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}

func (r *exactJSON) print(w io.Writer) error {
	met := func(is bool) string {
		if is {
			return "yes"
		}
		return "no"
	}
	name := func(kind string) string {
		if kind == "stream" {
			return "stream (approximate)"
		}
		return kind
	}
	ms := milliseconds
	var rows [][]string
	for _, l := range r.RTT {
		rows = append(rows, append([]string{name(l.Link), ms(l.AskedNS), ms(l.LeastNS), ms(l.MedianNS), ms(l.P99NS)}, l.printed()...))
	}
	if err := printTable(w, []string{"LINK", ">RTT", ">LEAST", ">MEDIAN", ">P99", ">STALLS", ">LONGEST", ">ALL", ">ASIDE", ">P99 OF OTHERS", "MET"}, rows); err != nil {
		return err
	}
	stalled := func(l exactRTTJSON) bool { return l.Stalls != nil && l.Stalls.Count > 0 }
	if slices.ContainsFunc(r.RTT, stalled) {
		fmt.Fprintf(w, "In a stall a CPU stood still for %v or more: nothing ran on it, whatever its priority. Packets whose time one fell in, and that were in time but for that, are set aside, up to %g %% of a row.\n", link.LeastStall, 100*mostAside)
	}
	fmt.Fprintln(w)
	rows = nil
	for _, l := range r.Rate {
		rows = append(rows, []string{name(l.Link), link.Rate(l.Asked).String(), strconv.Itoa(l.Connections), fmt.Sprintf("%.2f %%", 100*l.Got/l.Possible), strconv.FormatUint(l.Lost, 10), strconv.FormatUint(l.Again, 10), met(l.Met)})
	}
	if err := printTable(w, []string{"LINK", ">RATE", ">BY", ">TCP", ">LOST", ">AGAIN", "MET"}, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rows = nil
	for _, l := range r.Loss {
		same := "no"
		if l.Same {
			same = "yes"
		}
		rows = append(rows, []string{name(l.Link), fmt.Sprintf("%g %%", 100*l.Asked), fmt.Sprintf("%.3g", max(l.Burst, 1)), fmt.Sprintf("%d/%d", l.Lost, l.Packets), fmt.Sprintf("%.0f–%.0f", math.Ceil(l.Least), math.Floor(l.Most)), same, met(l.Met)})
	}
	if err := printTable(w, []string{"LINK", ">LOSS", ">IN A ROW", ">LOST", ">99 % OF CASES", "SAME SEED, SAME FATES", "MET"}, rows); err != nil {
		return err
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, n)
	}
	if r.Load >= 1 {
		fmt.Fprintf(w, "This machine was busy with something else when it began (load %.1f): links and what measures them may have been late for that.\n", r.Load)
	}
	_, err := fmt.Fprintln(w, "TCP is of what the rate leaves after headers; the kernel's token bucket (tbf) counts Ethernet's too, and is measured by what programs read.")
	return err
}
