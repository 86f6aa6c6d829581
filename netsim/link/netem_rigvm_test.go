//go:build linux && rigvm

package link

import (
	"math"
	"strings"
	"testing"
	"time"
)

// openNetem makes a line by the kernel of the VM.
func openNetem(t *testing.T, c Conditions) *Packet {
	t.Helper()
	p, err := OpenNetem(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Time in the VM is slow and uneven: each figure counts that is nearest to what was asked of several probes, and a machine that is busy with something else gets more of them. What is
// wrong each time does not get by.
const (
	probes     = 5
	mostProbes = 40
	rateWithin = 0.05
)

// holds fails a test unless the line does what was asked of it.
func holds(t *testing.T, p *Packet, c Conditions) {
	t.Helper()
	least, median, down, up, sent, lost := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), math.Inf(1), math.Inf(1), 0, 0
	off := func(got, asked Rate) float64 {
		if asked == 0 {
			return float64(got)
		}
		return math.Abs(float64(got)/float64(asked) - 1)
	}
	for i := range mostProbes {
		if i >= probes && median <= 3*c.RTT()/2 && down <= rateWithin && up <= rateWithin {
			break
		}
		got, err := p.Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v for %v, %v for %v down, %v for %v up, %d of %d lost", got.RTT, c.RTT(), got.Down, c.Down.Rate, got.Up, c.Up.Rate, got.Lost, got.Sent)
		least, median = min(least, got.RTT.Least), min(median, got.RTT.Median)
		down, up = min(down, off(got.Down, c.Down.Rate)), min(up, off(got.Up, c.Up.Rate))
		sent, lost = sent+got.Sent, lost+got.Lost
	}
	// Nothing is early, but for the first packet's own bits: a rate is let pass in whole nanoseconds.
	if could := c.RTT() - c.Down.Jitter - c.Up.Jitter; least < could-100*time.Microsecond || median > 3*c.RTT()/2 {
		t.Errorf("a round trip takes %v at least and %v most often, asked were %v", least, median, c.RTT())
	}
	if down > rateWithin || up > rateWithin {
		t.Errorf("the rates are off by shares of %.3g and %.3g", down, up)
	}
	if share, sigma := c.meanLoss(sent); math.Abs(float64(lost)-share*float64(sent)) > 5*sigma+1 {
		t.Errorf("%d of %d packets were lost, asked were %.3g", lost, sent, share)
	}
}

// TestNetemLine: the same probe finds on the kernel's line what was asked of it, and what is asked anew while it runs.
func TestNetemLine(t *testing.T) {
	lossy := Conditions{Down: Direction{Rate: 2 * Mbit, Loss: 0.2, Burst: 3}, Up: Direction{Rate: Mbit, Loss: 0.1}}
	lossy.SetRTT(80 * time.Millisecond)
	jittery := Conditions{Down: Direction{Rate: Mbit, Jitter: 20 * time.Millisecond}, Up: Direction{Rate: Mbit, Jitter: 20 * time.Millisecond}}
	jittery.SetRTT(200 * time.Millisecond)
	cable, _ := ProfileNamed("cable")
	slow, _ := ProfileNamed("3g")
	p := openNetem(t, cable.Conditions)
	for _, c := range []Conditions{cable.Conditions, slow.Conditions, lossy, jittery} {
		if err := p.Set(c); err != nil {
			t.Fatal(err)
		}
		holds(t, p, c)
	}
	if down, up := p.Counts(); down.LostInQueue+up.LostInQueue != 0 || down.LostOnWay == 0 || up.LostOnWay == 0 || down.Packets < down.LostOnWay || down.Bytes/(down.Packets-down.LostOnWay) > MTU {
		t.Errorf("%+v down, %+v up", down, up)
	}
	if err := p.Set(Conditions{Down: Direction{Trace: Trace{{time.Second, Mbit}}}}); err == nil || !strings.Contains(err.Error(), "no trace") {
		t.Errorf("a trace: %v", err)
	}
}

// TestNetemReorder: packets that are held back arrive after others, and all arrive.
func TestNetemReorder(t *testing.T) {
	p := openNetem(t, Conditions{Up: Direction{Reorder: 0.3, Behind: 50 * time.Millisecond}})
	in, err := p.Server.ListenPacket("udp4", ":9")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := p.Device.Dial(t.Context(), "udp4", "198.18.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	const packets = 200
	for i := range packets {
		if _, err := out.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	late, most := 0, -1
	for range packets {
		b := make([]byte, 8)
		if _, _, err := in.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		if int(b[0]) < most {
			late++
		}
		most = max(most, int(b[0]))
	}
	t.Logf("%d of %d came after later ones", late, packets)
	if late < packets/10 || late > packets*6/10 {
		t.Errorf("%d of %d came after later ones, asked was a share of 0.3", late, packets)
	}
}

// TestNetemGoodput: TCP gets what the rate leaves, and its packets are not handed to netem several at a time.
func TestNetemGoodput(t *testing.T) {
	c := Conditions{Down: Direction{Rate: 2 * Mbit, Delay: 10 * time.Millisecond}, Up: Direction{Rate: 2 * Mbit, Delay: 10 * time.Millisecond}}
	p := openNetem(t, c)
	servesHTTP(t, p.Server, strings.Repeat("x", 1<<20))
	conn, err := p.Device.Dial(t.Context(), "tcp4", "93.184.215.14:80") // whoever that is
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	if _, err := conn.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	total := 0
	for b := make([]byte, 64<<10); ; {
		n, err := conn.Read(b)
		total += n
		if err != nil {
			break
		}
	}
	share := float64(total) * 8 / time.Since(began).Seconds() / GoodputCeiling(c.Down.Rate)
	down, _ := p.Counts()
	t.Logf("%.3f of what is possible, %d packets of %d bytes on average", share, down.Packets, down.Bytes/down.Packets)
	if total < 1<<20 || share > 1.01 || share < 0.5 {
		t.Errorf("%d bytes came, at %.3f of what the rate leaves", total, share)
	}
	if down.Bytes/down.Packets > MTU {
		t.Errorf("a packet has %d bytes on average", down.Bytes/down.Packets)
	}
}
