package measure

import (
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Duration is a duration and its bounds.
type Duration struct{ Mid, Low, High time.Duration }

// Span returns the time between two moments that are known within intervals.
func Span(begin, end timeline.Time, since, until timeline.Interval) Duration {
	return Duration{end.Sub(begin), max(0, until.Earliest.Sub(since.Latest)), until.Latest.Sub(since.Earliest)}
}

// Value returns the duration as a value in ms.
func (d Duration) Value(name string, better Better, threshold float64) Value {
	return Between(name, "ms", MS(d.Mid), MS(d.Low), MS(d.High), better, threshold)
}

// MS returns a duration in ms.
func MS(d time.Duration) float64 { return float64(d) / 1e6 }

// Rate returns a number per second.
func Rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// Certain returns a duration whose bounds meet.
func Certain(d time.Duration) Duration { return Duration{d, d, d} }
