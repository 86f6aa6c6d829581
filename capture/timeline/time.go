package timeline

import (
	"fmt"
	"time"
)

// Time is an instant on the rig's clock: nanoseconds of CLOCK_MONOTONIC. Only
// differences mean something; a recording stores the offset to the wall clock.
type Time int64

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns the duration from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Interval is an instant known only to lie between two times, both included.
// Readout, polling and start- or end-of-frame stamps each make one.
type Interval struct {
	Earliest, Latest Time
}

// At returns the interval that holds only t.
func At(t Time) Interval { return Interval{t, t} }

// Mid returns the midpoint, for where one number is needed.
func (i Interval) Mid() Time { return i.Earliest + (i.Latest-i.Earliest)/2 }

// Width returns how uncertain the instant is.
func (i Interval) Width() time.Duration { return i.Latest.Sub(i.Earliest) }

// Valid reports whether the interval's ends are in order.
func (i Interval) Valid() bool { return i.Earliest <= i.Latest }

// String formats the interval as midpoint ± half width, in seconds.
func (i Interval) String() string {
	return fmt.Sprintf("%.6fs ± %v", time.Duration(i.Mid()).Seconds(), i.Width()/2)
}

// Clock tells the time. Sources and drivers take one, so that tests can give
// them a clock of their own.
type Clock interface {
	Now() Time
}

// Monotonic returns the rig's clock, CLOCK_MONOTONIC. Where a system has no such
// clock it counts from the start of the program.
func Monotonic() Clock { return monotonic{} }

type monotonic struct{}

func (monotonic) Now() Time { return now() }

// WallOffset returns the difference between nanoseconds since the Unix epoch and a Time, and its
// uncertainty. It reads the wall clock between two readings of the rig's clock. The offset changes
// when the wall clock is set or slewed, so a recording samples it more than once. If the clock has
// a method Wall, that is used instead of the system's wall clock. So a simulated clock brings its
// own day.
func WallOffset(c Clock) (offset int64, uncertainty time.Duration) {
	wallNow := func() int64 { return time.Now().UnixNano() }
	if w, ok := c.(interface{ Wall() int64 }); ok {
		wallNow = w.Wall
	}
	best := time.Duration(1<<63 - 1)
	for range 5 {
		before := c.Now()
		wall := wallNow()
		after := c.Now()
		if width := after.Sub(before); width < best {
			best = width
			offset = wall - int64(Interval{before, after}.Mid())
		}
	}
	return offset, best/2 + 1
}
