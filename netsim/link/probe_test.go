package link

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOff(t *testing.T) {
	c := Conditions{Down: Direction{Rate: 5 * Mbit, Delay: 10 * time.Millisecond, Loss: 0.01},
		Up: Direction{Rate: Mbit, Delay: 10 * time.Millisecond, Loss: 0.01}}
	fine := Probe{RTT: Spread{Median: 20300 * time.Microsecond}, Down: 4_950_000, Up: 1_010_000, Sent: 300, Lost: 2}
	if off := c.Off(fine); len(off) != 0 {
		t.Errorf("it is told of %+v: %v", fine, off)
	}
	for want, change := range map[string]func(*Probe){
		"a round trip takes 23ms, asked were 20ms ± 2ms":  func(p *Probe) { p.RTT.Median = 23 * time.Millisecond },
		"a round trip takes 17ms":                         func(p *Probe) { p.RTT.Median = 17 * time.Millisecond },
		"the rate down is 4.5 Mbit/s, asked were 5 ± 2 %": func(p *Probe) { p.Down = 4_500_000 },
		"the rate up is 0 Mbit/s":                         func(p *Probe) { p.Up = 0 },
		"20 of 300 packets were lost, asked were 1 %":     func(p *Probe) { p.Lost = 20 },
	} {
		p := fine
		change(&p)
		if off := c.Off(p); len(off) != 1 || !strings.Contains(off[0], want) {
			t.Errorf("%v is told, want %q", off, want)
		}
	}
	c.Down.Jitter = 8 * time.Millisecond
	if off := c.Off(Probe{RTT: Spread{Median: 23 * time.Millisecond}, Down: 5 * Mbit, Up: Mbit, Sent: 300,
		Lost: 3}); len(off) != 0 {
		t.Errorf("jitter is not allowed for: %v", off)
	}
}

// busyTries is how often a busy machine may be too late before a test fails.
const busyTries = 5

// probed compares the results of a probe with the configuration.
func probed(t *testing.T, profile Profile, probe func(context.Context) (Probe, error)) {
	t.Helper()
	c, name := profile.Conditions, profile.Name
	for try := 1; ; try++ {
		got, err := probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v, %.4g down, %.4g up, %d of %d lost, took %v; off: %v", name, got.RTT, got.Down.mbit(),
			got.Up.mbit(), got.Lost, got.Sent, got.Took, c.Off(got))
		if got.RTT.Least < c.RTT() {
			t.Errorf("%s: a round trip took %v, less than it can", name, got.RTT.Least)
		}
		if got.Lost != 0 {
			t.Errorf("%s: %d of %d packets were lost", name, got.Lost, got.Sent)
		}
		fine := got.Sent >= pings && got.RTT.Median <= 2*c.RTT()+5*time.Millisecond
		for _, way := range []struct{ asked, got Rate }{{c.Down.Rate, got.Down}, {c.Up.Rate, got.Up}} {
			fine = fine && (way.asked == 0) == (way.got == 0) && way.got <= way.asked*11/10 && way.got >= way.asked/2
		}
		if fine {
			return
		}
		if try == busyTries {
			t.Errorf("%s: %+v was found in the end", name, got)
			return
		}
	}
}

// goodEnough repeats the measurement of goodput until it reaches a share that even a busy machine
// can.
func goodEnough(t *testing.T, rate Rate, connections int, goodput func(context.Context, int) (Goodput, error)) {
	t.Helper()
	for try := 1; ; try++ {
		got, err := goodput(t.Context(), connections)
		if err != nil {
			t.Fatal(err)
		}
		share := got.Rate / GoodputCeiling(rate)
		t.Logf("%d connections: %.4f of what is possible, %+v", connections, share, got)
		if share <= 1.2 && share >= 0.5 {
			return
		}
		if try == busyTries {
			t.Errorf("%d connections get %.4f of what the rate leaves", connections, share)
			return
		}
	}
}

// lossy says whether a link's losses are within the interval, and the seed's.
func lossy(t *testing.T, d Direction, open func(seed uint64) func(context.Context, int) ([]bool, error)) {
	t.Helper()
	const count = 4000
	var all [3][]bool
	for i, seed := range []uint64{7, 7, 8} {
		came, err := open(seed)(t.Context(), count)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = came
	}
	lost := 0
	for _, is := range all[0] {
		if !is {
			lost++
		}
	}
	if least, most := d.lossInterval(count); float64(lost) < least || float64(lost) > most {
		t.Errorf("%d of %d were lost, want %.0f to %.0f", lost, count, least, most)
	}
	if !slices.Equal(all[0], all[1]) || slices.Equal(all[0], all[2]) {
		t.Error("the same seed lost other packets, or another seed the same")
	}
}

// The losses of pipes are in the interval as often as stated. The interval is not wider than
// necessary.
func TestLossInterval(t *testing.T) {
	for _, d := range []Direction{{Loss: 0.01}, {Loss: 0.05, Burst: 3}, {Loss: 0.3, Burst: 10}, {}, {Loss: 1}} {
		const sent, times = 5000, 400
		least, most := d.lossInterval(sent)
		outside := 0
		for seed := range uint64(times) {
			p := startPipe(t, d, seed)
			lost := 0.0
			for range sent {
				if p.send(0, 100).Lost == lostInTransit {
					lost++
				}
			}
			if lost < least || lost > most {
				outside++
			}
		}
		if outside > times*3/100 || d.Loss > 0 && d.Loss < 1 && outside == 0 && most-least > float64(sent)/10 {
			t.Errorf("%+v: %d of %d runs are outside %.0f to %.0f", d, outside, times, least, most)
		}
	}
}

// lossInterval returns how many of so many packets the direction may lose in 99 of 100 cases. It is
// the binomial interval, by its normal approximation, widened for losses in bursts.
func (d *Direction) lossInterval(sent int) (least, most float64) {
	const sigmas = 2.576
	burst := 1.0
	if d.Loss > 0 && d.Loss < 1 {
		// A Gilbert channel's losses vary as if there were (1 + r) / (1 - r) times fewer packets. r
		// is the correlation of consecutive packets' fates.
		if r := 1 - 1/max(1, d.Burst) - 1/max(1, d.Burst)*d.Loss/(1-d.Loss); d.Burst > 0 {
			burst = max(0, (1+r)/(1-r))
		}
	}
	mean, sigma := d.Loss*float64(sent), math.Sqrt(float64(sent)*d.Loss*(1-d.Loss)*burst)
	return max(0, mean-sigmas*sigma-0.5), min(float64(sent), mean+sigmas*sigma+0.5)
}
