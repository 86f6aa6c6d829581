package link

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

func startPipe(t testing.TB, d Direction, seed uint64) *pipe {
	t.Helper()
	p, err := newPipe(d, seed, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ms(n int64) timeline.Time { return timeline.Time(n * int64(time.Millisecond)) }

// A link of 1.5 Mbit/s and 20 ms: 1500 bytes take 8 ms. Simultaneous packets leave one after the
// other. Each is on its way for 20 ms.
func TestPipeByHand(t *testing.T) {
	p := startPipe(t, Direction{Rate: 1500 * Kbit, Delay: 20 * time.Millisecond}, 1)
	for i, step := range []struct {
		at      int64
		bytes   int
		arrives int64
	}{{0, 1500, 28}, {0, 1500, 36}, {1, 750, 40}, {20, 1500, 48}, {100, 1500, 128}} {
		if f := p.send(ms(step.at), step.bytes); f.Lost != notLost || f.Arrives != ms(step.arrives) {
			t.Errorf("packet %d arrives at %v (%d), want %v", i, f.Arrives, f.Lost, ms(step.arrives))
		}
	}
}

// A million packets end at the time of their bits, to one nanosecond. At this rate no packet takes
// whole nanoseconds.
func TestPipeDoesNotDrift(t *testing.T) {
	const rate, packets, size = 7777777, 1_000_000, 1499
	p := startPipe(t, Direction{Rate: rate}, 1)
	var last delivery
	for range packets {
		last = p.send(max(0, p.free-1), size) // as the packet before is nearly gone
	}
	want := float64(packets) * size * 8 / rate
	if got := float64(last.Leaves) / 1e9; math.Abs(got-want) > 2e-9 {
		t.Errorf("the last bit leaves after %.9f s, want %.9f", got, want)
	}
}

func TestPipeQueue(t *testing.T) {
	p := startPipe(t, Direction{Rate: Mbit, Queue: 3000}, 1)
	var lost []int
	for i := range 4 {
		if p.send(0, 1500).Lost == lostInQueue {
			lost = append(lost, i)
		}
	}
	if !slices.Equal(lost, []int{2, 3}) {
		t.Errorf("lost %v of four packets where two have room, want the last two", lost)
	}
	if f := p.send(ms(12), 1500); f.Lost != notLost || f.Leaves != ms(36) {
		t.Errorf("%+v: the first has left at 12 ms, so there is room, until 36 ms", f)
	}
	if c := p.counts; c.Packets != 5 || c.Bytes != 7500 || c.LostInQueue != 2 {
		t.Errorf("%+v", c)
	}
}

// The link is dead for a second of two, and 1 Mbit/s for the other: what begins at 0.9 s goes on at
// 2 s.
func TestPipeTrace(t *testing.T) {
	p := startPipe(t, Direction{Trace: Trace{{time.Second, Mbit}, {time.Second, 0}}, Queue: 1 << 20}, 1)
	// 200,000 bits: half of them in the last tenth of the first second
	if f := p.send(ms(900), 25000); f.Leaves != ms(2100) {
		t.Errorf("leaves at %v, want 2.1 s", f.Leaves)
	}
	if f := p.send(ms(3500), 125); f.Leaves != ms(4001) {
		t.Errorf("leaves at %v, want 4.001 s", f.Leaves)
	}
}

// Losses are as many as asked, and as many in a row.
func TestPipeLoss(t *testing.T) {
	const packets = 400_000
	for _, want := range []struct{ loss, burst float64 }{{0.01, 0}, {0.1, 0}, {0.02, 5}, {0.3, 10}, {0, 0}, {1, 0}} {
		p := startPipe(t, Direction{Loss: want.loss, Burst: want.burst}, 7)
		lost, bursts, before := 0, 0, false
		for range packets {
			is := p.send(0, 100).Lost == lostInTransit
			if is {
				lost++
				if !before {
					bursts++
				}
			}
			before = is
		}
		burst := want.burst
		if burst == 0 {
			burst = 1 / (1 - want.loss)
		}
		// Losses in bursts of b vary as if there were about 2b times fewer packets.
		sigma := math.Sqrt(want.loss * (1 - want.loss) / packets * 2 * max(1, min(burst, packets)))
		if got := float64(lost) / packets; math.Abs(got-want.loss) > 4*sigma {
			t.Errorf("of %v in bursts of %v, %v are lost (± %v)", want.loss, want.burst, got, 4*sigma)
		}
		if want.loss > 0 && want.loss < 1 {
			if got := float64(lost) / float64(bursts); math.Abs(got/burst-1) > 0.1 {
				t.Errorf("%v packets are lost in a row, want %v", got, burst)
			}
		}
	}
}

// The n-th packet has the fate of its seed, whatever the other settings and its time are.
func TestPipeFatesAreTheSeeds(t *testing.T) {
	fates := func(d Direction, seed uint64, apart timeline.Time) (lost []int) {
		p := startPipe(t, d, seed)
		for n := range 1000 {
			if p.send(timeline.Time(n)*apart, 100).Lost == lostInTransit {
				lost = append(lost, n)
			}
		}
		return lost
	}
	plain := Direction{Loss: 0.1}
	much := Direction{Loss: 0.1, Rate: 100 * Mbit, Delay: time.Second, Jitter: time.Millisecond, Reorder: 0.2}
	a, b, c := fates(plain, 3, 0), fates(much, 3, ms(1)), fates(plain, 4, 0)
	if !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("%v of one seed, %v on another line of the same, %v of another seed", a, b, c)
	}
}

// Packets arrive in the order they were sent, within delay ± jitter, but for the share that is held
// back.
func TestPipeOrder(t *testing.T) {
	d := Direction{Delay: 50 * time.Millisecond, Jitter: 20 * time.Millisecond}
	p := startPipe(t, d, 5)
	var last timeline.Time
	early, late := time.Hour, time.Duration(0)
	for n := range 10_000 {
		at := ms(int64(10 * n))
		f := p.send(at, 100)
		if f.Arrives < last {
			t.Fatalf("packet %d overtakes", n)
		}
		last = f.Arrives
		early, late = min(early, f.Arrives.Sub(at)), max(late, f.Arrives.Sub(at))
	}
	if early < 30*time.Millisecond || early > 31*time.Millisecond || late > 70*time.Millisecond ||
		late < 69*time.Millisecond {
		t.Errorf("on the way for %v to %v, want 30 to 70 ms", early, late)
	}
	p = startPipe(t, Direction{Rate: Mbit, Delay: time.Millisecond, Reorder: 0.1, Behind: 30 * time.Millisecond,
		Queue: 1 << 20}, 5)
	behind := 0
	for n := range 10_000 {
		f := p.send(ms(int64(12*n)), 1500)
		switch f.Arrives.Sub(f.Leaves) {
		case 31 * time.Millisecond:
			behind++
		case time.Millisecond:
		default:
			t.Fatalf("packet %d arrives %v after it left", n, f.Arrives.Sub(f.Leaves))
		}
	}
	if behind < 900 || behind > 1100 || uint64(behind) != p.counts.HeldBack {
		t.Errorf("%d of 10,000 are held back, and counted as %d, want a tenth", behind, p.counts.HeldBack)
	}
}

// A link that becomes slower does so for packets sent from then on.
func TestPipeChanges(t *testing.T) {
	p := startPipe(t, Direction{Rate: Mbit}, 1)
	p.send(0, 1250)
	if err := p.set(Direction{Rate: 100 * Kbit, Delay: time.Millisecond}, ms(5)); err != nil {
		t.Fatal(err)
	}
	if f := p.send(ms(5), 1250); f.Leaves != ms(110) || f.Arrives != ms(111) {
		t.Errorf("%+v, want it to leave 100 ms after the one before, at 110 ms", f)
	}
	if err := p.set(Direction{Rate: 1}, ms(6)); err == nil {
		t.Error("a line of one bit per second is taken")
	}
}

func TestConditionsRefused(t *testing.T) {
	for _, d := range []Direction{
		{Rate: -1}, {Rate: maxRate + 1}, {Delay: -1}, {Delay: time.Hour}, {Delay: 1, Jitter: 2}, {Queue: 1},
		{Loss: -0.1}, {Loss: 1.1}, {Loss: math.NaN()}, {Burst: 0.5}, {Loss: 0.9, Burst: 2},
		{Reorder: 1}, {Reorder: math.NaN()}, {Behind: -1}, {Rate: Mbit, Trace: Trace{{1, Mbit}}},
		{Trace: Trace{{time.Second, 0}}}, {Trace: Trace{{0, Mbit}}}, {Trace: Trace{{time.Second, 5}}},
		{Trace: Trace{{maxTrace, Mbit}, {time.Second, Mbit}}},
	} {
		if err := (Conditions{Up: d}).Check(); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
	for _, p := range Profiles() {
		if err := p.Conditions.Check(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestRatesAreWritten(t *testing.T) {
	for r, want := range map[Rate]string{5 * Mbit: "5Mbit", 1600 * Kbit: "1600kbit", 1: "1bit", 0: "0bit",
		100 * Gbit: "100Gbit"} {
		if got := r.String(); got != want {
			t.Errorf("%d is written %q, want %q", int64(r), got, want)
		}
	}
}

// Nothing is allocated for a packet.
func BenchmarkPipe(b *testing.B) {
	p := startPipe(b, Direction{Rate: 100 * Mbit, Delay: 10 * time.Millisecond, Jitter: time.Millisecond, Loss: 0.01,
		Reorder: 0.01}, 1)
	b.ReportAllocs()
	var at timeline.Time
	for b.Loop() {
		at = at.Add(120 * time.Microsecond)
		p.send(at, MTU)
	}
}
