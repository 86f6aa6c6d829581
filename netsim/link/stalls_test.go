package link

import (
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// at is a time, and a stall one of some length, both in milliseconds.
func atMS(ms float64) timeline.Time { return timeline.Time(ms * float64(time.Millisecond)) }

func stallMS(from, takes float64) Stall { return Stall{atMS(from), atMS(from + takes)} }

// TestSetAside: a packet is set aside if a CPU stood still when the packet needed one, and if that accounts for what it was late. What it was late beyond that never is set aside.
func TestSetAside(t *testing.T) {
	const sent, allowed = 1000, 3 * time.Millisecond
	for _, tc := range []struct {
		name   string
		rtt    time.Duration
		late   time.Duration
		stalls []Stall
		aside  bool
	}{
		{"on time", 100 * time.Millisecond, 200 * time.Microsecond, nil, false},
		{"late of itself", 100 * time.Millisecond, 10 * time.Millisecond, nil, false},
		{"when it was sent", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent, 9)}, true},
		{"at the other end", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent+50, 9)}, true},
		{"when it was back", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent+100, 9)}, true},
		{"begun before it was due", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent+40, 19)}, true},
		{"in two parts", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent, 4), stallMS(sent+102, 4)}, true},
		{"while it was on its way", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent+12, 30), stallMS(sent+65, 30)}, false},
		{"before and after", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent-20, 20), stallMS(sent+110, 30)}, false},
		{"too short for it", 100 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent+50, 6)}, false},
		{"late no more than allowed", 100 * time.Millisecond, 2 * time.Millisecond, []Stall{stallMS(sent+51, 5)}, true},
		{"on time, on another CPU", 100 * time.Millisecond, 200 * time.Microsecond, []Stall{stallMS(sent+45, 20)}, true},
		{"counted once", 4 * time.Millisecond, 10 * time.Millisecond, []Stall{stallMS(sent+4, 5)}, false}, // it lies in all three times
	} {
		var c Conditions
		c.SetRTT(tc.rtt)
		other := RoundTrip{atMS(sent + 500), tc.rtt}
		rest, aside := merged(tc.stalls).SetAside([]RoundTrip{{atMS(sent), tc.rtt + tc.late}, other}, c, allowed)
		if (aside == 1) != tc.aside || len(rest) != 2-aside || rest[len(rest)-1] != other {
			t.Errorf("%s: %d are set aside, %v are left", tc.name, aside, rest)
		}
	}
}

// TestStalls: those of several CPUs are one where they touch, and no time counts twice.
func TestStalls(t *testing.T) {
	s := merged([]Stall{stallMS(30, 5), stallMS(10, 4), stallMS(12, 8), stallMS(20, 1), stallMS(13, 2), stallMS(50, 2)})
	if want := (Stalls{stallMS(10, 11), stallMS(30, 5), stallMS(50, 2)}); !slices.Equal(s, want) {
		t.Fatalf("%v, want %v", s, want)
	}
	if s.Longest() != 11*time.Millisecond || s.Total() != 18*time.Millisecond {
		t.Errorf("longest %v, all %v", s.Longest(), s.Total())
	}
	for _, tc := range []struct{ from, to, want float64 }{{0, 10, 0}, {0, 12, 2}, {12, 14, 2}, {20, 31, 2}, {21, 30, 0}, {0, 100, 18}, {52, 60, 0}, {31, 31, 0}} {
		if got := s.within(atMS(tc.from), atMS(tc.to)); got != atMS(tc.want).Sub(0) {
			t.Errorf("%v to %v: %v, want %v ms", tc.from, tc.to, got, tc.want)
		}
	}
	if none := merged(nil); none.Longest() != 0 || none.Total() != 0 || none.within(0, atMS(100)) != 0 {
		t.Errorf("%v", none)
	}
}
