package link

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestNetemRefuses: what netem does otherwise than the model is not made of it.
func TestNetemRefuses(t *testing.T) {
	for want, d := range map[string]Direction{
		"no trace of them":          {Trace: Trace{{time.Second, Mbit}}},
		"counts its queue in":       {Rate: Mbit, Queue: 64 << 10},
		"overtake each other":       {Delay: time.Second, Jitter: time.Millisecond},
		"holds none back":           {Rate: Mbit, Reorder: 0.1},
		"past the delay":            {Delay: time.Second, Reorder: 0.1},
		"is not between 0 and 1m0s": {Delay: time.Hour},
	} {
		for name, c := range map[string]Conditions{"down: ": {Down: d}, "up: ": {Up: d}} {
			if err := CheckNetem(c); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), name) {
				t.Errorf("%+v: %v, want %s…%s", d, err, name, want)
			}
		}
	}
	for _, p := range Profiles() {
		if err := CheckNetem(p.Conditions); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	for _, d := range []Direction{{Rate: Mbit, Delay: time.Second, Jitter: time.Second, Loss: 0.1, Burst: 3}, {Reorder: 0.2, Behind: time.Second}, {Queue: 64 << 10}} {
		if err := CheckNetem(Conditions{Down: d}); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

// TestNetemNumbers: the kernel is told what was asked, in its units.
func TestNetemNumbers(t *testing.T) {
	d := Direction{Rate: 8 * Mbit, Delay: 30 * time.Millisecond, Jitter: 3 * time.Millisecond, Loss: 0.2, Burst: 4}
	n := d.netem()
	if n.rate != 1_000_000 || n.latency != 30_000_000 || n.jitter != 3_000_000 || n.loss != 0 || n.overhead != -14 || n.gap != 0 {
		t.Errorf("%+v", n)
	}
	// 256 KiB are 174 full packets, and in 33 ms leave 22 of 1.5 ms.
	if n.limit != 174+1+22 {
		t.Errorf("%d packets at most", n.limit)
	}
	bad, good := float64(n.toBad)/math.MaxUint32, float64(n.toGood)/math.MaxUint32
	if got := bad / (bad + good); math.Abs(got-0.2) > 1e-6 || math.Abs(1/good-4) > 1e-6 {
		t.Errorf("a share of %v is lost, %v in a row", got, 1/good)
	}
	if n := (&Direction{Loss: 1, Burst: 5}).netem(); n.loss != math.MaxUint32 || n.toBad != 0 {
		t.Errorf("all lost: %+v", n)
	}
	if n := (&Direction{Reorder: 0.25, Behind: 5 * time.Millisecond}).netem(); n.latency != 5_000_000 || n.gap != 1 || math.Abs(float64(n.atOnce)/math.MaxUint32-0.75) > 1e-6 {
		t.Errorf("reordered: %+v", n)
	}
}
