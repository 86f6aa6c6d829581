package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// FollowBisection reports each change of a bisection's progress until it has ended.
func FollowBisection(ctx context.Context, rig *client.Client, b *api.Bisect, progress func(text string)) error {
	for last := ""; b.EndedNS == 0; {
		if text := BisectionText(b); text != last {
			progress(text)
			last = text
		}
		select {
		case <-time.After(2 * every):
		case <-ctx.Done():
			return ctx.Err()
		}
		var now api.Bisect
		if err := rig.Call(ctx, "bisect.get", api.BisectID{Bisect: b.ID}, &now); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return err
		}
		*b = now
	}
	return nil
}

// BisectionText describes the progress of a bisection.
func BisectionText(b *api.Bisect) string {
	text := fmt.Sprintf("%d of %d runs, %s left", b.Runs, b.Budget, wording.Plural(b.Left, "build"))
	var likely api.BisectBuild
	for _, build := range b.Builds {
		if build.Chance > likely.Chance {
			likely = build
		}
	}
	if likely.Chance > 1.5/float64(max(1, b.Left)) {
		text += fmt.Sprintf(", %s is the first bad one with %.0f %%", likely.Build, 100*likely.Chance)
	}
	return text + ". " + b.Reason
}
