//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Fault: The driver drops frames, or a counter wraps
func TestStamps(t *testing.T) {
	const (
		p     = period60
		end   = bufFlagTimestampMonotonic
		start = bufFlagTimestampMonotonic | bufFlagStampStart
	)
	base := 100 * p
	a := arrival{queued: base - 3*p, empty: base - p, taken: base + 1000}
	for _, tc := range []struct {
		name       string
		flags      uint32
		stamp      timeline.Time
		want       timeline.Interval
		disbelieve bool
	}{
		{"end of the frame", end, base, timeline.Interval{Earliest: base - p, Latest: base + 1000}, false},
		{"start of the frame", start, base - p, timeline.Interval{Earliest: base - p, Latest: base + 1000}, false},
		{"a little in the future, as computed stamps are", end, base + p/2,
			timeline.Interval{Earliest: base + p/2 - p, Latest: base + 1000}, false},
		{"far in the future", end, base + 10*p, timeline.Interval{Earliest: base - 2*p, Latest: base + 1000}, true},
		{"before its buffer was queued", end, base - 20*p, timeline.Interval{Earliest: base - 2*p, Latest: base + 1000},
			true},
		{"none", end, 0, timeline.Interval{Earliest: base - 2*p, Latest: base + 1000}, true},
		{"of an unknown clock", 0, base, timeline.Interval{Earliest: base - 2*p, Latest: base + 1000}, true},
		{"copied from somewhere", 0x4000, base, timeline.Interval{Earliest: base - 2*p, Latest: base + 1000}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := stamper{period: p}
			got, at := s.interval(tc.flags, tc.stamp, a)
			if got != tc.want || s.wrong != tc.disbelieve || !got.Valid() {
				t.Errorf("%v %v, want %v %v; disbelieved %v", got.Earliest-base, got.Latest-base, tc.want.Earliest-base,
					tc.want.Latest-base, s.wrong)
			}
			if at < got.Earliest-1 || at > got.Latest+p {
				t.Errorf("counted at %v", at-base)
			}
		})
	}
}

// A stamp that does not rise is not believed.
func TestStampsMustRise(t *testing.T) {
	s := stamper{period: period60}
	a := arrival{queued: 100 * period60, empty: 102 * period60, taken: 103 * period60}
	s.interval(bufFlagTimestampMonotonic, 102*period60, a)
	if s.interval(bufFlagTimestampMonotonic, 102*period60, a); !s.wrong {
		t.Error("the same stamp twice is believed")
	}
}

// Without a period the interval is as wide as the time in which the frame can have been sent.
func TestStampsWithoutPeriod(t *testing.T) {
	const (
		p     = period60
		end   = bufFlagTimestampMonotonic
		start = bufFlagTimestampMonotonic | bufFlagStampStart
	)
	base := 100 * p
	a := arrival{queued: base - 3*p, empty: base - p, taken: base + 1000}
	later := arrival{queued: base - 2*p, empty: base + p, taken: base + 2*p + 1000}
	for _, tc := range []struct {
		name          string
		flags         uint32
		first, second timeline.Time // stamps
		want          [2]timeline.Interval
	}{
		{"ends of frames", end, base, base + 2*p,
			[2]timeline.Interval{{Earliest: base - 3*p, Latest: base + 1000},
				{Earliest: base, Latest: base + 2*p + 1000}}},
		{"starts of frames", start, base - p, base + p,
			[2]timeline.Interval{{Earliest: base - p, Latest: base + 1000},
				{Earliest: base + p, Latest: base + 2*p + 1000}}},
		{"no stamps", end, 0, 0,
			[2]timeline.Interval{{Earliest: base - 3*p, Latest: base + 1000},
				{Earliest: base - p, Latest: base + 2*p + 1000}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s stamper
			first, _ := s.interval(tc.flags, tc.first, a)
			second, _ := s.interval(tc.flags, tc.second, later)
			if got := [2]timeline.Interval{first, second}; got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
