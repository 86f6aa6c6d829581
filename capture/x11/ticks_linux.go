package x11

import (
	"math/bits"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
)

// ticks are the moments at which a frame is due. They are computed from the start, each for
// itself, so that no error adds up.
type ticks struct {
	start  timeline.Time
	period capture.Rational
}

// due returns when tick n is.
func (t ticks) due(n uint64) timeline.Time { return t.start.Add(t.period.Duration(n)) }

// after returns the tick that follows tick n at the given time: n+1, or the latest one that is due
// where that is a whole period late or more. Those between are missed.
func (t ticks) after(n uint64, now timeline.Time) uint64 {
	if now <= t.due(n+1) {
		return n + 1
	}
	// floor(elapsed / period), in 128 bits: the product can be larger than 64.
	hi, lo := bits.Mul64(uint64(now.Sub(t.start)), uint64(t.period.Den))
	unit := uint64(t.period.Num) * uint64(time.Second)
	if hi >= unit {
		return n + 1 // centuries from the start
	}
	latest, _ := bits.Div64(hi, lo, unit)
	return max(n+1, latest)
}
