//go:build linux

package hosttest

import (
	"testing"
	"time"
)

// TestDriftsInEachReplay: a machine that becomes busier during a replay is not a driver that
// drifts.
func TestDriftsInEachReplay(t *testing.T) {
	const limit, less, more, unknown = 16 * time.Millisecond, 2 * time.Millisecond, 20 * time.Millisecond, -time.Hour
	for _, tc := range []struct {
		name    string
		replays []time.Duration
		want    time.Duration
	}{
		{"on time", []time.Duration{less}, 0},
		{"too busy", []time.Duration{unknown}, 0},
		{"drifts", []time.Duration{more, more, more}, more},
		{"becomes busier", []time.Duration{more, more, less}, 0},
		{"drifts, too busy at times", []time.Duration{more, unknown, more, unknown, more}, more},
		{"becomes too busy", []time.Duration{more, unknown, unknown, unknown, unknown, unknown, unknown, unknown,
			unknown, unknown}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := 0
			got := drifts(func() (time.Duration, bool) {
				n++
				return tc.replays[n-1], tc.replays[n-1] != unknown
			}, limit)
			if got != tc.want || n != len(tc.replays) {
				t.Errorf("drift %v after %d replays, want %v after %d", got, n, tc.want, len(tc.replays))
			}
		})
	}
}
