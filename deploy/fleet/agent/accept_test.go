package agent

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

func TestAcceptedFeeds(t *testing.T) {
	t.Parallel()
	for browser, want := range map[string]bool{"firefox": true, "firefox@firefox": true, "firefox@feed.firefox": true,
		"firefox@feed.firefox:1": true, "firefox@feed.other": false, "firefox@": false} {
		why := refusal(wire.Accept{Feeds: []string{"firefox"}},
			&wire.Assignment{Params: api.StartParams{Browsers: []string{browser}}})
		if (why == "") != want {
			t.Errorf("%s: %q", browser, why)
		}
	}
}
