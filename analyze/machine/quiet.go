package machine

import (
	"context"
	"os"
	"time"
)

// quietTime is the time in which a quiet machine has no noise.
const quietTime = 2 * time.Second

// AwaitQuiet waits until the machine was quiet for two seconds, at most for a limit. It returns the
// noise of the last two seconds; "": the machine is quiet, or its activity is unknown. Its error is
// the end of ctx.
func AwaitQuiet(ctx context.Context, limit time.Duration) (noise string, err error) {
	return awaitQuiet(ctx, limit, func() *Sample { return take(os.DirFS("/"), os.Getpid(), "") })
}

func awaitQuiet(ctx context.Context, limit time.Duration, take func() *Sample) (noise string, err error) {
	began := time.Now()
	for before := take(); ; {
		t := time.NewTimer(quietTime)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return noise, context.Cause(ctx)
		}
		after := take()
		if noise = before.until(after).Noise; noise == "" || time.Since(began) >= limit {
			return noise, nil
		}
		before = after
	}
}
