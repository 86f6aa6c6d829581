//go:build linux

package hosttest

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// TestDrift: a driver drifts if it becomes later and a sleeper does not. A machine that becomes
// busier delays both.
func TestDrift(t *testing.T) {
	const step, reports = 30 * time.Millisecond, 60
	for _, tc := range []struct {
		name            string
		driver, sleeper time.Duration // that they are later than at each report before
		takes           time.Duration // of a report
		want            time.Duration
		known           bool
	}{
		{"on time", 0, 0, 0, 0, true},
		{"busier", time.Millisecond, time.Millisecond, 0, 0, true},
		{"drifts", time.Millisecond, 0, 0, 40 * time.Millisecond, true},
		{"drifts, busier", 3 * time.Millisecond, time.Millisecond, 0, 80 * time.Millisecond, true},
		{"too busy", 0, 0, 2 * step, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l lateness
			var sleeper []time.Duration
			for n := range reports {
				due := timeline.Monotonic().Now().Add(-tc.takes)
				l.free = due
				if tc.takes > step {
					l.free++
				}
				l.add(due, timeline.At(due.Add(tc.driver*time.Duration(n))))
				late := tc.sleeper * time.Duration(n)
				if n%4 == 0 {
					late += time.Second // one wakes earlier than the other one at times
				}
				sleeper = append(sleeper, late)
			}
			if got, known := l.drift(sleeper); got != tc.want || known != tc.known {
				t.Errorf("drift %v, %v, want %v, %v", got, known, tc.want, tc.known)
			}
		})
	}
}
