package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Promises of a packet link on a machine that does no other work. The stream link is compared with
// the same.
const (
	promisedShare = 0.01                   // of a round trip's median and 99th percentile, and of goodput
	promisedRTT   = 300 * time.Microsecond // at least, of the median
	promisedLate  = 2 * time.Millisecond   // more, of the 99th percentile
	exactPings    = 200
	exactPackets  = 5000
	exactSeed     = 1
)

// exactLink is a link as the benchmark uses it.
type exactLink interface {
	pings(context.Context, int) ([]time.Duration, error)
	Goodput(context.Context, int) (Goodput, error)
	deliveries(context.Context, int) ([]bool, error)
	Close() error
}

// BenchmarkExact prints how exact links are, beside the promises. It takes six minutes, asserts
// nothing, and reports the share of rows that keep the promises. Without root it measures the
// stream link only. On a busy machine, -exec 'chrt --fifo 1' lets the whole program run before
// others.
func BenchmarkExact(b *testing.B) {
	b.Run("rtt", func(b *testing.B) {
		table := newExactTable(b, "LINK\tRTT\tLEAST\tMEDIAN\tP99\tLOST\tMET")
		for _, rtt := range []time.Duration{20, 50, 100, 200, 300} {
			var c Conditions
			c.SetRTT(rtt * time.Millisecond)
			table.each(c, func(l exactLink, _ func() exactLink) (string, bool) {
				trips, err := l.pings(b.Context(), exactPings)
				if err != nil {
					b.Fatal(err)
				}
				lost := exactPings - len(trips)
				got := spreadOf(append(trips, slices.Repeat([]time.Duration{c.RTT() + time.Second}, lost)...))
				share := time.Duration(promisedShare * float64(c.RTT()))
				met := (got.Median-c.RTT()).Abs() <= max(share, promisedRTT) && got.P99 <= c.RTT()+share+promisedLate
				round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
				return fmt.Sprintf("%v\t%v\t%v\t%v\t%d", c.RTT(), round(got.Least), round(got.Median), round(got.P99),
					lost), met
			})
		}
		table.print()
	})
	b.Run("loss", func(b *testing.B) {
		table := newExactTable(b, "LINK\tLOSS\tIN A ROW\tLOST\t99 % OF CASES\tSAME SEED, SAME FATES\tMET")
		for _, d := range []Direction{{Loss: 0.001}, {Loss: 0.01}, {Loss: 0.05, Burst: 3}} {
			table.each(Conditions{Down: d}, func(l exactLink, again func() exactLink) (string, bool) {
				came, err := l.deliveries(b.Context(), exactPackets)
				if err != nil {
					b.Fatal(err)
				}
				once := again()
				repeated, err := once.deliveries(b.Context(), exactPackets)
				if err = errors.Join(err, once.Close()); err != nil {
					b.Fatal(err)
				}
				lost := 0
				for _, arrived := range came {
					if !arrived {
						lost++
					}
				}
				same := slices.Equal(came, repeated)
				least, most := d.lossInterval(len(came))
				met := same && float64(lost) >= least && float64(lost) <= most
				return fmt.Sprintf("%g %%\t%g\t%d/%d\t%.0f–%.0f\t%v", 100*d.Loss, max(d.Burst, 1), lost, len(came),
					math.Ceil(least), math.Floor(most), same), met
			})
		}
		table.print()
	})
	b.Run("rate", func(b *testing.B) {
		table := newExactTable(b, "LINK\tRATE\tBY\tTCP\tLOST\tAGAIN\tMET")
		for _, rate := range []Rate{256 * Kbit, Mbit, 10 * Mbit, 100 * Mbit} {
			for _, connections := range []int{1, 32} {
				c := Conditions{Down: Direction{Rate: rate}, Up: Direction{Rate: rate}}
				c.SetRTT(20 * time.Millisecond)
				table.each(c, func(l exactLink, _ func() exactLink) (string, bool) {
					got, err := l.Goodput(b.Context(), connections)
					if err != nil {
						b.Fatal(err)
					}
					share := got.Rate / GoodputCeiling(rate)
					met := math.Abs(share-1) <= promisedShare
					return fmt.Sprintf("%v\t%d\t%.2f %%\t%d\t%d", rate, connections, 100*share, got.Lost, got.Again),
						met
				})
			}
		}
		table.print()
	})
}

// exactTable collects rows of text.
type exactTable struct {
	b         *testing.B
	text      strings.Builder
	tabs      *tabwriter.Writer
	rows, met int
}

func newExactTable(b *testing.B, heading string) *exactTable {
	t := &exactTable{b: b}
	t.tabs = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t.tabs, heading)
	return t
}

// each measures one row by each link. The function again opens the same link once more.
func (t *exactTable) each(c Conditions, measure func(l exactLink, again func() exactLink) (row string, met bool)) {
	for _, kind := range []struct {
		name string
		open func() (exactLink, error)
	}{
		{"packet", func() (exactLink, error) { return OpenPacket(c, exactSeed) }},
		{"stream (approximate)", func() (exactLink, error) { return OpenStream(c, exactSeed) }},
	} {
		l, err := kind.open()
		if no := (*PrivilegeError)(nil); errors.As(err, &no) || errors.Is(err, errors.ErrUnsupported) {
			fmt.Fprintf(t.tabs, "%s\tnot measured: %v\n", kind.name, err)
			continue
		}
		if err != nil {
			t.b.Fatal(err)
		}
		row, met := measure(l, func() exactLink {
			again, err := kind.open()
			if err != nil {
				t.b.Fatal(err)
			}
			return again
		})
		if err := l.Close(); err != nil {
			t.b.Fatal(err)
		}
		t.rows++
		if met {
			t.met++
		}
		fmt.Fprintf(t.tabs, "%s\t%s\t%v\n", kind.name, row, met)
	}
}

// print prints the table. A benchmark's log is cut after ten lines.
func (t *exactTable) print() {
	_ = t.tabs.Flush()
	fmt.Printf("\n\n%s\n", t.text.String())
	t.b.ReportMetric(0, "ns/op")
	if t.rows > 0 {
		t.b.ReportMetric(float64(t.met)/float64(t.rows), "met/row")
	}
}

// deliveries sends count small packets to the device, one after the other. It returns which
// arrived.
func (p *Packet) deliveries(ctx context.Context, count int) (came []bool, err error) {
	in, err := p.Device.probe(unix.SOCK_DGRAM, unix.IPPROTO_UDP, probePort)
	if err != nil {
		return nil, err
	}
	defer in.close()
	out, err := p.Server.probe(unix.SOCK_DGRAM, unix.IPPROTO_UDP, 0)
	if err != nil {
		return nil, err
	}
	defer out.close()
	came = make([]bool, count)
	received, over := make(chan error, 1), make(chan struct{})
	go func() {
		received <- in.receive(ctx, over, 2*time.Duration(count)*fateApart+p.conditions.Down.Delay+time.Second,
			func(b []byte, _ int64) bool {
				if i := int(binary.BigEndian.Uint32(append(b, 0, 0, 0, 0))); len(b) == 4 && i < count {
					came[i] = true
					return i == count-1
				}
				return false
			})
	}()
	send := func() error {
		next := timeline.Monotonic().Now()
		for i := range count {
			if err := out.send(binary.BigEndian.AppendUint32(nil, uint32(i)), DeviceAddress.Addr()); err != nil {
				return err
			}
			if next = next.Add(fateApart); i%100 == 0 {
				if err := timeline.SleepUntil(ctx, next); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err = send()
	close(over)
	if err = errors.Join(err, <-received); err != nil {
		return nil, err
	}
	return came, nil
}

// fateApart leaves time for packets to be read.
const fateApart = 50 * time.Microsecond
