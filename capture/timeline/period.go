package timeline

import (
	"math"
	"time"
)

// PeriodFit estimates a source's frame period from (sequence, time) pairs by least squares. 59.94
// Hz is not 60, and single stamps jitter. It keeps sums only. So adding a frame has constant cost,
// and a fit can be resumed. The zero value is empty.
type PeriodFit struct {
	n        int64
	seq0     uint64
	t0       Time
	sx, sy   float64 // sums of x = seq - seq0 and y = t - t0 (ns)
	sxx, sxy float64
}

// Add takes one frame: its sequence number and its time.
func (f *PeriodFit) Add(seq uint64, t Time) {
	if f.n == 0 {
		f.seq0, f.t0 = seq, t
	}
	x, y := float64(int64(seq-f.seq0)), float64(t-f.t0)
	f.n++
	f.sx += x
	f.sy += y
	f.sxx += x * x
	f.sxy += x * y
}

// Period returns the fitted time from one sequence number to the next, rounded to the nanosecond.
// It returns 0 while fewer than two distinct sequence numbers are known.
func (f *PeriodFit) Period() time.Duration {
	p := f.slope()
	if math.IsNaN(p) || p <= 0 || p > math.MaxInt64/2 {
		return 0
	}
	return time.Duration(math.Round(p))
}

// FemtoPeriod is the fitted period in femtoseconds: a rounding of half a nanosecond a frame
// would add up to milliseconds in an hour. 0 while unknown.
func (f *PeriodFit) FemtoPeriod() int64 {
	p := f.slope() * 1e6
	if math.IsNaN(p) || p <= 0 || p > math.MaxInt64/2 {
		return 0
	}
	return int64(math.Round(p))
}

func (f *PeriodFit) slope() float64 {
	n := float64(f.n)
	d := n*f.sxx - f.sx*f.sx
	if f.n < 2 || d <= 0 {
		return 0
	}
	return (n*f.sxy - f.sx*f.sy) / d
}
