//go:build !rigvm

package v4l2

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
)

// TestScanOut: 1080p60 has 1125 lines in a sixtieth of a second, of which 1080 are seen: 16 ms. In
// a frame of an interlaced signal the rows of two fields take turns.
func TestScanOut(t *testing.T) {
	full := Timings{Width: 1920, Height: 1080, TotalWidth: 2200, TotalHeight: 1125,
		Period: capture.Rational{Num: 1, Den: 60}}
	interlaced, unknown := full, full
	interlaced.Interlaced = true
	unknown.TotalHeight = 0
	for _, tc := range []struct {
		t    Timings
		want time.Duration
	}{{full, 16 * time.Millisecond}, {interlaced, 0}, {unknown, 0}, {Timings{}, 0}} {
		if got := tc.t.scanOut(); (got - tc.want).Abs() > time.Microsecond {
			t.Errorf("%+v takes %v, want %v", tc.t, got, tc.want)
		}
	}
}
