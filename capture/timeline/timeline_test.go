package timeline

import (
	"context"
	"testing"
	"time"
)

func TestMonotonicNeverGoesBack(t *testing.T) {
	c := Monotonic()
	last := c.Now()
	for range 1000 {
		n := c.Now()
		if n < last {
			t.Fatalf("clock went from %d to %d", last, n)
		}
		last = n
	}
}

func TestWallOffset(t *testing.T) {
	c := Monotonic()
	off, u := WallOffset(c)
	d := time.Duration(time.Now().UnixNano() - (int64(c.Now()) + off))
	if d < -time.Second || d > time.Second {
		t.Errorf("offset is wrong by %v", d)
	}
	if u <= 0 {
		t.Errorf("uncertainty %v, want more than nothing", u)
	}
}

func TestPeriodFit(t *testing.T) {
	const period = 1e9 * 1001 / 60000 // 59.94 Hz
	for _, tc := range []struct {
		name   string
		frames int
		skip   func(i int) bool
		jitter func(i int) float64
	}{
		{"clean", 600, func(int) bool { return false }, func(int) float64 { return 0 }},
		{"every seventh lost", 600, func(i int) bool { return i%7 == 3 }, func(int) float64 { return 0 }},
		{"jitter of 2 ms", 6000, func(int) bool { return false },
			func(i int) float64 { return float64(i*7919%4001-2000) * 1000 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f PeriodFit
			for i := range tc.frames {
				if !tc.skip(i) {
					f.Add(uint64(i)+1<<32, Time(5e9+float64(i)*period+tc.jitter(i)))
				}
			}
			if got := float64(f.FemtoPeriod()) / 1e6; got < period-40 || got > period+40 {
				t.Errorf("period %.3f ns, want %.3f", got, period)
			}
		})
	}
}

func TestPeriodFitNeedsTwoFrames(t *testing.T) {
	var f PeriodFit
	if f.Period() != 0 {
		t.Error("an empty fit has a period")
	}
	f.Add(7, 100)
	f.Add(7, 200)
	if f.Period() != 0 {
		t.Error("one sequence number has a period")
	}
}

func TestEventValidate(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    Event
		ok   bool
	}{
		{"plain", Event{Kind: "key"}, true},
		{"with data", Event{Kind: "key", Data: []byte(`{"code":3}`)}, true},
		{"no kind", Event{Source: "input"}, false},
		{"broken JSON", Event{Kind: "key", Data: []byte(`{`)}, false},
		{"not UTF-8", Event{Kind: "\xff"}, false},
		{"negative uncertainty", Event{Kind: "key", Uncertainty: -1}, false},
		{"too long", Event{Kind: string(make([]byte, MaxEventName+1))}, false},
	} {
		if err := tc.e.Validate(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestSleepUntil(t *testing.T) {
	c := Monotonic()
	due := c.Now().Add(3 * time.Millisecond)
	if err := SleepUntil(context.Background(), due); err != nil || c.Now() < due {
		t.Errorf("woke %v early, %v", due.Sub(c.Now()), err)
	}
	if err := SleepUntil(context.Background(), c.Now()-1); err != nil {
		t.Errorf("waiting for the past: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := SleepUntil(ended, c.Now().Add(time.Hour)); err != context.Canceled {
		t.Errorf("with an ended context: %v", err)
	}
	if n := testing.AllocsPerRun(10,
		func() { SleepUntil(context.Background(), c.Now().Add(time.Microsecond)) }); n != 0 {
		t.Errorf("a sleep allocates %v times", n)
	}
}
