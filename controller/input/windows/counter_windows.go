//go:build amd64 || arm64

package windows

import (
	"context"
	"fmt"
	"math/bits"
	"time"
	"unsafe"

	"github.com/eideticker/eideticker/capture/timeline"
)

// counter is the clock of the performance counter, in nanoseconds. Note: that of package time goes
// in steps of half a millisecond and more here.
type counter struct {
	api       *api
	frequency uint64 // a second
}

func newCounter(a *api) (counter, error) {
	var f int64
	if ok, _, err := a.frequency.Call(uintptr(unsafe.Pointer(&f))); ok == 0 || f <= 0 {
		return counter{}, fmt.Errorf("QueryPerformanceFrequency: %w", err)
	}
	return counter{a, uint64(f)}, nil
}

// Now implements timeline.Clock.
func (c counter) Now() timeline.Time {
	var n int64
	c.api.counter.Call(uintptr(unsafe.Pointer(&n))) // never fails where the frequency is known
	high, low := bits.Mul64(uint64(n), 1_000_000_000)
	ns, _ := bits.Div64(high%c.frequency, low, c.frequency)
	return timeline.Time(ns)
}

// sleepUntil returns at t or shortly after it, or when ctx ends. It polls the counter during the
// last part, which is shorter than timers allow.
func (c counter) sleepUntil(ctx context.Context, t timeline.Time) error {
	const slice, looked = 20 * time.Millisecond, 2 * time.Millisecond
	for ctx.Err() == nil {
		left := t.Sub(c.Now())
		switch {
		case left <= 0:
			return nil
		case left > looked:
			time.Sleep(min(left-looked, slice))
		}
	}
	return ctx.Err()
}
