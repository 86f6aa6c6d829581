package activity

import (
	"math"
)

// MaxDrift bounds |b| of a [Clock].
const MaxDrift = 1e-3

// Bounds returns the earliest and the latest time on the recording's clock of a time of the trace.
// They are rounded outwards. Of a clock with [Clock.None], they are the time itself.
func (c *Clock) Bounds(at int64) (earliest, latest int64) {
	if c.Exact || len(c.Corners) == 0 {
		return at, at
	}
	x := at - c.Origin
	earliest, latest = math.MaxInt64, math.MinInt64
	for _, k := range c.Corners {
		moved := k.Drift * float64(x)
		base := k.Offset + x
		// Offset and Drift of a corner are rounded. One more ns holds the exact corner.
		earliest = min(earliest, base+int64(math.Floor(moved))-1)
		latest = max(latest, base+int64(math.Ceil(moved))+1)
	}
	return earliest, latest
}

// Inverse returns the bounds of the trace's time at a time of the recording's clock. A record of
// the trace outside of them was not at that time.
func (c *Clock) Inverse(at int64) (earliest, latest int64) {
	if c.Exact || len(c.Corners) == 0 {
		return at, at
	}
	earliest, latest = math.MaxInt64, math.MinInt64
	for _, k := range c.Corners {
		x := at - k.Offset
		moved := k.Drift / (1 + k.Drift) * float64(x) // x/(1+b) = x − x·b/(1+b)
		base := c.Origin + x
		earliest = min(earliest, base-int64(math.Ceil(moved))-2)
		latest = max(latest, base-int64(math.Floor(moved))+2)
	}
	return earliest, latest
}

// HalfWidth returns half of the distance of a time's bounds, rounded up.
func (c *Clock) HalfWidth(at int64) int64 {
	earliest, latest := c.Bounds(at)
	return (latest - earliest + 1) / 2
}
