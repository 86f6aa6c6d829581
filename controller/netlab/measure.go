package netlab

import (
	"context"
	"errors"

	"github.com/eideticker/eideticker/netsim/link"
)

// Figures are the requested and the measured figures of a link.
type Figures struct {
	RTT     askedNS   `json:"rtt"`
	Down    askedRate `json:"down"`
	Up      askedRate `json:"up"`
	Loss    askedLoss `json:"loss"`
	Goodput []goodput `json:"goodput"`
	Off     []string  `json:"off"` // missed figures
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

type goodput struct {
	Connections int     `json:"connections"`
	Got         float64 `json:"got_bits_per_second"`
	Possible    float64 `json:"possible_bits_per_second"` // what the rate leaves after headers
}

// probed is a packet or a stream link.
type probed interface {
	Probe(context.Context) (link.Probe, error)
	Goodput(context.Context, int) (link.Goodput, error)
	Close() error
}

// MeasureOptions describe a measured link.
type MeasureOptions struct {
	Conditions link.Conditions
	Seed       uint64
	Stream     bool // a stream link, which needs no root
	Quick      bool // only probe the link
}

// Measure makes a link, probes it, and downloads over one and over 32 connections.
func Measure(ctx context.Context, o MeasureOptions) (f Figures, err error) {
	var p probed
	if o.Stream {
		p, err = link.OpenStream(o.Conditions, o.Seed)
	} else {
		p, err = link.OpenPacket(o.Conditions, o.Seed)
	}
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	got, err := p.Probe(ctx)
	if err != nil {
		return f, err
	}
	asked := o.Conditions
	f = Figures{
		RTT: askedNS{int64(asked.RTT()), int64(got.RTT.Least), int64(got.RTT.Median), int64(got.RTT.P99),
			int64(got.RTT.Most)},
		Down: askedRate{int64(asked.Down.Rate), int64(got.Down)}, Up: askedRate{int64(asked.Up.Rate), int64(got.Up)},
		Loss: askedLoss{(asked.Down.Loss + asked.Up.Loss) / 2, got.Lost, got.Sent}, Goodput: []goodput{},
		Off: append([]string{}, asked.Off(got)...),
	}
	if o.Quick || asked.Down.Rate == 0 {
		return f, nil
	}
	for _, connections := range []int{1, 32} {
		good, err := p.Goodput(ctx, connections)
		if err != nil {
			return f, err
		}
		f.Goodput = append(f.Goodput, goodput{connections, good.Rate, link.GoodputCeiling(asked.Down.Rate)})
	}
	return f, nil
}
