package timeline

import (
	"context"
	"time"
)

// sleepSlice bounds how long a sleep may go on after its context has ended.
const sleepSlice = 20 * time.Millisecond

// SleepUntil waits for a time of [Monotonic], or for the end of ctx, whose error it then returns.
// It may wake late, but not early. Deadlines are absolute, so lateness does not add up.
//
// The thread sleeps in the kernel. A timer of Go's runtime needs another thread to notice it. On a
// busy machine that took up to a second, which is too late for a frame.
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
