package doctor

import (
	"context"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Clock has the measurements of clocks and timers.
type Clock struct {
	ReadNS, CallNS            float64       // of one read of the clock, and of the least system call there is
	LateP50, LateP99, LateMax time.Duration // by which sleeps ended after their deadline
	Sync                      ClockSync
	Err                       error
}

const (
	clockRounds = 20
	clockReads  = 2000 // of each round
	sleeps      = 200
	sleepTime   = 3 * time.Millisecond // no divisor of the kernel's tick, so that deadlines fall anywhere between two
)

// measureClock takes about a second. An error is returned when ctx ends.
func measureClock(ctx context.Context) (Clock, error) {
	c := Clock{
		ReadNS: cheapest(func() { _ = time.Now() }),
		CallNS: cheapest(func() { _ = os.Getppid() }),
		Sync:   clockSyncNow(),
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	late := make([]time.Duration, 0, sleeps)
	clock := timeline.Monotonic()
	for range sleeps {
		deadline := clock.Now().Add(sleepTime)
		if err := timeline.SleepUntil(ctx, deadline); err != nil {
			return c, err
		}
		late = append(late, clock.Now().Sub(deadline))
	}
	slices.Sort(late)
	c.LateP50, c.LateP99, c.LateMax = late[len(late)/2], late[len(late)*99/100], late[len(late)-1]
	return c, nil
}

// cheapest returns the nanoseconds of one call in the round that was disturbed least.
func cheapest(call func()) float64 {
	least := time.Duration(math.MaxInt64)
	for range clockRounds {
		started := time.Now()
		for range clockReads {
			call()
		}
		least = min(least, time.Since(started))
	}
	return max(float64(least), 1) / clockReads
}

func milli(d time.Duration) float64 { return d.Seconds() * 1e3 }
