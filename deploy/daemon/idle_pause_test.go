package daemon

import (
	"testing"
	"time"
)

// What fails on and on is tried less and less often, and never quite rarely.
func TestRetryAfter(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second,
		6: 30 * time.Second, 1_000_000: 30 * time.Second} {
		for range 100 {
			if got := retryAfter(failures); got < want || got > want+want/5 {
				t.Fatalf("after %d failures: %v, want about %v", failures, got, want)
			}
		}
	}
}
