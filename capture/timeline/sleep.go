package timeline

import (
	"context"
	"time"
)

// sleepSlice bounds how long a sleep may go on after its context has ended.
const sleepSlice = 20 * time.Millisecond

// SleepUntil waits for a time of [Monotonic], or for the end of ctx, whose error it then returns.
// It may wake late, never early; deadlines are absolute, so that lateness does not add up.
//
// The thread sleeps in the kernel. A timer of Go's runtime would have to be noticed by some other
// thread first, which on a machine whose processors are all busy took up to a second: no way to be
// on time for a frame.
func SleepUntil(ctx context.Context, t Time) error {
	for ctx.Err() == nil {
		n := now()
		if n >= t {
			return nil
		}
		sleepUntil(min(t, n.Add(sleepSlice)))
	}
	return ctx.Err()
}
