package input

import (
	"context"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Timed is actions that belong together, and when they are due.
type Timed struct {
	After   time.Duration // from the start
	Actions []Action
}

// Play executes actions at their times after start. Deadlines are absolute: a late action does not
// delay others. It calls done for each. It lifts everything held if it fails or ctx ends.
func Play(ctx context.Context, d Driver, start timeline.Time, all []Timed, done func(Timed, timeline.Interval)) error {
	for _, t := range all {
		sent, err := d.Do(ctx, start.Add(t.After), t.Actions...)
		if err != nil {
			release, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
			defer cancel()
			if e := d.Release(release); e != nil {
				err = fmt.Errorf("%w; and lifting held keys failed: %w", err, e)
			}
			return fmt.Errorf("after %v: %w", t.After, err)
		}
		if done != nil {
			done(t, sent)
		}
	}
	return nil
}

// releaseTimeout is how long lifting may take after a context has ended.
const releaseTimeout = 5 * time.Second
